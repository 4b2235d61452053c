"""Devices and layouts under the names of `keras.distribution`: DeviceMesh, TensorLayout, LayoutMap.

They describe; the distributions in `_distribution.py` make Podium's strategies of them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from podium._typing import TensorLike
from podium.core import KerasTensor, dispatch
from podium.core.internal import PublicRepr
from podium.distribute import find_device
from podium.distribute.internal import make_mesh

_ENVIRONMENT = "KERAS_DISTRIBUTION_"


def list_devices(device_type: str | None = None) -> list[str]:
    """Return the names of all devices, of all processes.

    Args:
        device_type: "cpu", "gpu" or "tpu"; by default that of JAX's default device.

    Example:
        >>> from podium.compat import keras
        >>> keras.distribution.list_devices("cpu")[0]
        'cpu:0'
    """
    devices = jax.devices(device_type.lower() if device_type else None)
    return [f"{device.platform}:{device.id}" for device in devices]


def get_device_count(device_type: str | None = None) -> int:
    """Return the number of devices; see `list_devices`.

    Example:
        >>> from podium.compat import keras
        >>> keras.distribution.get_device_count("cpu") >= 1
        True
    """
    return len(list_devices(device_type))


def initialize(
    job_addresses: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
) -> None:
    """Connect the processes of a job of several machines, before anything is computed.

    Arguments that are not given are read from the environment variables
    `KERAS_DISTRIBUTION_JOB_ADDRESSES`, `..._NUM_PROCESSES` and `..._PROCESS_ID`, or found by JAX.

    Args:
        job_addresses: The addresses of the processes, separated by commas; that of the first one
            is enough.
        num_processes: The number of processes.
        process_id: The index of this process.

    Raises:
        ValueError: There is another number of addresses than of processes.

    Example:
        >>> from podium.compat import keras
        >>> keras.distribution.initialize("10.0.0.1:1234,10.0.0.2:1234", 3, 0)
        Traceback (most recent call last):
        ValueError: job_addresses has 2 addresses, and num_processes=3 was given; ...
    """
    environment = os.environ
    job_addresses = job_addresses or environment.get(f"{_ENVIRONMENT}JOB_ADDRESSES")
    if num_processes is None and (text := environment.get(f"{_ENVIRONMENT}NUM_PROCESSES")):
        num_processes = int(text)
    if process_id is None and (text := environment.get(f"{_ENVIRONMENT}PROCESS_ID")):
        process_id = int(text)
    addresses = job_addresses.split(",") if job_addresses else [None]
    if len(addresses) > 1 and num_processes not in (None, len(addresses)):
        raise ValueError(
            f"job_addresses has {len(addresses)} addresses, and num_processes={num_processes} was "
            "given; one address per process was expected, or that of the first process alone."
        )
    jax.distributed.initialize(
        coordinator_address=addresses[0], num_processes=num_processes, process_id=process_id
    )


class DeviceMesh:
    """Devices in a grid with named axes.

    Args:
        shape: The sizes of the axes.
        axis_names: The names of the axes.
        devices: Names of devices, such as "cpu:0"; by default all.

    Example:
        >>> from podium.compat import keras
        >>> mesh = keras.distribution.DeviceMesh((1, 2), ["batch", "model"], ["cpu:0", "cpu:1"])
        >>> mesh.backend_mesh.shape["model"]
        2
    """

    def __init__(self, shape: Sequence[int], axis_names: Sequence[str], devices: Any | None = None):
        if not shape or not axis_names or len(shape) != len(axis_names):
            raise ValueError(
                f"DeviceMesh was given shape={shape!r} and axis_names={axis_names!r}; a name for "
                "each axis was expected, such as shape=(2, 4), axis_names=['batch', 'model']."
            )
        names = np.array(list_devices() if devices is None else devices)
        if math.prod(shape) != names.size:
            raise ValueError(
                f"DeviceMesh was given shape={tuple(shape)}, which has {math.prod(shape)} places, "
                f"and {names.size} devices; the same number was expected."
            )
        self._shape, self._axis_names = tuple(shape), list(axis_names)
        self._devices = names.reshape(self._shape)
        self._mesh: jax.sharding.Mesh | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._shape

    @property
    def axis_names(self) -> list[str]:
        """The names of the axes."""
        return self._axis_names

    @property
    def devices(self) -> np.ndarray[Any, Any]:
        """The names of the devices, in the form of the grid."""
        return self._devices

    @property
    def backend_mesh(self) -> jax.sharding.Mesh:
        """The mesh of JAX."""
        if self._mesh is None:
            devices = [
                find_device(str(device)) if not isinstance(device, jax.Device) else device
                for device in self._devices.flat
            ]
            self._mesh = make_mesh(devices, self._shape, self._axis_names)
        return self._mesh

    def __repr__(self) -> str:
        return f"<DeviceMesh shape={self._shape}, axis_names={self._axis_names}>"


class TensorLayout:
    """The mesh axis along which each dimension of an array is split.

    Args:
        axes: The name of an axis for each dimension; None for one that is not split.
        device_mesh: The mesh; it may be set later, once.

    Example:
        >>> from podium.compat import keras
        >>> mesh = keras.distribution.DeviceMesh((2,), ["model"], ["cpu:0", "cpu:1"])
        >>> keras.distribution.TensorLayout([None, "model"], mesh).axes
        (None, 'model')
    """

    def __init__(self, axes: Sequence[str | None], device_mesh: DeviceMesh | None = None):
        self._axes = tuple(axes)
        self._device_mesh = device_mesh
        self._check_axes()

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The axis of each dimension."""
        return self._axes

    @property
    def device_mesh(self) -> DeviceMesh | None:
        """The mesh."""
        return self._device_mesh

    @device_mesh.setter
    def device_mesh(self, device_mesh: DeviceMesh) -> None:
        if self._device_mesh is not None:
            raise ValueError(f"The layout {self!r} has a mesh already; make another layout.")
        self._device_mesh = device_mesh
        self._check_axes()

    @property
    def backend_layout(self) -> NamedSharding:
        """The sharding of JAX."""
        if self._device_mesh is None:
            raise ValueError(
                f"The layout of axes={self._axes} has no mesh; pass `device_mesh=`, or set it."
            )
        return NamedSharding(self._device_mesh.backend_mesh, PartitionSpec(*self._axes))

    def _check_axes(self) -> None:
        names = self._axes if self._device_mesh is None else self._device_mesh.axis_names
        unknown = [axis for axis in self._axes if axis is not None and axis not in names]
        if unknown:
            raise ValueError(
                f"TensorLayout was given axes={self._axes}; {unknown} are not among the axes of "
                f"the mesh, {names}."
            )

    def __repr__(self) -> str:
        return f"<TensorLayout axes={self._axes}, device_mesh={self._device_mesh}>"


class LayoutMap(PublicRepr, MutableMapping[str, Any]):
    """Layouts by the paths of Variables: exact paths, or regular expressions of entire paths.

    Args:
        device_mesh: The mesh of all layouts.

    Example:
        >>> from podium.compat import keras
        >>> mesh = keras.distribution.DeviceMesh((2,), ["model"], ["cpu:0", "cpu:1"])
        >>> layouts = keras.distribution.LayoutMap(mesh)
        >>> layouts[".*kernel"] = (None, "model")
        >>> layouts["dense/kernel"].axes, layouts["dense/bias"] is None
        ((None, 'model'), True)
    """

    def __init__(self, device_mesh: DeviceMesh):
        self._device_mesh = device_mesh
        self._layouts: dict[str, TensorLayout] = {}

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of all layouts."""
        return self._device_mesh

    def __getitem__(self, path: str) -> TensorLayout | None:
        if path in self._layouts:
            return self._layouts[path]
        patterns = [pattern for pattern in self._layouts if re.fullmatch(pattern, path)]
        if len(patterns) > 1:
            raise ValueError(
                f"The path {path!r} matches {patterns} of the LayoutMap; at most one pattern was "
                "expected to match. Make them exclude each other."
            )
        return self._layouts[patterns[0]] if patterns else None

    def __setitem__(self, path: str, layout: TensorLayout | tuple[str | None, ...]) -> None:
        if path in self._layouts:
            raise ValueError(f"The LayoutMap has a layout for {path!r} already. Delete it first.")
        if isinstance(layout, tuple):
            layout = TensorLayout(layout)
        if not isinstance(layout, TensorLayout):
            raise ValueError(
                f"The LayoutMap was given {layout!r} for {path!r}; a TensorLayout, or a tuple of "
                "axes and None, was expected."
            )
        if layout.device_mesh is None and self._device_mesh is not None:
            layout.device_mesh = self._device_mesh
        self._layouts[path] = layout

    def __delitem__(self, path: str) -> None:
        del self._layouts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layouts)

    def __len__(self) -> int:
        return len(self._layouts)


def distribute_tensor(tensor: TensorLike, layout: TensorLayout | jax.sharding.Sharding) -> Any:
    """Return a value split over devices as a layout says; in a compiled step, a constraint for XLA.

    Args:
        tensor: The value; a symbolic one is returned as it is.
        layout: A TensorLayout, or a sharding of JAX.

    Example:
        >>> from podium.compat import keras
        >>> mesh = keras.distribution.DeviceMesh((2,), ["model"], ["cpu:0", "cpu:1"])
        >>> layout = keras.distribution.TensorLayout([None, "model"], mesh)
        >>> x = keras.distribution.distribute_tensor(podium.ops.ones((3, 4)), layout)
        >>> x.value.addressable_shards[0].data.shape
        (3, 2)
    """
    if isinstance(tensor, KerasTensor):
        return tensor
    sharding = layout.backend_layout if isinstance(layout, TensorLayout) else layout
    return dispatch(_place, tensor, sharding)


def _place(array: jax.Array, sharding: jax.sharding.Sharding) -> jax.Array:
    placed: jax.Array = jax.device_put(array, sharding)
    return placed
