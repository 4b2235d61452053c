"""ShardedStrategy: Variables are split over the devices, by a preset or a LayoutMap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from podium.core import check_choice
from podium.distribute._devices import find_devices, first_devices
from podium.distribute._layout import Layout, make_mesh
from podium.distribute._layout_map import (
    LayoutMap,
    SpecRule,
    spec_by_size,
    spec_for_tensor_preset,
    spec_from_map,
)
from podium.distribute._mesh_strategy import MeshStrategy

_PRESETS = ("data", "fsdp", "tensor")


class ShardedStrategy(MeshStrategy):
    """Trains models that are split over devices; optimizer slots are split like their Variables.

    The presets:

    - "data": every device has all Variables, batches are split. The same as `MirroredStrategy`.
    - "fsdp": batches are split, and so are Variables and slots, each in its longest dimension; a
      step gathers the weights that it computes with. The memory for state is divided by the number
      of devices.
    - "tensor": a mesh of two axes, "data" and "model": batches are split along the first, weights
      along the second.

    With every layout, results are those of one device.

    Args:
        layout: A preset, or a `LayoutMap` (or its dictionary) of patterns of paths to mesh axes.
        mesh: Sizes of the mesh axes by name, such as `{"data": 4, "model": 2}`; batches are split
            along "data". By default all devices along "data"; for "tensor" two of them along
            "model".
        devices: Names of devices or JAX devices; by default those of this machine, as many as the
            mesh has.
        smallest: Variables with fewer elements are not split by "fsdp".

    Raises:
        ValueError: The mesh needs more devices than there are, or the layout names an axis that is
            not in the mesh.

    Example:
        >>> strategy = podium.distribute.ShardedStrategy("tensor", mesh={"data": 1, "model": 2})
        >>> with strategy.scope():
        ...     layer = podium.layers.Dense(6)
        ...     layer.build((None, 4))
        >>> tuple(layer.kernel.value.sharding.spec), strategy.num_replicas_in_sync
        ((None, 'model'), 1)
    """

    def __init__(
        self,
        layout: str | LayoutMap | Mapping[str, Any] = "fsdp",
        mesh: Mapping[str, int] | None = None,
        devices: Sequence[str | jax.Device] | int | None = None,
        smallest: int = 1024,
    ):
        if isinstance(layout, str):
            check_choice("layout", layout, _PRESETS)
        elif not isinstance(layout, LayoutMap):
            if not isinstance(layout, Mapping):
                raise TypeError(
                    f"layout={layout!r} was given; one of {', '.join(_PRESETS)}, or a LayoutMap, "
                    "was expected."
                )
            layout = LayoutMap(layout)
        available = find_devices(devices) if devices is not None or mesh is None else []
        sizes = dict(mesh) if mesh is not None else _default_sizes(layout, len(available))
        _check_sizes(sizes, layout)
        count = math.prod(sizes.values())
        if not available or count > len(available):
            available = first_devices(f"mesh={sizes!r}:", count)
        device_mesh = make_mesh(available[:count], tuple(sizes.values()), tuple(sizes))
        if isinstance(layout, LayoutMap):
            layout.check(device_mesh)
            rule: SpecRule | None = spec_from_map(layout, device_mesh)
        elif layout == "fsdp":
            rule = spec_by_size("data", sizes["data"], smallest)
        else:
            rule = spec_for_tensor_preset(device_mesh) if layout == "tensor" else None
        super().__init__(Layout(device_mesh, ("data",), rule, gathered=layout == "fsdp"))


def _default_sizes(layout: str | LayoutMap, count: int) -> dict[str, int]:
    if layout != "tensor":
        return {"data": count}
    if count % 2:
        raise ValueError(
            f"layout='tensor' was given for {count} devices; give their arrangement: "
            f"mesh={{'data': ..., 'model': ...}}."
        )
    return {"data": count // 2, "model": 2}


def _check_sizes(sizes: dict[str, int], layout: str | LayoutMap) -> None:
    are_positive = all(isinstance(size, int) and size >= 1 for size in sizes.values())
    if "data" not in sizes or not are_positive or (layout == "tensor" and "model" not in sizes):
        needed = "'data' and 'model'" if layout == "tensor" else "'data'"
        raise ValueError(
            f"mesh={sizes!r} was given; numbers of devices (int, at least 1) for the axes "
            f"{needed} were expected."
        )
