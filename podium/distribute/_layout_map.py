"""LayoutMap: which Variables are split along which mesh axes, by patterns of their paths. Also the
rules of the presets of `ShardedStrategy`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from jax.sharding import Mesh

from podium._typing import Shape
from podium.core import Variable, check_choice
from podium.core.internal import PublicRepr
from podium.distribute._layout import Spec

SpecRule = Callable[[Variable, Shape], Spec | None]


class LayoutMap(PublicRepr):
    """Regular expressions of Variables' paths, each with a mesh axis (or None) for every dimension.

    The first pattern that is found in a path is used. A Variable without a pattern is replicated;
    a dimension whose length the axis does not divide is not split.

    Args:
        rules: Patterns and axes, in order.

    Example:
        >>> layout = podium.distribute.LayoutMap({r"dense.*/kernel": (None, "model")})
        >>> layout["sequential/dense_1/kernel"]
        (None, 'model')
        >>> layout["sequential/dense_1/bias"] is None
        True
    """

    def __init__(self, rules: Mapping[str, str | Sequence[str | None]] | None = None):
        self._rules: dict[str, Spec] = {}
        for pattern, axes in (rules or {}).items():
            self[pattern] = axes

    def __setitem__(self, pattern: str, axes: str | Sequence[str | None]) -> None:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(
                f"LayoutMap was given the pattern {pattern!r}, which is not a regular "
                f"expression: {error}."
            ) from None
        spec = (axes,) if isinstance(axes, str) else tuple(axes)
        if not all(axis is None or isinstance(axis, str) for axis in spec):
            raise TypeError(
                f"LayoutMap was given {axes!r} for {pattern!r}; the name of a mesh axis, or "
                "None, was expected per dimension."
            )
        self._rules[pattern] = spec

    def __getitem__(self, path: str) -> Spec | None:
        return next(
            (axes for pattern, axes in self._rules.items() if re.search(pattern, path)), None
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def check(self, mesh: Mesh) -> None:
        """Check that all axes are those of a mesh.

        Raises:
            ValueError: An axis is unknown.
        """
        for axes in self._rules.values():
            for axis in axes:
                if axis is not None:
                    check_choice("mesh axis", axis, tuple(mesh.shape))


# Attention splits its heads; all other layers split their last dimension, that of the outputs.
TENSOR = LayoutMap(
    {
        r"(query|key|value)/kernel$": (None, "model", None),
        r"(query|key|value)/bias$": ("model", None),
        r"attention_output/kernel$": ("model", None, None),
        r"attention_output/bias$": (None,),
        r"(bias|gamma|beta|moving_mean|moving_variance)$": ("model",),
    }
)


def spec_from_map(layout: LayoutMap, mesh: Mesh) -> SpecRule:
    """Return the rule that looks a Variable up in a LayoutMap."""

    def spec_of(variable: Variable, shape: Shape) -> Spec | None:
        axes = layout[variable.path]
        if axes is None:
            return None
        if len(axes) > len(shape):
            raise ValueError(
                f"LayoutMap gives {axes} for {variable.path!r}, which has {len(shape)} "
                f"dimensions of lengths {shape}. Give at "
                "most one axis for each dimension."
            )
        return _axes_that_divide(axes, shape, mesh)

    return spec_of


def spec_for_tensor_preset(mesh: Mesh) -> SpecRule:
    """Return the rule of the preset "tensor": weights are split along the axis "model", mostly in
    their last dimension.
    """

    def spec_of(variable: Variable, shape: Shape) -> Spec | None:
        axes = TENSOR[variable.path] if variable.path else None
        if axes is None or len(axes) != len(shape):
            axes = (*[None] * (len(shape) - 1), "model") if len(shape) > 1 else ()
        return _axes_that_divide(axes, shape, mesh)

    return spec_of


def spec_by_size(axis: str, parts: int, smallest: int) -> SpecRule:
    """Return the rule of the preset "fsdp": every Variable that is large enough is split in its
    longest dimension.
    """

    def spec_of(variable: Variable, shape: Shape) -> Spec | None:
        size = math.prod(shape)
        divisible = [index for index, length in enumerate(shape) if length and length % parts == 0]
        if size < smallest or not divisible:
            return None
        longest = max(divisible, key=lambda index: shape[index])
        return tuple(axis if index == longest else None for index in range(len(shape)))

    return spec_of


def _axes_that_divide(axes: Spec, shape: Shape, mesh: Mesh) -> Spec:
    lengths = zip(axes, shape, strict=False)
    return tuple(
        axis if axis is not None and length and length % mesh.shape[axis] == 0 else None
        for axis, length in lengths
    )
