"""Activations as layers: Activation, ReLU, LeakyReLU, PReLU, ELU and Softmax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium import activations
from podium.core import dispatch
from podium.layers._argument_checks import set_weight_options, weight_options, weight_options_config
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Elementwise(Layer):
    """A layer whose outputs have the shape of its inputs, and their mask."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        return input_shape

    def _refuse_below_zero(self, **values: Any) -> None:
        for name, value in values.items():
            if value is None or value < 0:
                raise ValueError(
                    f"{type(self).__name__} was given {name}={value!r}; a number of at least 0 "
                    "was expected."
                )


class Activation(_Elementwise):
    """Applies an activation.

    Args:
        activation: A name or function, such as "relu"; None leaves the inputs as they are.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Activation("relu")(np.array([-1.0, 2.0], "float32")).numpy()
        array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        """Apply the activation."""
        return inputs if self.activation is None else self.activation(inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"activation": activations.serialize(self.activation)}


class ReLU(_Elementwise):
    """Computes `max(x, 0)`, with a limit, a slope below zero and a threshold if wanted.

    Args:
        max_value: The largest output; None for no limit.
        negative_slope: The slope below the threshold.
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
        self._refuse_below_zero(negative_slope=negative_slope, threshold=threshold)
        if max_value is not None:
            self._refuse_below_zero(max_value=max_value)
        self.max_value = max_value
        self.negative_slope = negative_slope
        self.threshold = threshold

    def call(self, inputs: Any) -> Any:
        """Apply the activation."""
        return activations.relu(inputs, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        return {
            "negative_slope": self.negative_slope,
            "max_value": self.max_value,
            "threshold": self.threshold,
        }

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | self._arguments()


class LeakyReLU(_Elementwise):
    """Computes `x` above zero and `negative_slope * x` below.

    Args:
        negative_slope: The slope below zero.
        alpha: Keras 2's name for `negative_slope`.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.LeakyReLU(negative_slope=0.5)(np.array([-1.0, 2.0], "float32")).numpy()
        array([-0.5,  2. ], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.3, *, alpha: float | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.negative_slope = negative_slope if alpha is None else alpha
        self._refuse_below_zero(negative_slope=self.negative_slope)

    def call(self, inputs: Any) -> Any:
        """Apply the activation."""
        return activations.leaky_relu(inputs, negative_slope=self.negative_slope)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"negative_slope": self.negative_slope}


class ELU(_Elementwise):
    """Computes `x` above zero and `alpha * (exp(x) - 1)` below.

    Args:
        alpha: The depth that negative inputs approach.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.ELU()(np.array([-1.0, 2.0], "float32")).numpy().round(3)
        array([-0.632,  2.   ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        """Apply the activation."""
        return activations.elu(inputs, alpha=self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"alpha": self.alpha}


class PReLU(_Elementwise):
    """Computes `x` above zero and `alpha * x` below, with `alpha` learned.

    Args:
        alpha_initializer: How `alpha` starts.
        alpha_regularizer: A penalty on `alpha`.
        alpha_constraint: Applied to `alpha` after updates.
        shared_axes: Axes along which one `alpha` is shared, such as [1, 2] for images.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.PReLU(shared_axes=[1, 2])
        >>> layer(np.ones((2, 4, 4, 3), "float32")).shape, layer.alpha.shape
        ((2, 4, 4, 3), (1, 1, 3))
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
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
                f"PReLU was given shared_axes={shared_axes!r}; whole numbers from 1 (0 is the "
                "batch) were expected."
            )
        self.alpha: Any = None

    def build(self, input_shape: Any) -> None:
        """Make `alpha`."""
        shared = self.shared_axes or ()
        if any(axis >= len(input_shape) for axis in shared):
            raise ValueError(
                f"Layer {self.name!r} (PReLU) shares axes {self.shared_axes}, and its input has "
                f"shape {tuple(input_shape)}. Choose axes between 1 and {len(input_shape) - 1}."
            )
        shape = [1 if axis in shared else length for axis, length in enumerate(input_shape)][1:]
        self.alpha = self.add_weight(name="alpha", shape=shape, **weight_options(self, "alpha"))
        axes = {
            axis: length
            for axis, length in enumerate(input_shape)
            if axis > 0 and axis not in shared
        }
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)

    def call(self, inputs: Any) -> Any:
        """Apply the activation."""
        return dispatch(_prelu, inputs, self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return (
            super().get_config()
            | weight_options_config(self, "alpha")
            | {"shared_axes": self.shared_axes}
        )


def _prelu(x: Any, alpha: Any) -> Any:
    return jax.nn.relu(x) - alpha * jax.nn.relu(-x)


class Softmax(_Elementwise):
    """Turns numbers into shares that sum to one.

    Args:
        axis: The axis, or axes, over which the shares sum to one.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Softmax()
        >>> layer(np.zeros((1, 4), "float32"), mask=np.array([[True, True, False, False]])).numpy()
        array([[0.5, 0.5, 0. , 0. ]], dtype=float32)
    """

    def __init__(self, axis: Any = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Compute the shares; where `mask` is False the share is zero."""
        if mask is not None and not _broadcasts(mask.shape, inputs.shape):
            raise ValueError(
                f"Layer {self.name!r} (Softmax) was given a mask of shape {tuple(mask.shape)} for "
                f"inputs of shape {tuple(inputs.shape)}. Each length of the mask must be 1 or "
                "equal the input's, counted from the end."
            )
        return dispatch(masked_softmax, inputs, mask, self.axis)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"axis": self.axis}


def _broadcasts(shape: Any, onto: Any) -> bool:
    pairs = zip(reversed(shape), reversed(onto), strict=False)
    return len(shape) <= len(onto) and all(a == b or a == 1 for a, b in pairs)


def masked_softmax(x: Any, mask: Any, axis: Any) -> Any:
    """Softmax over `axis` of what `mask` lets through; the rest, and rows with nothing left, are
    zero.
    """
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    if mask is None:
        return jax.nn.softmax(x, axis=axis)
    mask = mask if mask.dtype == bool else mask > 0.5
    low = jnp.asarray(-3e4 if x.dtype == jnp.float16 else -1e9, x.dtype)
    return jnp.where(mask, jax.nn.softmax(jnp.where(mask, x, low), axis=axis), 0)
