"""LayoutMap: which Variables are split along which mesh axes, by patterns of their paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podium.core import check_choice

Spec = tuple[str | None, ...]


class LayoutMap:
    """Regular expressions of Variables' paths, each with a mesh axis (or None) for every dimension.

    The first pattern that is found in a path counts. A Variable without a pattern lies whole on
    every device, and so does a dimension whose length the axis does not divide.

    Args:
        rules: Patterns and axes, in order.

    Example:
        >>> layout = podium.distribute.LayoutMap({r"dense.*/kernel": (None, "model"), r"embedding": ("model", None)})
        >>> layout["sequential/dense_1/kernel"]
        (None, 'model')
        >>> layout["sequential/dense_1/bias"] is None
        True
    """

    def __init__(self, rules: Mapping[str, Any] | None = None):
        self._rules: dict[str, Spec] = {}
        for pattern, axes in (rules or {}).items():
            self[pattern] = axes

    def __setitem__(self, pattern: str, axes: Any) -> None:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(
                f"LayoutMap was given the pattern {pattern!r}, which is no regular expression: "
                f"{error}."
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

    def check(self, mesh: Any) -> None:
        """Check that all axes are those of a mesh.

        Raises:
            ValueError: An axis is unknown.
        """
        for axes in self._rules.values():
            for axis in axes:
                if axis is not None:
                    check_choice("mesh axis", axis, tuple(mesh.shape))


# Attention splits its heads, in and out; everything else its last dimension, the one that is
# computed.
TENSOR = LayoutMap(
    {
        r"(query|key|value)/kernel$": (None, "model", None),
        r"(query|key|value)/bias$": ("model", None),
        r"attention_output/kernel$": ("model", None, None),
        r"attention_output/bias$": (None,),
        r"(bias|gamma|beta|moving_mean|moving_variance)$": ("model",),
    }
)


def by_map(layout: LayoutMap, mesh: Any) -> Callable[[Any, tuple[int, ...]], Spec | None]:
    """Return the rule that looks a Variable up in a LayoutMap."""

    def spec_of(variable: Any, shape: tuple[int, ...]) -> Spec | None:
        axes = layout[variable.path]
        if axes is None:
            return None
        if len(axes) > len(shape):
            raise ValueError(
                f"LayoutMap gives {axes} for {variable.path!r}, which has {len(shape)} "
                f"dimensions of lengths {shape}. Give at "
                "most one axis for each dimension."
            )
        return _that_divide(axes, shape, mesh)

    return spec_of


def by_tensor(mesh: Any) -> Callable[[Any, tuple[int, ...]], Spec | None]:
    """Return the rule of the preset "tensor": weights are split along the axis "model", mostly in
    their last dimension.
    """

    def spec_of(variable: Any, shape: tuple[int, ...]) -> Spec | None:
        axes = TENSOR[variable.path] if variable.path else None
        if axes is None or len(axes) != len(shape):
            axes = (*[None] * (len(shape) - 1), "model") if len(shape) > 1 else ()
        return _that_divide(axes, shape, mesh)

    return spec_of


def by_size(axis: str, parts: int, smallest: int) -> Callable[[Any, tuple[int, ...]], Spec | None]:
    """Return the rule of the preset "fsdp": every Variable that is large enough is split in its
    longest dimension.
    """

    def spec_of(variable: Any, shape: tuple[int, ...]) -> Spec | None:
        size = 1
        for length in shape:
            size *= length
        fitting = [place for place, length in enumerate(shape) if length and length % parts == 0]
        if size < smallest or not fitting:
            return None
        longest = max(fitting, key=lambda place: shape[place])
        return tuple(axis if place == longest else None for place in range(len(shape)))

    return spec_of


def _that_divide(axes: Spec, shape: tuple[int, ...], mesh: Any) -> Spec:
    lengths = zip(axes, shape, strict=False)
    return tuple(
        axis if axis is not None and length and length % mesh.shape[axis] == 0 else None
        for axis, length in lengths
    )
