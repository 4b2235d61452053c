"""`keras.layers.experimental`."""

from podium.compat.keras.layers._random_fourier_features import (
    RandomFourierFeatures as RandomFourierFeatures,
)
from podium.layers import EinsumDense as EinsumDense
