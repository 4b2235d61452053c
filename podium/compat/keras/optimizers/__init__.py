"""`keras.optimizers`: the names of `podium.optimizers`, and those that only Keras 2 has."""

from podium.compat._extended_packages import optimizers_dir as __dir__
from podium.compat._extended_packages import optimizers_getattr as __getattr__
from podium.compat.keras.optimizers import experimental as experimental
