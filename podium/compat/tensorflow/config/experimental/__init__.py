"""`tf.config.experimental`."""

from podium.compat._missing_names import config_experimental as __getattr__
from podium.compat.tensorflow.config._devices import enable_op_determinism as enable_op_determinism
from podium.compat.tensorflow.config._devices import get_visible_devices as get_visible_devices
from podium.compat.tensorflow.config._devices import list_logical_devices as list_logical_devices
from podium.compat.tensorflow.config._devices import list_physical_devices as list_physical_devices
from podium.compat.tensorflow.config._devices import set_memory_growth as set_memory_growth
