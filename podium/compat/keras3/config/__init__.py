"""`keras.config` of Keras 3: its backend is "jax"."""

from podium.compat._keras3_names import backend as backend
from podium.compat._keras3_names import config_dir as __dir__
from podium.compat._keras3_names import config_getattr as __getattr__
