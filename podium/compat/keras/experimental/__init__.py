"""`keras.experimental`: names that Keras 2 had there."""

from podium.compat._missing_names import keras_experimental as __getattr__
from podium.optimizers.schedules import CosineDecay as CosineDecay
from podium.optimizers.schedules import CosineDecayRestarts as CosineDecayRestarts
from podium.utils import SidecarEvaluator as SidecarEvaluator
