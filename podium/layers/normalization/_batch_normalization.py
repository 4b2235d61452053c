"""BatchNormalization: normalizes by the statistics of the batch, or by their moving averages.

In training one pure function returns the outputs and the new averages; the layer assigns them. No
gradient flows through the averages.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import (
    Config,
    ConstraintLike,
    DTypeLike,
    InitializerLike,
    RegularizerLike,
    ShapeLike,
    SymbolicShape,
)
from podium.core import Tensor, Variable, dispatch, unknown_choice
from podium.core import epsilon as keras_epsilon
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers._layer_arguments import (
    check_axes,
    check_rate,
    set_weight_options,
    standardize_axes,
    weight_options,
    weight_options_config,
)


class BatchNormalization(Layer):
    """Normalizes each feature to mean 0 and variance 1, then scales by `gamma` and adds `beta`.

    In training it uses the statistics of the batch and updates their moving averages; otherwise,
    and always when `trainable` is False, it uses the moving averages.

    Args:
        axis: The axis of the features; 1 for channels first.
        momentum: The momentum of the moving averages.
        epsilon: Small float added to the variance to avoid dividing by zero.
        center: Whether to add `beta`.
        scale: Whether to multiply by `gamma`.
        beta_initializer: Initializer of `beta`.
        gamma_initializer: Initializer of `gamma`.
        moving_mean_initializer: Initializer of the moving mean.
        moving_variance_initializer: Initializer of the moving variance.
        beta_regularizer: Regularizer of `beta`.
        gamma_regularizer: Regularizer of `gamma`.
        beta_constraint: Constraint of `beta`, applied after updates.
        gamma_constraint: Constraint of `gamma`, applied after updates.
        renorm: Whether to use batch renormalization, which corrects the statistics of the batch
            towards long-term ones.
        renorm_clipping: Limits of that correction: a dictionary with any of "rmin", "rmax", "dmax".
        renorm_momentum: The momentum of the long-term statistics.
        synchronized: Accepted for compatibility with Keras. The batch is one global array, so its
            statistics always include all devices.
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
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        moving_mean_initializer: InitializerLike = "zeros",
        moving_variance_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        renorm: bool = False,
        renorm_clipping: dict[str, float] | None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **kwargs: Any,
    ):
        kwargs.pop("fused", None)  # an option of Keras 2
        super().__init__(**kwargs)
        axes = standardize_axes(self, axis)
        if len(axes) != 1:
            raise ValueError(
                f"BatchNormalization was given axis={axis!r}; one axis was expected, such as "
                "axis=-1."
            )
        self.axis = axes[0]
        self.momentum = float(check_rate(self, "momentum", momentum))
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
        self.renorm_clipping = _check_clipping(renorm_clipping or {}) if renorm else renorm_clipping
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

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the scale, the offset and the moving averages."""
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

    def _add_average(
        self, name: str, shape: tuple[Any, ...], initializer: InitializerLike
    ) -> Variable:
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            trainable=False,
            autocast=False,
            aggregation="mean",
        )

    def _initial_stddev(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        result: Tensor = dispatch(jnp.sqrt, self.moving_variance_initializer(shape, dtype))
        return result

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Normalize the inputs; entries where `mask` is False are left out of the statistics."""
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
            outputs: Tensor = dispatch(
                _normalize, inputs, *averages, self.gamma, self.beta, **common
            )
            return outputs
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

    def _renormalize(self, inputs: Tensor, mask: Tensor | None, common: dict[str, Any]) -> Tensor:
        averages = (self.moving_mean, self.moving_stddev, self.renorm_mean, self.renorm_stddev)
        options = common | {
            "clipping": self.renorm_clipping,
            "renorm_momentum": self.renorm_momentum,
        }
        outputs: Tensor
        outputs, new_averages = dispatch(
            _renormalize_batch, inputs, mask, averages, self.gamma, self.beta, **options
        )
        for variable, value in zip((*averages, self.moving_variance), new_averages, strict=True):
            variable.assign(value)
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        check_axes(self, (self.axis,), input_shape)
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
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


def _check_clipping(clipping: dict[str, float]) -> dict[str, float]:
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
    x: jax.Array,
    mean: jax.Array,
    variance: jax.Array,
    gamma: jax.Array | None,
    beta: jax.Array | None,
    *,
    axis: int,
    epsilon: float,
    dtype: str,
) -> jax.Array:
    """Normalize with these statistics, in float32 or higher precision."""
    x = at_least_float32(x)
    shape = [1] * x.ndim
    shape[axis] = mean.shape[0]
    factor = jax.lax.rsqrt(variance.astype(x.dtype) + epsilon)
    factor = factor if gamma is None else factor * gamma.astype(x.dtype)
    shift = -mean.astype(x.dtype) * factor
    shift = shift if beta is None else shift + beta.astype(x.dtype)
    return (x * factor.reshape(shape) + shift.reshape(shape)).astype(dtype)


def _normalize_batch(
    x: jax.Array,
    mask: jax.Array | None,
    moving_mean: jax.Array,
    moving_variance: jax.Array,
    gamma: jax.Array | None,
    beta: jax.Array | None,
    *,
    momentum: float,
    **common: Any,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Normalize with the statistics of the batch; return the outputs and the new averages."""
    mean, variance = _moments(at_least_float32(x), mask, common["axis"])
    outputs = _normalize(x, mean, variance, gamma, beta, **common)
    return (
        outputs,
        _update_average(moving_mean, mean, momentum),
        _update_average(moving_variance, variance, momentum),
    )


def _renormalize_batch(
    x: jax.Array,
    mask: jax.Array | None,
    averages: Any,
    gamma: jax.Array | None,
    beta: jax.Array | None,
    *,
    momentum: float,
    renorm_momentum: float,
    clipping: Any,
    **common: Any,
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    """Normalize with the statistics of the batch, corrected towards long-term ones.

    No gradient flows through the correction.
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
    new_stddev = _update_average(moving_stddev, stddev, momentum)
    new_averages = (
        _update_average(moving_mean, mean, momentum),
        new_stddev,
        _update_average(renorm_mean, mean, renorm_momentum),
        _update_average(renorm_stddev, stddev, renorm_momentum),
        jax.nn.relu(new_stddev**2 - common["epsilon"]),
    )
    return outputs, new_averages


def at_least_float32(x: jax.Array) -> jax.Array:
    """Cast integers and half-precision floats to float32."""
    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)


def _update_average(average: jax.Array, value: jax.Array, momentum: float) -> jax.Array:
    value = jax.lax.stop_gradient(value).astype(average.dtype)
    return average * momentum + value * (1.0 - momentum)


def _moments(x: jax.Array, mask: jax.Array | None, axis: int) -> tuple[jax.Array, jax.Array]:
    """Return mean and variance of each feature; entries where `mask` is False are ignored."""
    axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    if mask is None:
        return jnp.mean(x, axes), jnp.var(x, axes)
    keep = jnp.broadcast_to(mask.astype(bool)[..., None], x.shape)
    count = jnp.sum(keep.astype(x.dtype), axes, keepdims=True) + keras_epsilon()
    mean = jnp.sum(jnp.where(keep, x, 0), axes, keepdims=True) / count
    variance = jnp.sum(jnp.square(jnp.where(keep, x - mean, 0)), axes, keepdims=True) / count
    return jnp.squeeze(mean, axes), jnp.squeeze(variance, axes)
