"""`Model.quantize`: which layers of a model are quantized, and what is said about the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from podium.core import warn_user
from podium.layers import Layer
from podium.layers.internal import CALIBRATED_MODES, calibration_error
from podium.quantizers import QuantizationConfig

# Regular expressions that names of layers contain, or a function of a layer.
LayerFilters: TypeAlias = str | Sequence[str] | Callable[[Layer], bool]


def quantize_layers(
    root: Layer,
    mode: str,
    config: QuantizationConfig | None,
    filters: LayerFilters | None,
    type_check: bool,
) -> None:
    """Quantize the innermost layers of a model, and warn about those with weights that cannot be.

    Args:
        root: The model.
        mode: The quantization mode.
        config: The quantization config.
        filters: Which layers to quantize; None for all.
        type_check: Whether subclasses of layers that can be quantized are left as they are.
    """
    if not (filters is None or isinstance(filters, (str, list, tuple)) or callable(filters)):
        raise ValueError(
            f"quantize was given filters={filters!r}. The `filters` argument must be a regex "
            "string, a list of regex strings, or a callable."
        )
    if mode in CALIBRATED_MODES:
        raise calibration_error(root, mode)
    refused = []
    for layer in innermost_layers(root, filters):
        try:
            layer.quantize(mode, config=config, type_check=type_check)
        except NotImplementedError as error:
            if layer.weights:
                refused.append((layer, error))
    if refused:
        names = ", ".join(f"{layer.name!r} ({type(layer).__name__})" for layer, _ in refused)
        warn_user(f"quantize({mode!r}) left these layers as they are: {names}. {refused[0][1]}")


def innermost_layers(root: Layer, filters: LayerFilters | None = None) -> Iterator[Layer]:
    """Yield the layers without layers inside them that filters select."""
    for layer in root._flatten_layers():
        if len(layer._flatten_layers()) == 1 and _is_selected(layer, filters):
            yield layer


def _is_selected(layer: Layer, filters: LayerFilters | None) -> bool:
    if filters is None:
        return True
    if callable(filters):
        return bool(filters(layer))
    patterns = [filters] if isinstance(filters, str) else filters
    return any(re.search(pattern, layer.name) for pattern in patterns)
