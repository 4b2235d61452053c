"""Quantizer, the base class, and AbsMaxQuantizer: objects that turn floats into small integers.

Layers take them in a `QuantizationConfig`, for weights and for activations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from podium._typing import Config, DType, TensorLike, Tree
from podium.core import NameRegistry, Tensor
from podium.core.internal import PublicRepr
from podium.quantizers._abs_max import EPSILON, abs_max_quantize

# Quantizers and configs by the names that configs use.
quantizer_registry = NameRegistry("quantizer", module="keras.quantizers")


@quantizer_registry.add_class
class Quantizer(PublicRepr):
    """The base class of quantizers. Subclass it, and define `__call__` and `get_config`.

    Args:
        output_dtype: The dtype of quantized values.

    Example:
        >>> class Ternary(podium.quantizers.Quantizer):
        ...     def __call__(self, x, axis=-1, to_numpy=False):
        ...         return ops.cast(ops.sign(x), self.output_dtype), ops.ones((1,))
        >>> Ternary()(np.array([-0.5, 0.2]))[0].numpy()
        array([-1,  1], dtype=int8)
    """

    def __init__(self, output_dtype: DType = "int8"):
        self.output_dtype = output_dtype

    def __call__(self, x: TensorLike) -> Tree:
        """Return a quantized tensor; by default `x` itself."""
        return x

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a quantizer from the result of `get_config`."""
        return cls(**config)

    def get_config(self) -> Config:
        """Return the arguments that recreate this quantizer."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define `get_config`, so it cannot be saved. Return "
            "the arguments of its constructor from it."
        )


@quantizer_registry.add_class
class AbsMaxQuantizer(Quantizer):
    """Scales values so that the largest magnitude along some axes becomes the largest integer.

    Args:
        axis: The axis, or axes, that share a scale, unless the call names others; by default the
            last one.
        value_range: The smallest and the largest quantized value.
        epsilon: A small number that avoids division by zero.
        output_dtype: The dtype of quantized values.

    Example:
        >>> quantizer = podium.quantizers.AbsMaxQuantizer(axis=0)
        >>> values, scale = quantizer(np.array([[1.0, 20.0], [-2.0, 5.0]], "float32"))
        >>> values.numpy()
        array([[  64,  127],
               [-127,   32]], dtype=int8)
        >>> scale.numpy()
        array([[63.5 ,  6.35]], dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        value_range: Sequence[int] = (-127, 127),
        epsilon: float = EPSILON,
        output_dtype: DType = "int8",
    ):
        super().__init__(output_dtype)
        axes = (axis,) if isinstance(axis, int) else axis
        self.axis = None if axes is None else tuple(axes)
        low, high = value_range
        self.value_range: tuple[int, int] = (low, high)
        self.epsilon = epsilon
        if output_dtype == "int8" and not -128 <= low <= high <= 127:
            raise ValueError(
                f"AbsMaxQuantizer was given value_range={self.value_range} for "
                "output_dtype='int8'; a value_range inside of (-128, 127) was expected."
            )

    def __call__(
        self, x: TensorLike, axis: int | Sequence[int] | None = None, to_numpy: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return quantized values and their scale: `x` is about `values / scale`.

        Args:
            x: The values.
            axis: The axis, or axes, that share a scale; by default those of the constructor.
            to_numpy: Whether to compute on the host, which needs no memory on the device.
        """
        axes = self.axis if axis is None else axis
        return abs_max_quantize(
            x,
            -1 if axes is None else axes,
            self.value_range,
            self.output_dtype,
            self.epsilon,
            to_numpy,
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this quantizer."""
        config: Config = {
            "value_range": self.value_range,
            "epsilon": self.epsilon,
            "output_dtype": self.output_dtype,
        }
        return config if self.axis is None else config | {"axis": self.axis}
