"""`keras.callbacks`: the names of `podium.callbacks`, and those that only Keras 2 has."""

from podium.compat._extended_packages import callbacks_dir as __dir__
from podium.compat._extended_packages import callbacks_getattr as __getattr__
from podium.compat.keras.callbacks import experimental as experimental
