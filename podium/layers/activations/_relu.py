"""Rectifiers as layers: ReLU, LeakyReLU, ELU, and PReLU with a learned slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from podium import activations
from podium._typing import Config, ConstraintLike, InitializerLike, RegularizerLike, SymbolicShape
from podium.core import Tensor, dispatch
from podium.layers._input_spec import InputSpec
from podium.layers._layer_arguments import set_weight_options, weight_options, weight_options_config
from podium.layers.activations._activation import ElementwiseLayer


class ReLU(ElementwiseLayer):
    """Rectified linear unit: `max(x, 0)`, with optional limit, slope and threshold.

    Args:
        max_value: The largest output; None for no limit.
        negative_slope: The slope for inputs below the threshold.
        threshold: Below it, the output is `negative_slope * (x - threshold)`.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.ReLU(max_value=1.0)(np.array([-1.0, 0.5, 2.0], "float32")).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._check_not_negative(negative_slope=negative_slope, threshold=threshold)
        if max_value is not None:
            self._check_not_negative(max_value=max_value)
        self.max_value = max_value
        self.negative_slope = negative_slope
        self.threshold = threshold

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        return activations.relu(inputs, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "negative_slope": self.negative_slope,
            "max_value": self.max_value,
            "threshold": self.threshold,
        }

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | self._arguments()


class LeakyReLU(ElementwiseLayer):
    """Leaky rectified linear unit: `x` above zero and `negative_slope * x` below.

    Args:
        negative_slope: The slope for inputs below zero.
        alpha: Keras 2's name for `negative_slope`.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.LeakyReLU(negative_slope=0.5)(np.array([-1.0, 2.0], "float32")).numpy()
        array([-0.5,  2. ], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.3, *, alpha: float | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.negative_slope = negative_slope if alpha is None else alpha
        self._check_not_negative(negative_slope=self.negative_slope)

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        return activations.leaky_relu(inputs, negative_slope=self.negative_slope)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"negative_slope": self.negative_slope}


class ELU(ElementwiseLayer):
    """Exponential linear unit: `x` above zero and `alpha * (exp(x) - 1)` below.

    Args:
        alpha: The negative of the limit for low inputs.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.ELU()(np.array([-1.0, 2.0], "float32")).numpy().round(3)
        array([-0.632,  2.   ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        return activations.elu(inputs, alpha=self.alpha)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"alpha": self.alpha}


class PReLU(ElementwiseLayer):
    """Parametric rectified linear unit: `x` above zero and `alpha * x` below; `alpha` is learned.

    Args:
        alpha_initializer: Initializer of `alpha`.
        alpha_regularizer: Regularizer of `alpha`.
        alpha_constraint: Constraint of `alpha`, applied after updates.
        shared_axes: Axes along which one `alpha` is shared, such as [1, 2] for images.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.PReLU(shared_axes=[1, 2])
        >>> layer(np.ones((2, 4, 4, 3), "float32")).shape, layer.alpha.shape
        ((2, 4, 4, 3), (1, 1, 3))
    """

    def __init__(
        self,
        alpha_initializer: InitializerLike = "zeros",
        alpha_regularizer: RegularizerLike = None,
        alpha_constraint: ConstraintLike = None,
        shared_axes: int | Sequence[int] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        set_weight_options(
            self,
            alpha_initializer=alpha_initializer,
            alpha_regularizer=alpha_regularizer,
            alpha_constraint=alpha_constraint,
        )
        self.shared_axes = (
            [shared_axes]
            if isinstance(shared_axes, int)
            else None
            if shared_axes is None
            else list(shared_axes)
        )
        if any(not isinstance(axis, int) or axis < 1 for axis in self.shared_axes or ()):
            raise ValueError(
                f"PReLU was given shared_axes={shared_axes!r}; ints of at least 1 were "
                "expected (0 is the batch)."
            )
        self.alpha: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create `alpha`."""
        shared = self.shared_axes or ()
        if any(axis >= len(input_shape) for axis in shared):
            raise ValueError(
                f"Layer {self.name!r} (PReLU) shares axes {self.shared_axes}, and its input has "
                f"shape {tuple(input_shape)}. Choose axes between 1 and {len(input_shape) - 1}."
            )
        shape = [1 if axis in shared else size for axis, size in enumerate(input_shape)][1:]
        self.alpha = self.add_weight(name="alpha", shape=shape, **weight_options(self, "alpha"))
        axes = {
            axis: size for axis, size in enumerate(input_shape) if axis > 0 and axis not in shared
        }
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        outputs: Tensor = dispatch(_prelu, inputs, self.alpha)
        return outputs

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return (
            super().get_config()
            | weight_options_config(self, "alpha")
            | {"shared_axes": self.shared_axes}
        )


def _prelu(x: jax.Array, alpha: Any) -> jax.Array:
    result: jax.Array = jax.nn.relu(x) - alpha * jax.nn.relu(-x)
    return result
