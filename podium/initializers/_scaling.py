"""Draws whose spread follows the size of the layer: VarianceScaling, and six famous settings of
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from podium import random
from podium.core import Tensor, check_choice
from podium.initializers._initializer import checked_shape
from podium.initializers._random import RandomInitializer

# The standard deviation of a unit normal cut at two deviations; dividing by it restores the wanted
# spread.
_TRUNCATED_STDDEV = 0.87962566103423978


class VarianceScaling(RandomInitializer):
    """Draws with variance `scale / n`, so that signals neither die nor explode from layer to layer.

    `n` is the number of inputs of a unit (`fan_in`), of outputs (`fan_out`), or their mean
    (`fan_avg`). In a convolution kernel `(..., in, out)` both are multiplied by the size of the
    window.

    Args:
        scale: A number above zero.
        mode: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
        distribution: `"truncated_normal"` (also called `"normal"`), `"untruncated_normal"` or
            `"uniform"`.
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs; counts only together with `input_axes`.

    Example:
        >>> initializer = podium.initializers.VarianceScaling(2.0, mode="fan_out", seed=0)
        >>> bool(abs(initializer((50, 200)).numpy().std() - (2 / 200) ** 0.5) < 0.002)
        True
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ):
        if not scale > 0:
            raise ValueError(
                f"scale={scale!r} was given to {type(self).__name__}; a number above zero was "
                "expected."
            )
        distribution = (
            "truncated_normal" if distribution.lower() == "normal" else distribution.lower()
        )
        self.scale = scale
        self.mode = check_choice("mode", mode, ("fan_in", "fan_out", "fan_avg"))
        self.distribution = check_choice(
            "distribution", distribution, ("truncated_normal", "untruncated_normal", "uniform")
        )
        self.input_axes = input_axes
        self.output_axes = output_axes
        super().__init__(seed)

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Draw a Tensor of the shape."""
        shape = checked_shape(shape)
        fan_in, fan_out = compute_fans(shape, self.input_axes, self.output_axes)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        return random.truncated_normal(
            shape, 0.0, math.sqrt(variance) / _TRUNCATED_STDDEV, dtype, self.seed
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        return {
            **super().get_config(),
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "input_axes": self.input_axes,
            "output_axes": self.output_axes,
        }


class _Setting(VarianceScaling):
    """A VarianceScaling whose scale, mode and distribution are fixed by its name."""

    _setting: ClassVar[tuple[float, str, str]]

    def __init__(
        self,
        seed: Any = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ):
        super().__init__(*self._setting, seed, input_axes, output_axes)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this initializer again."""
        config = super().get_config()
        return {name: config[name] for name in ("seed", "input_axes", "output_axes")}


class GlorotUniform(_Setting):
    """Even draws within `sqrt(6 / (fan_in + fan_out))` of zero: the default of most layers.

    Also called Xavier uniform (Glorot and Bengio, 2010).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.GlorotUniform(seed=0)((4, 2)).numpy()
        >>> bool(abs(values).max() <= (6 / (4 + 2)) ** 0.5)
        True
    """

    _setting = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Setting):
    """Truncated normal draws with variance `2 / (fan_in + fan_out)` (Glorot and Bengio, 2010).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.GlorotNormal(seed=0)((60, 40)).numpy()
        >>> bool(abs(values.std() - (2 / 100) ** 0.5) < 0.005)
        True
    """

    _setting = (1.0, "fan_avg", "truncated_normal")


class HeNormal(_Setting):
    """Truncated normal draws with variance `2 / fan_in`, made for relu (He et al., 2015).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.HeNormal(seed=0)((50, 50)).numpy()
        >>> bool(abs(values.std() - (2 / 50) ** 0.5) < 0.01)
        True
    """

    _setting = (2.0, "fan_in", "truncated_normal")


class HeUniform(_Setting):
    """Even draws within `sqrt(6 / fan_in)` of zero, made for relu (He et al., 2015).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.HeUniform(seed=0)((6, 20)).numpy()
        >>> bool(abs(values).max() <= 1.0)
        True
    """

    _setting = (2.0, "fan_in", "uniform")


class LecunNormal(_Setting):
    """Truncated normal draws with variance `1 / fan_in`, made for selu (Klambauer et al., 2017).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.LecunNormal(seed=0)((100, 30)).numpy()
        >>> bool(abs(values.std() - 0.1) < 0.005)
        True
    """

    _setting = (1.0, "fan_in", "truncated_normal")


class LecunUniform(_Setting):
    """Even draws within `sqrt(3 / fan_in)` of zero (Klambauer et al., 2017).

    Args:
        seed: None, a whole number or a SeedGenerator. Only the last gives new numbers at every
            call.
        input_axes: The axes of the weight that are inputs, where the last two are not `(in, out)`.
        output_axes: The axes that are outputs.

    Example:
        >>> values = podium.initializers.LecunUniform(seed=0)((3, 30)).numpy()
        >>> bool(abs(values).max() <= 1.0)
        True
    """

    _setting = (1.0, "fan_in", "uniform")


def compute_fans(
    shape: Sequence[int],
    input_axes: Sequence[int] | None = None,
    output_axes: Sequence[int] | None = None,
) -> tuple[int, int]:
    """Return how many inputs and outputs a unit with weights of this shape has.

    Args:
        shape: The shape of the weight, `(..., in, out)` unless both lists of axes say otherwise.
        input_axes: The axes that are inputs.
        output_axes: The axes that are outputs.
    """
    if input_axes is not None and output_axes is not None:
        return math.prod(shape[axis] for axis in input_axes), math.prod(
            shape[axis] for axis in output_axes
        )
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    window = math.prod(shape[:-2])  # how many positions a convolution kernel looks at
    return shape[-2] * window, shape[-1] * window
