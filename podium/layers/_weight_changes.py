"""Which layers got other weights after they were built, as `enable_lora` and `quantize` give them.

A compiled step has found its Variables by tracing, so that it keeps using those that it found. This
module counts such changes; a model compares the counts and compiles its steps again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.layers._variable_tracker import flatten_layers

if TYPE_CHECKING:
    from podium.layers._layer import Layer


class _Changes:
    """The number of changes in this process."""

    count = 0


def report_weight_change(layer: Layer) -> None:
    """Note that a layer that may have run already has other weights now."""
    _Changes.count += 1
    layer._weights_changed_at = _Changes.count


def count_weight_changes() -> int:
    """Return the number of changes so far, of all layers."""
    return _Changes.count


def has_changed_since(root: Layer, count: int) -> bool:
    """Return whether a layer, or one inside it, has changed since `count_weight_changes` returned
    `count`.
    """
    if _Changes.count == count:
        return False
    return any(layer._weights_changed_at > count for layer in flatten_layers(root))
