"""`keras.experimental`: names that Keras 2 had there."""

from podium.compat._missing_names import keras_experimental as __getattr__
from podium.utils import SidecarEvaluator as SidecarEvaluator
