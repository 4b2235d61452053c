"""`DataParallel` and `ModelParallel` of `keras.distribution`, each as a strategy of Podium.

The strategy places Variables and batches; this file owns Keras's arguments and the distribution
that `set_distribution` makes the current one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from podium._typing import Shape
from podium.compat.keras._device_mesh import DeviceMesh, LayoutMap, TensorLayout, list_devices
from podium.core import Variable, warn_user
from podium.distribute import MeshStrategy
from podium.distribute.internal import Layout


class Distribution:
    """How a model is spread over a mesh of devices; the base of the distributions.

    Args:
        device_mesh: The mesh.
        batch_dim_name: The axis of the mesh along which batches are split.
        auto_shard_dataset: Accepted for Keras's signature: with one process there is nothing to
            split, with several `distribute_dataset` raises.
    """

    def __init__(self, device_mesh: DeviceMesh, batch_dim_name: str, auto_shard_dataset: bool):
        if not isinstance(device_mesh, DeviceMesh):
            raise ValueError(f"device_mesh={device_mesh!r} was given; a DeviceMesh was expected.")
        self._device_mesh = device_mesh
        self._batch_dim_name = batch_dim_name
        self.auto_shard_dataset = auto_shard_dataset
        layout = Layout(device_mesh.backend_mesh, (batch_dim_name,), self._spec_of)
        self._strategy = MeshStrategy(layout)

    @property
    def strategy(self) -> MeshStrategy:
        """The strategy of Podium that does it."""
        return self._strategy

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._device_mesh

    @property
    def batch_dim_name(self) -> str:
        """The axis of the mesh along which batches are split."""
        return self._batch_dim_name

    @property
    def num_processes(self) -> int:
        """The number of processes that train together."""
        return int(jax.process_count())

    @property
    def num_model_replicas(self) -> int:
        """The number of parts of a batch."""
        return self._strategy.num_replicas_in_sync

    def get_data_layout(self, data_shape: Sequence[int | None]) -> TensorLayout:
        """Return the layout of a batch: split in its first dimension."""
        return TensorLayout(
            [self._batch_dim_name, *[None] * (len(data_shape) - 1)], self._device_mesh
        )

    def get_variable_layout(self, variable: Variable) -> TensorLayout:
        """Return the layout of a Variable: by default a full copy on every device."""
        return TensorLayout([None] * len(variable.shape), self._device_mesh)

    def get_tensor_layout(self, path: str) -> TensorLayout | None:
        """Return the layout of a value inside the model; None leaves it to XLA."""
        return None

    def _spec_of(self, variable: Variable, shape: Shape) -> tuple[str | None, ...] | None:
        return None

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Make this the current distribution in a `with` block."""
        previous = distribution()
        set_distribution(self)
        try:
            yield
        finally:
            set_distribution(previous)

    def distribute_dataset(self, dataset: Any) -> Any:
        """Return the dataset of this process: all of it, if there is one process.

        Raises:
            ValueError: There are several processes.
        """
        if self.num_processes > 1 and self.auto_shard_dataset:
            raise ValueError(
                "distribute_dataset was called in a job of several processes, whose data Podium "
                "splits with `podium.distribute.MultiWorkerMirroredStrategy`."
            )
        return dataset

    def __repr__(self) -> str:
        return f"<{type(self).__name__} device_mesh={self._device_mesh}>"


class DataParallel(Distribution):
    """Splits batches over devices; every device has all weights.

    Args:
        device_mesh: The mesh, of one axis.
        devices: Names of devices, instead of a mesh; by default all.
        auto_shard_dataset: See `Distribution`.

    Example:
        >>> from podium.compat import keras
        >>> with keras.distribution.DataParallel(devices=["cpu:0", "cpu:1"]).scope():
        ...     model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> _ = model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
        >>> len(model.weights[0].value.sharding.device_set)
        2
    """

    def __init__(
        self,
        device_mesh: DeviceMesh | None = None,
        devices: Sequence[str] | None = None,
        auto_shard_dataset: bool = True,
    ):
        if device_mesh is None:
            names = list_devices() if devices is None else list(devices)
            device_mesh = DeviceMesh((len(names),), ["batch"], names)
        elif isinstance(device_mesh, DeviceMesh) and len(device_mesh.shape) > 1:
            warn_user(
                f"DataParallel was given a mesh of the shape {device_mesh.shape}; batches are "
                "split along its first axis only."
            )
        axis = device_mesh.axis_names[0] if isinstance(device_mesh, DeviceMesh) else ""
        super().__init__(device_mesh, axis, auto_shard_dataset)


class ModelParallel(Distribution):
    """Splits weights over devices as a LayoutMap says, and batches along another axis.

    Layouts of values inside the model, which Keras looks up as `path/output`, are left to XLA.

    Args:
        layout_map: The layouts of Variables by their paths.
        batch_dim_name: The axis along which batches are split; by default the first one.
        auto_shard_dataset: See `Distribution`.
        **kwargs: Keras's deprecated `device_mesh`, which is ignored.

    Example:
        >>> from podium.compat import keras
        >>> mesh = keras.distribution.DeviceMesh((1, 2), ["batch", "model"], ["cpu:0", "cpu:1"])
        >>> layouts = keras.distribution.LayoutMap(mesh)
        >>> layouts[".*kernel"] = (None, "model")
        >>> with keras.distribution.ModelParallel(layout_map=layouts).scope():
        ...     layer = keras.layers.Dense(6)
        ...     layer.build((None, 4))
        >>> layer.kernel.value.addressable_shards[0].data.shape
        (4, 3)
    """

    def __init__(
        self,
        *,
        layout_map: LayoutMap | None = None,
        batch_dim_name: str | None = None,
        auto_shard_dataset: bool = True,
        **kwargs: Any,
    ):
        kwargs.pop("device_mesh", None)
        if kwargs:
            raise TypeError(f"ModelParallel does not know the arguments {sorted(kwargs)}.")
        if not isinstance(layout_map, LayoutMap):
            raise ValueError(f"layout_map={layout_map!r} was given; a LayoutMap was expected.")
        self._layout_map = layout_map
        mesh = layout_map.device_mesh
        super().__init__(mesh, batch_dim_name or mesh.axis_names[0], auto_shard_dataset)

    def get_variable_layout(self, variable: Variable) -> TensorLayout:
        """Return the layout of the Variable's path; by default a full copy on every device."""
        return self._layout_map[variable.path] or super().get_variable_layout(variable)

    def get_tensor_layout(self, path: str) -> TensorLayout | None:
        """Return the layout of a path."""
        return self._layout_map[path]

    def _spec_of(self, variable: Variable, shape: Shape) -> tuple[str | None, ...] | None:
        layout = self._layout_map[variable.path]
        if layout is None:
            return None
        axes = layout.axes
        sizes = dict(zip(self._device_mesh.axis_names, self._device_mesh.shape, strict=True))
        if len(axes) > len(shape) or any(
            axis is not None and length % sizes[axis]
            for axis, length in zip(axes, shape, strict=False)
        ):
            raise ValueError(
                f"The LayoutMap gives {axes} for {variable.path!r} of shape {shape}, on a mesh of "
                f"{sizes} devices; at most one axis per dimension was expected, whose size divides "
                "that of the dimension."
            )
        return axes


class _CurrentDistribution:
    """The distribution that `set_distribution` set, and the open scope of its strategy."""

    distribution: Distribution | None = None
    scope = contextlib.ExitStack()


def distribution() -> Distribution | None:
    """Return the current distribution, or None.

    Example:
        >>> from podium.compat import keras
        >>> keras.distribution.distribution() is None
        True
    """
    return _CurrentDistribution.distribution


def set_distribution(value: Distribution | None) -> None:
    """Set the distribution of all models that are made from now on.

    Args:
        value: The distribution; None for JAX's default device.

    Example:
        >>> from podium.compat import keras
        >>> keras.distribution.set_distribution(keras.distribution.DataParallel(devices=["cpu:0"]))
        >>> keras.distribution.distribution().num_model_replicas
        1
        >>> keras.distribution.set_distribution(None)
    """
    if value is not None and not isinstance(value, Distribution):
        raise TypeError(
            f"set_distribution was given {value!r}; a DataParallel, a ModelParallel or None was "
            "expected. Strategies of `podium.distribute` have a `scope()`."
        )
    _CurrentDistribution.scope.close()
    _CurrentDistribution.distribution = value
    if value is not None:
        _CurrentDistribution.scope.enter_context(value.strategy.scope())
