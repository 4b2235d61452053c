"""BatchNormalization: statistics of the batch in training, their running averages otherwise.

In training one pure function gives the outputs and the new averages; the layer assigns them. The
averages carry no gradient.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import dispatch, unknown_choice
from podium.core import epsilon as keras_epsilon
from podium.layers._argument_checks import (
    axes_of,
    check_axes,
    fraction,
    set_weight_options,
    weight_options,
    weight_options_config,
)
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class BatchNormalization(Layer):
    """Brings each feature to mean 0 and variance 1 over the batch, then scales it by `gamma` and
    shifts it by `beta`.

    In training it uses the batch's statistics and moves their running averages; otherwise, and
    always when `trainable` is False, it uses the running averages.

    Args:
        axis: The axis of the features; 1 for channels first.
        momentum: How much of the running averages stays at each step.
        epsilon: Added to the variance, against division by zero.
        center: Whether to add `beta`.
        scale: Whether to multiply by `gamma`.
        beta_initializer: How `beta` starts.
        gamma_initializer: How `gamma` starts.
        moving_mean_initializer: How the running mean starts.
        moving_variance_initializer: How the running variance starts.
        beta_regularizer: A penalty on `beta`.
        gamma_regularizer: A penalty on `gamma`.
        beta_constraint: Applied to `beta` after updates.
        gamma_constraint: Applied to `gamma` after updates.
        renorm: Whether to correct the batch's statistics towards long-term ones (batch
            renormalization).
        renorm_clipping: Limits of that correction: a dictionary with any of "rmin", "rmax", "dmax".
        renorm_momentum: How much of the long-term statistics stays at each step.
        synchronized: Accepted as in Keras. The batch is one global array, so its statistics always
            span all devices.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.BatchNormalization(momentum=0.5)
        >>> layer(np.array([[1.0], [3.0]], "float32"), training=True).numpy().round(2)
        array([[-1.],
               [ 1.]], dtype=float32)
        >>> layer.moving_mean.numpy()
        array([1.], dtype=float32)
    """

    moving_mean_initializer: Any
    moving_variance_initializer: Any

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, float] | None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **kwargs: Any,
    ):
        kwargs.pop("fused", None)  # Keras 2's choice of a kernel
        super().__init__(**kwargs)
        axes = axes_of(self, axis)
        if len(axes) != 1:
            raise ValueError(
                f"BatchNormalization was given axis={axis!r}; one axis was expected, such as "
                "axis=-1."
            )
        self.axis = axes[0]
        self.momentum = float(fraction(self, "momentum", momentum))
        self.epsilon = float(epsilon)
        self.center = center
        self.scale = scale
        set_weight_options(
            self,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )
        self.renorm = renorm
        self.renorm_clipping = (
            _checked_clipping(renorm_clipping or {}) if renorm else renorm_clipping
        )
        self.renorm_momentum = renorm_momentum
        self.synchronized = synchronized
        self.supports_masking = True
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None
        self.moving_stddev: Any = None
        self.renorm_mean: Any = None
        self.renorm_stddev: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the scale, the shift and the running averages."""
        check_axes(self, (self.axis,), input_shape)
        shape = (input_shape[self.axis],)
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma", shape=shape, autocast=False, **weight_options(self, "gamma")
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta", shape=shape, autocast=False, **weight_options(self, "beta")
            )
        self.moving_mean = self._add_average("moving_mean", shape, self.moving_mean_initializer)
        self.moving_variance = self._add_average(
            "moving_variance", shape, self.moving_variance_initializer
        )
        if self.renorm:
            self.moving_stddev = self._add_average("moving_stddev", shape, self._initial_stddev)
            self.renorm_mean = self._add_average("renorm_mean", shape, self.moving_mean_initializer)
            self.renorm_stddev = self._add_average("renorm_stddev", shape, self._initial_stddev)
        self.input_spec = InputSpec(ndim=len(input_shape), axes={self.axis: input_shape[self.axis]})

    def _add_average(self, name: str, shape: tuple, initializer: Any) -> Any:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            trainable=False,
            autocast=False,
            aggregation="mean",
        )

    def _initial_stddev(self, shape: Any, dtype: Any = None) -> Any:
        return dispatch(jnp.sqrt, self.moving_variance_initializer(shape, dtype))

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Normalise the inputs; `mask` (one dimension less) leaves entries out of the
        statistics.
        """
        if mask is not None and len(mask.shape) != len(inputs.shape) - 1:
            raise ValueError(
                f"Layer {self.name!r} (BatchNormalization) was given a mask of shape "
                f"{tuple(mask.shape)} for inputs of shape "
                f"{tuple(inputs.shape)}. The mask must have one dimension less: "
                f"{tuple(inputs.shape)[:-1]}."
            )
        common = {"axis": self.axis, "epsilon": self.epsilon, "dtype": self.compute_dtype}
        if not (training and self.trainable):
            averages = (self.moving_mean, self.moving_variance)
            return dispatch(_normalize, inputs, *averages, self.gamma, self.beta, **common)
        common["momentum"] = self.momentum
        if self.renorm:
            return self._renormalize(inputs, mask, common)
        averages = (self.moving_mean, self.moving_variance)
        outputs, mean, variance = dispatch(
            _normalize_batch, inputs, mask, *averages, self.gamma, self.beta, **common
        )
        self.moving_mean.assign(mean)
        self.moving_variance.assign(variance)
        return outputs

    def _renormalize(self, inputs: Any, mask: Any, common: dict[str, Any]) -> Any:
        averages = (self.moving_mean, self.moving_stddev, self.renorm_mean, self.renorm_stddev)
        options = common | {
            "clipping": self.renorm_clipping,
            "renorm_momentum": self.renorm_momentum,
        }
        outputs, moved = dispatch(
            _renormalize_batch, inputs, mask, averages, self.gamma, self.beta, **options
        )
        for variable, value in zip((*averages, self.moving_variance), moved, strict=True):
            variable.assign(value)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the inputs."""
        check_axes(self, (self.axis,), input_shape)
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        names = (
            "axis",
            "momentum",
            "epsilon",
            "center",
            "scale",
            "synchronized",
            "renorm",
            "renorm_clipping",
            "renorm_momentum",
        )
        weights = weight_options_config(self, "beta", "gamma", "moving_mean", "moving_variance")
        return super().get_config() | {name: getattr(self, name) for name in names} | weights


def _checked_clipping(clipping: dict[str, float]) -> dict[str, float]:
    for key in clipping:
        if key not in ("rmax", "rmin", "dmax"):
            raise unknown_choice("key of renorm_clipping", key, ["rmax", "rmin", "dmax"])
    if (
        clipping.get("rmax", float("inf")) < clipping.get("rmin", 0.0)
        or clipping.get("dmax", 0.0) < 0
    ):
        raise ValueError(
            f"renorm_clipping={clipping!r} was given; rmin <= rmax and dmax >= 0 were expected."
        )
    return clipping


def _normalize(
    x: Any,
    mean: Any,
    variance: Any,
    gamma: Any,
    beta: Any,
    *,
    axis: int,
    epsilon: float,
    dtype: str,
) -> Any:
    """Normalise by given statistics, in float32 at least."""
    x = at_least_float32(x)
    shape = [1] * x.ndim
    shape[axis] = mean.shape[0]
    factor = jax.lax.rsqrt(variance.astype(x.dtype) + epsilon)
    factor = factor if gamma is None else factor * gamma.astype(x.dtype)
    shift = -mean.astype(x.dtype) * factor
    shift = shift if beta is None else shift + beta.astype(x.dtype)
    return (x * factor.reshape(shape) + shift.reshape(shape)).astype(dtype)


def _normalize_batch(
    x: Any,
    mask: Any,
    moving_mean: Any,
    moving_variance: Any,
    gamma: Any,
    beta: Any,
    *,
    momentum: float,
    **common: Any,
) -> Any:
    """Normalise by the batch's statistics; returns the outputs and the moved averages."""
    mean, variance = _moments(at_least_float32(x), mask, common["axis"])
    outputs = _normalize(x, mean, variance, gamma, beta, **common)
    return outputs, _moved(moving_mean, mean, momentum), _moved(moving_variance, variance, momentum)


def _renormalize_batch(
    x: Any,
    mask: Any,
    averages: Any,
    gamma: Any,
    beta: Any,
    *,
    momentum: float,
    renorm_momentum: float,
    clipping: Any,
    **common: Any,
) -> Any:
    """Normalise by the batch's statistics, corrected towards long-term ones without a gradient
    through the correction.
    """
    moving_mean, moving_stddev, renorm_mean, renorm_stddev = averages
    mean, variance = _moments(at_least_float32(x), mask, common["axis"])
    stddev = jnp.sqrt(variance + common["epsilon"])
    reference = jnp.maximum(renorm_stddev, common["epsilon"] ** 0.5)
    r = jax.lax.stop_gradient(
        jnp.clip(stddev / reference, clipping.get("rmin"), clipping.get("rmax"))
    )
    d = jax.lax.stop_gradient((mean - renorm_mean) / reference)
    if clipping.get("dmax") is not None:
        d = jnp.clip(d, -clipping["dmax"], clipping["dmax"])
    shift = d if gamma is None else d * gamma
    shift = shift if beta is None else shift + beta
    outputs = _normalize(x, mean, variance, r if gamma is None else r * gamma, shift, **common)
    new_stddev = _moved(moving_stddev, stddev, momentum)
    moved = (
        _moved(moving_mean, mean, momentum),
        new_stddev,
        _moved(renorm_mean, mean, renorm_momentum),
        _moved(renorm_stddev, stddev, renorm_momentum),
        jax.nn.relu(new_stddev**2 - common["epsilon"]),
    )
    return outputs, moved


def at_least_float32(x: Any) -> Any:
    """Return integers and half-precision floats as float32, for sums that need it."""
    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)


def _moved(average: Any, value: Any, momentum: float) -> Any:
    value = jax.lax.stop_gradient(value).astype(average.dtype)
    return average * momentum + value * (1.0 - momentum)


def _moments(x: Any, mask: Any, axis: int) -> Any:
    """Return mean and variance of each feature; entries where `mask` is False do not count."""
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    if mask is None:
        return jnp.mean(x, axes), jnp.var(x, axes)
    keep = jnp.broadcast_to(mask.astype(bool)[..., None], x.shape)
    count = jnp.sum(keep.astype(x.dtype), axes, keepdims=True) + keras_epsilon()
    mean = jnp.sum(jnp.where(keep, x, 0), axes, keepdims=True) / count
    variance = jnp.sum(jnp.square(jnp.where(keep, x - mean, 0)), axes, keepdims=True) / count
    return jnp.squeeze(mean, axes), jnp.squeeze(variance, axes)
