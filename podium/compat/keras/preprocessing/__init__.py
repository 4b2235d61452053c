"""`keras.preprocessing`: what is left of Keras 2's tools for sequences and images."""

from podium.compat.keras.preprocessing import image as image
from podium.compat.keras.preprocessing import sequence as sequence
