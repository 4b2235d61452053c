"""`keras.distribution`: models spread over devices."""

from podium.compat.keras._device_mesh import DeviceMesh as DeviceMesh
from podium.compat.keras._device_mesh import LayoutMap as LayoutMap
from podium.compat.keras._device_mesh import TensorLayout as TensorLayout
from podium.compat.keras._device_mesh import distribute_tensor as distribute_tensor
from podium.compat.keras._device_mesh import get_device_count as get_device_count
from podium.compat.keras._device_mesh import initialize as initialize
from podium.compat.keras._device_mesh import list_devices as list_devices
from podium.compat.keras._distribution import DataParallel as DataParallel
from podium.compat.keras._distribution import ModelParallel as ModelParallel
from podium.compat.keras._distribution import distribution as distribution
from podium.compat.keras._distribution import set_distribution as set_distribution
