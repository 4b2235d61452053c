"""MirroredStrategy: every device of this machine has all Variables, and computes a part of each
batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax

from podium.distribute._devices import find_devices
from podium.distribute._layout import Layout, make_mesh
from podium.distribute._mesh_strategy import MeshStrategy


class MirroredStrategy(MeshStrategy):
    """Trains on several devices of one machine, each with a copy of all Variables.

    `fit`, `evaluate` and `predict` return what one device returns for the same batches, also with
    batch normalization and custom steps. A batch that does not divide evenly is computed by each
    device: exact, without padding.

    Args:
        devices: Names of devices or JAX devices, or their number; by default all of this machine.
        cross_device_ops: Accepted for TensorFlow's signature: XLA chooses the collectives.

    Raises:
        ValueError: There are fewer devices.

    Example:
        >>> strategy = podium.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        >>> with strategy.scope():
        ...     model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
        ...     model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((8, 4)), np.ones((8, 1)), batch_size=4, verbose=0)
        >>> strategy.num_replicas_in_sync, len(model.layers[0].kernel.value.devices())
        (2, 2)
    """

    def __init__(
        self,
        devices: Sequence[str | jax.Device] | int | None = None,
        cross_device_ops: object = None,
    ):
        found = find_devices(devices)
        super().__init__(Layout(make_mesh(found, (len(found),), ("data",)), ("data",)))
