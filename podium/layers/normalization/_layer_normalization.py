"""Normalization without statistics of the batch: layer, RMS, group, unit and spectral.

Batch normalization is in `_batch_normalization.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium import initializers, ops
from podium._typing import Config, ConstraintLike, InitializerLike, RegularizerLike, SymbolicShape
from podium.core import Tensor, dispatch
from podium.core.internal import check_int
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers._layer_arguments import (
    check_axes,
    set_weight_options,
    standardize_axes,
    weight_options,
    weight_options_config,
)
from podium.layers.core._wrapper import Wrapper
from podium.layers.normalization._batch_normalization import at_least_float32


class _ScaledNormalization(Layer):
    """Learned scale `gamma` and offset `beta` of layer and group normalization.

    They are never cast to half precision.
    """

    def __init__(
        self,
        axis: int | Sequence[int],
        epsilon: float,
        center: bool,
        scale: bool,
        weights: dict[str, Any],
        kwargs: dict[str, Any],
    ):
        super().__init__(**kwargs)
        self.axis = axis
        self._axes = standardize_axes(self, axis)
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        set_weight_options(self, **weights)
        self.supports_masking = True
        self.autocast = False
        self.gamma: Any = None
        self.beta: Any = None

    def _create_scale_and_offset(self, shape: tuple[Any, ...], scale: bool, center: bool) -> None:
        if scale:
            self.gamma = self.add_weight(
                name="gamma", shape=shape, autocast=False, **weight_options(self, "gamma")
            )
        if center:
            self.beta = self.add_weight(
                name="beta", shape=shape, autocast=False, **weight_options(self, "beta")
            )

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        check_axes(self, self._axes, input_shape)
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        options = {name: getattr(self, name) for name in ("axis", "epsilon", "center", "scale")}
        return super().get_config() | options | weight_options_config(self, "beta", "gamma")


class LayerNormalization(_ScaledNormalization):
    """Layer normalization: normalizes the features of each sample to mean 0 and variance 1.

    Args:
        axis: The axis of the features, or a list of axes.
        epsilon: Small float added to the variance to avoid dividing by zero.
        center: Whether to add `beta`.
        scale: Whether to multiply by `gamma`.
        beta_initializer: Initializer of `beta`.
        gamma_initializer: Initializer of `gamma`.
        beta_regularizer: Regularizer of `beta`.
        gamma_regularizer: Regularizer of `gamma`.
        beta_constraint: Constraint of `beta`, applied after updates.
        gamma_constraint: Constraint of `gamma`, applied after updates.
        rms_scaling: Deprecated, use `RMSNormalization`. Divides by the standard deviation without
            subtracting the mean.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.LayerNormalization(epsilon=1e-6)
        >>> layer(np.array([[1.0, 3.0]], "float32")).numpy().round(2)
        array([[-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        *,
        rms_scaling: bool = False,
        **kwargs: Any,
    ):
        weights = {
            "beta_initializer": beta_initializer,
            "gamma_initializer": gamma_initializer,
            "beta_regularizer": beta_regularizer,
            "gamma_regularizer": gamma_regularizer,
            "beta_constraint": beta_constraint,
            "gamma_constraint": gamma_constraint,
        }
        super().__init__(axis, epsilon, center, scale, weights, kwargs)
        if rms_scaling:
            warnings.warn(
                "LayerNormalization(rms_scaling=True) divides by the standard deviation, not the "
                "root mean square. Use `RMSNormalization` for that.",
                stacklevel=2,
            )
        self.rms_scaling = rms_scaling

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the scale and the offset."""
        check_axes(self, self._axes, input_shape)
        shape = tuple(input_shape[axis] for axis in self._axes)
        self._create_scale_and_offset(
            shape, self.scale or self.rms_scaling, self.center and not self.rms_scaling
        )
        self.input_spec = InputSpec(
            min_ndim=len(self._axes), axes={axis: input_shape[axis] for axis in self._axes}
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs."""
        outputs = ops.layer_normalization(
            inputs,
            self.gamma,
            self.beta,
            axis=list(self._axes),
            epsilon=self.epsilon,
            rms_scaling=self.rms_scaling,
        )
        return (
            outputs
            if outputs.dtype == self.compute_dtype
            else ops.cast(outputs, self.compute_dtype)
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"rms_scaling": self.rms_scaling}


class RMSNormalization(Layer):
    """Root mean square (RMS) normalization layer.

    Args:
        axis: The axis of the features, or a list of axes.
        epsilon: Small float added to the mean square to avoid dividing by zero.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.RMSNormalization()(np.array([[3.0, 4.0]], "float32")).numpy().round(3)
        array([[0.849, 1.131]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, epsilon: float = 1e-6, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis
        self._axes = standardize_axes(self, axis)
        self.epsilon = epsilon
        self.scale: Any = None

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the scale."""
        check_axes(self, self._axes, input_shape)
        self.scale = self.add_weight(
            name="scale", shape=tuple(input_shape[axis] for axis in self._axes), initializer="ones"
        )

    def call(self, x: Tensor) -> Tensor:
        """Normalize the inputs."""
        outputs: Tensor = dispatch(_rms_normalize, x, self.scale, self._axes, self.epsilon)
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        check_axes(self, self._axes, input_shape)
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"axis": self.axis, "epsilon": self.epsilon}


def _rms_normalize(
    x: jax.Array, scale: jax.Array, axes: tuple[Any, ...], epsilon: float
) -> jax.Array:
    wide = at_least_float32(x)
    factor = jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=axes, keepdims=True) + epsilon)
    positions = [axis % x.ndim for axis in axes]
    shape = [length if i in positions else 1 for i, length in enumerate(x.shape)]
    return (wide * factor * scale.astype(wide.dtype).reshape(shape)).astype(x.dtype)


class GroupNormalization(_ScaledNormalization):
    """Group normalization: normalizes groups of channels of each sample to mean 0 and variance 1.

    Args:
        groups: The number of groups; it must divide the number of channels. -1 for one group per
            channel.
        axis: The axis of the channels.
        epsilon: Small float added to the variance to avoid dividing by zero.
        center: Whether to add `beta`.
        scale: Whether to multiply by `gamma`.
        beta_initializer: Initializer of `beta`.
        gamma_initializer: Initializer of `gamma`.
        beta_regularizer: Regularizer of `beta`.
        gamma_regularizer: Regularizer of `gamma`.
        beta_constraint: Constraint of `beta`, applied after updates.
        gamma_constraint: Constraint of `gamma`, applied after updates.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.GroupNormalization(groups=2)
        >>> layer(np.arange(4, dtype="float32").reshape(1, 1, 4)).numpy().round(2)
        array([[[-1.,  1., -1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 0.001,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        **kwargs: Any,
    ):
        weights = {
            "beta_initializer": beta_initializer,
            "gamma_initializer": gamma_initializer,
            "beta_regularizer": beta_regularizer,
            "gamma_regularizer": gamma_regularizer,
            "beta_constraint": beta_constraint,
            "gamma_constraint": gamma_constraint,
        }
        super().__init__(axis, epsilon, center, scale, weights, kwargs)
        if len(self._axes) != 1:
            raise ValueError(
                f"GroupNormalization was given axis={axis!r}; one axis was expected, such as "
                "axis=-1."
            )
        self.groups = (
            groups
            if groups == -1
            else check_int("groups", groups, owner=self, type_error=ValueError)
        )

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the scale and the offset."""
        check_axes(self, self._axes, input_shape)
        (axis,) = self._axes
        channels = input_shape[axis]
        if channels is None or (self.groups != -1 and channels % self.groups):
            raise ValueError(
                f"Layer {self.name!r} (GroupNormalization) has groups={self.groups} and was given "
                f"inputs of shape {tuple(input_shape)}, with {channels} channels in axis "
                f"{axis}. The number of channels must be known and a multiple of `groups`; "
                "use groups=-1 for one group per channel."
            )
        self._create_scale_and_offset((channels,), self.scale, self.center)
        self.input_spec = InputSpec(ndim=len(input_shape), axes={axis: channels})

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs."""
        options = {
            "groups": self.groups,
            "axis": self.axis,
            "epsilon": self.epsilon,
            "dtype": self.compute_dtype,
        }
        outputs: Tensor = dispatch(_group_normalize, inputs, self.gamma, self.beta, **options)
        return outputs

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"groups": self.groups}


def _group_normalize(
    x: jax.Array,
    gamma: jax.Array | None,
    beta: jax.Array | None,
    *,
    groups: int,
    axis: int,
    epsilon: float,
    dtype: str,
) -> jax.Array:
    axis = axis % x.ndim
    channels = x.shape[axis]
    groups = channels if groups == -1 else groups
    split = (groups, channels // groups)
    wide = at_least_float32(x).reshape(*x.shape[:axis], *split, *x.shape[axis + 1 :])
    axes = tuple(i for i in range(1, wide.ndim) if i != axis)  # all but the batch and the groups
    factor = jax.lax.rsqrt(jnp.var(wide, axes, keepdims=True) + epsilon)
    mean = jnp.mean(wide, axes, keepdims=True)
    shape = [split[i - axis] if i in (axis, axis + 1) else 1 for i in range(wide.ndim)]
    if gamma is not None:
        factor = factor * gamma.astype(wide.dtype).reshape(shape)
    shift = -mean * factor
    if beta is not None:
        shift = shift + beta.astype(wide.dtype).reshape(shape)
    return (wide * factor + shift).reshape(x.shape).astype(dtype)


class UnitNormalization(Layer):
    """Unit normalization layer: scales vectors along an axis to L2 norm 1.

    Args:
        axis: The axis of the vectors, or a list of axes.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.UnitNormalization()(np.array([[3.0, 4.0]], "float32")).numpy()
        array([[0.6, 0.8]], dtype=float32)
    """

    _needs_no_build = True

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis
        self._axes = standardize_axes(self, axis)
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Normalize the inputs."""
        return ops.normalize(inputs, axis=self._axes, order=2, epsilon=1e-12)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        check_axes(self, self._axes, input_shape)
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"axis": self.axis}


class SpectralNormalization(Wrapper):
    """Divides the kernel of a layer by its largest singular value at every training call.

    Used, for example, in the discriminators of GANs.

    Args:
        layer: A layer with a `kernel` or `embeddings`.
        power_iterations: The number of power iterations per call.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.SpectralNormalization(podium.layers.Dense(4), power_iterations=30)
        >>> _ = layer(np.ones((2, 3), "float32"), training=True)
        >>> float(np.linalg.svd(layer.layer.kernel.numpy())[1][0].round(3))
        1.0
    """

    def __init__(self, layer: Layer, power_iterations: int = 1, **kwargs: Any):
        super().__init__(layer, **kwargs)
        self.power_iterations = check_int(
            "power_iterations", power_iterations, owner=self, type_error=ValueError
        )
        self.vector_u: Any = None

    def build(self, input_shape: Any = None) -> None:
        """Build the wrapped layer, and create the estimate of its first singular vector."""
        super().build(input_shape)
        self.input_spec = InputSpec(min_ndim=1, axes={-1: input_shape[-1]})
        self.vector_u = self.add_weight(
            name="vector_u",
            shape=(1, self.kernel.shape[-1]),
            initializer=initializers.TruncatedNormal(stddev=0.02),
            trainable=False,
            dtype=self.kernel.dtype,
        )

    @property
    def kernel(self) -> Any:
        """The weight that is normalized."""
        for name in ("kernel", "embeddings"):
            weight = getattr(self.layer, name, None)
            if weight is not None:
                return weight
        raise ValueError(
            f"Layer {self.name!r} (SpectralNormalization) wraps {self.layer!r}, which has neither "
            "`kernel` nor `embeddings`. Wrap a layer such as Dense, Conv2D or Embedding."
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Normalize the kernel in training, then call the layer."""
        if training:
            vector, kernel = dispatch(
                _divide_by_norm, self.kernel, self.vector_u, self.power_iterations
            )
            self.vector_u.assign(vector)
            self.kernel.assign(kernel)
        result: Tensor = self.layer(inputs)
        return result

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the layer's outputs."""
        result: SymbolicShape = self.layer.compute_output_shape(input_shape)
        return result

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"power_iterations": self.power_iterations}


def _divide_by_norm(kernel: jax.Array, u: jax.Array, steps: int) -> tuple[jax.Array, jax.Array]:
    """Return a better estimate of the first singular vector, and the normalized kernel."""
    matrix = kernel.reshape(-1, kernel.shape[-1])
    u = u.astype(kernel.dtype)
    empty = jnp.all(kernel == 0)  # nothing to divide by: keep everything
    better = u
    for _ in range(steps):
        v = _unit(better @ matrix.T)
        better = _unit(v @ matrix)
    better, v = jax.lax.stop_gradient((better, v))
    sigma = (v @ matrix @ better.T)[0, 0]
    return jnp.where(empty, u, better), kernel / jnp.where(empty, 1, sigma)


def _unit(x: jax.Array) -> jax.Array:
    return x * jnp.minimum(jax.lax.rsqrt(jnp.sum(jnp.square(x))), 1e7)
