"""Initializers whose variance depends on the size of the layer: VarianceScaling and variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from podium import random
from podium._typing import Config, DTypeLike, ShapeLike
from podium.core import Tensor, check_choice
from podium.initializers._initializer import check_shape
from podium.initializers._random import RandomInitializer, SeedOrConfig

# Standard deviation of a standard normal distribution truncated at two standard deviations.
_TRUNCATED_STDDEV = 0.87962566103423978


class VarianceScaling(RandomInitializer):
    """Samples with variance `scale / n`, which keeps the scale of signals from layer to layer.

    `n` is the number of inputs of a unit (`fan_in`), of outputs (`fan_out`), or their mean
    (`fan_avg`). In a convolution kernel `(..., in, out)` both are multiplied by the size of the
    window.

    Args:
        scale: Positive factor of the variance.
        mode: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
        distribution: `"truncated_normal"` (also called `"normal"`), `"untruncated_normal"` or
            `"uniform"`.
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs; used only together with `input_axes`.

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
        seed: SeedOrConfig = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ):
        if not scale > 0:
            raise ValueError(
                f"scale={scale!r} was given to {type(self).__name__}; a positive number was "
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

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Return a random Tensor of the given shape."""
        shape = check_shape(shape)
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

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        return {
            **super().get_config(),
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "input_axes": self.input_axes,
            "output_axes": self.output_axes,
        }


class _Variant(VarianceScaling):
    """Base class of variants with fixed scale, mode and distribution."""

    _arguments: ClassVar[tuple[float, str, str]]

    def __init__(
        self,
        seed: SeedOrConfig = None,
        input_axes: Sequence[int] | None = None,
        output_axes: Sequence[int] | None = None,
    ):
        super().__init__(*self._arguments, seed, input_axes, output_axes)

    def get_config(self) -> Config:
        """Return the arguments of the constructor."""
        config = super().get_config()
        return {name: config[name] for name in ("seed", "input_axes", "output_axes")}


class GlorotUniform(_Variant):
    """Uniform samples within `sqrt(6 / (fan_in + fan_out))` of zero: the default of most layers.

    Also called Xavier uniform (Glorot and Bengio, 2010).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.GlorotUniform(seed=0)((4, 2)).numpy()
        >>> bool(abs(values).max() <= (6 / (4 + 2)) ** 0.5)
        True
    """

    _arguments = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Variant):
    """Truncated normal samples with variance `2 / (fan_in + fan_out)` (Glorot and Bengio, 2010).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.GlorotNormal(seed=0)((60, 40)).numpy()
        >>> bool(abs(values.std() - (2 / 100) ** 0.5) < 0.005)
        True
    """

    _arguments = (1.0, "fan_avg", "truncated_normal")


class HeNormal(_Variant):
    """Truncated normal samples with variance `2 / fan_in`, suited to relu (He et al., 2015).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.HeNormal(seed=0)((50, 50)).numpy()
        >>> bool(abs(values.std() - (2 / 50) ** 0.5) < 0.01)
        True
    """

    _arguments = (2.0, "fan_in", "truncated_normal")


class HeUniform(_Variant):
    """Uniform samples within `sqrt(6 / fan_in)` of zero, suited to relu (He et al., 2015).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.HeUniform(seed=0)((6, 20)).numpy()
        >>> bool(abs(values).max() <= 1.0)
        True
    """

    _arguments = (2.0, "fan_in", "uniform")


class LecunNormal(_Variant):
    """Truncated normal samples with variance `1 / fan_in`, suited to selu (Klambauer et al., 2017).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.LecunNormal(seed=0)((100, 30)).numpy()
        >>> bool(abs(values.std() - 0.1) < 0.005)
        True
    """

    _arguments = (1.0, "fan_in", "truncated_normal")


class LecunUniform(_Variant):
    """Uniform samples within `sqrt(3 / fan_in)` of zero (Klambauer et al., 2017).

    Args:
        seed: None, an int or a SeedGenerator. Only a SeedGenerator draws new values at every call.
        input_axes: Axes of the weight that are inputs, if the last two are not `(in, out)`.
        output_axes: Axes that are outputs.

    Example:
        >>> values = podium.initializers.LecunUniform(seed=0)((3, 30)).numpy()
        >>> bool(abs(values).max() <= 1.0)
        True
    """

    _arguments = (1.0, "fan_in", "uniform")


def compute_fans(
    shape: Sequence[int],
    input_axes: Sequence[int] | None = None,
    output_axes: Sequence[int] | None = None,
) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a unit with weights of this shape.

    Args:
        shape: Shape of the weight, `(..., in, out)` unless both lists of axes are passed.
        input_axes: Axes that are inputs.
        output_axes: Axes that are outputs.
    """
    if input_axes is not None and output_axes is not None:
        return math.prod(shape[axis] for axis in input_axes), math.prod(
            shape[axis] for axis in output_axes
        )
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    window = math.prod(shape[:-2])  # the number of positions of a convolution kernel
    return shape[-2] * window, shape[-1] * window
