"""`keras.backend` of Keras 3: its backend is "jax"."""

from podium.compat._keras3_names import backend as backend
from podium.compat._keras3_names import backend_dir as __dir__
from podium.compat._keras3_names import backend_getattr as __getattr__
