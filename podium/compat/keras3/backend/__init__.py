"""`keras.backend` of Keras 3: its backend is "jax"."""

from podium.compat._keras3_names import backend as backend
from podium.compat._keras3_names import backend_dir as __dir__
from podium.compat._keras3_names import backend_getattr as __getattr__
from podium.compat._source_tools import get_keras_mask as get_keras_mask
from podium.compat._source_tools import set_keras_mask as set_keras_mask
