"""`tf.config`."""

from podium.compat._missing_names import config as __getattr__
from podium.compat.tensorflow.config import experimental as experimental
from podium.compat.tensorflow.config import optimizer as optimizer
from podium.compat.tensorflow.config._devices import LogicalDevice as LogicalDevice
from podium.compat.tensorflow.config._devices import PhysicalDevice as PhysicalDevice
from podium.compat.tensorflow.config._devices import get_visible_devices as get_visible_devices
from podium.compat.tensorflow.config._devices import list_logical_devices as list_logical_devices
from podium.compat.tensorflow.config._devices import list_physical_devices as list_physical_devices
from podium.compat.tensorflow.config._devices import (
    set_soft_device_placement as set_soft_device_placement,
)
from podium.core import functions_run_eagerly as functions_run_eagerly
from podium.core import run_functions_eagerly as experimental_run_functions_eagerly
from podium.core import run_functions_eagerly as run_functions_eagerly
