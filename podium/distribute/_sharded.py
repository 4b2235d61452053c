"""ShardedStrategy: Variables are split over the devices, by a preset or by a LayoutMap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from podium.core import check_choice
from podium.distribute._devices import find_devices, first_devices
from podium.distribute._layout import Layout, make_mesh
from podium.distribute._layout_map import LayoutMap, by_map, by_size, by_tensor
from podium.distribute._mesh_strategy import MeshStrategy

_PRESETS = ("data", "fsdp", "tensor")


class ShardedStrategy(MeshStrategy):
    """Trains models that are split over devices; optimizer slots are split like the Variables that
    they belong to.

    The presets:

    - "data": every device has all Variables, batches are split. What `MirroredStrategy` does.
    - "fsdp": batches are split, and so are Variables and slots, each in its longest dimension; a
        step gathers what it
      computes with. Memory for state falls as one over the number of devices.
    - "tensor": a mesh of two axes, "data" and "model": batches are split along the first, weights
        along the second.

    Whatever the layout, results are those of one device.

    Args:
        layout: A preset, or a `LayoutMap` (or its dictionary) of patterns of paths to mesh axes.
        mesh: Lengths of the mesh axes by name, such as `{"data": 4, "model": 2}`; batches are split
            along "data". By default all devices along "data"; for "tensor" two of them along
            "model".
        devices: Names of devices or JAX devices; by default those of this machine, as many as the
            mesh has.
        smallest: Variables of fewer numbers than this are not split by "fsdp".

    Raises:
        ValueError: The mesh has more devices than there are, or the layout names an axis that it
            has not.

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
        devices: Sequence[Any] | int | None = None,
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
        found = find_devices(devices) if devices is not None or mesh is None else []
        lengths = dict(mesh) if mesh is not None else _lengths_for(layout, len(found))
        _check_lengths(lengths, layout)
        wanted = math.prod(lengths.values())
        if not found or wanted > len(found):
            found = first_devices(f"mesh={lengths!r}:", wanted)
        made = make_mesh(found[:wanted], tuple(lengths.values()), tuple(lengths))
        parts = lengths["data"]
        if isinstance(layout, LayoutMap):
            layout.check(made)
            chosen = Layout(made, ("data",), by_map(layout, made))
        elif layout == "fsdp":
            chosen = Layout(made, ("data",), by_size("data", parts, smallest), gathered=True)
        else:
            chosen = Layout(made, ("data",), by_tensor(made) if layout == "tensor" else None)
        super().__init__(chosen)


def _lengths_for(layout: str | LayoutMap, count: int) -> dict[str, int]:
    if layout != "tensor":
        return {"data": count}
    if count % 2:
        raise ValueError(
            f"layout='tensor' was given for {count} devices; say how to arrange them: "
            f"mesh={{'data': ..., 'model': ...}}."
        )
    return {"data": count // 2, "model": 2}


def _check_lengths(lengths: dict[str, int], layout: str | LayoutMap) -> None:
    whole = all(isinstance(length, int) and length >= 1 for length in lengths.values())
    if "data" not in lengths or not whole or (layout == "tensor" and "model" not in lengths):
        needed = "'data' and 'model'" if layout == "tensor" else "'data'"
        raise ValueError(
            f"mesh={lengths!r} was given; whole numbers of devices for the axes {needed} were "
            "expected."
        )
