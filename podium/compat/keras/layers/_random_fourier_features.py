"""`RandomFourierFeatures`: random projections that approximate a kernel function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from podium import constraints, initializers, ops
from podium._typing import Config, InitializerLike, SymbolicShape
from podium.core import Tensor
from podium.core.internal import check_int, check_number
from podium.layers import InputSpec, Layer


class RandomFourierFeatures(Layer):
    """Maps inputs to random features whose products approximate a kernel, for linear models.

    The outputs are `cos(inputs @ kernel / scale + bias)`; only the scale is trained.

    Args:
        output_dim: The number of features.
        kernel_initializer: "gaussian", "laplacian", or an initializer of the projection.
        scale: The scale of the kernel; by default `sqrt(input size / 2)` for "gaussian", else 1.
        trainable: Whether the scale is trained.
        name: The name of the layer.
        **kwargs: `dtype`.

    Example:
        >>> from podium.compat import keras
        >>> layer = keras.layers.experimental.RandomFourierFeatures(8)
        >>> layer(np.ones((2, 3), "float32")).shape, round(layer.scale, 4)
        ((2, 8), 1.2247)
    """

    def __init__(
        self,
        output_dim: int,
        kernel_initializer: InitializerLike = "gaussian",
        scale: float | None = None,
        trainable: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.output_dim = check_int("output_dim", output_dim, 1, owner=self)
        if isinstance(kernel_initializer, str):
            kernel_initializer = kernel_initializer.lower()
            if kernel_initializer not in ("gaussian", "laplacian"):
                raise ValueError(
                    f"RandomFourierFeatures was given kernel_initializer={kernel_initializer!r}; "
                    "'gaussian', 'laplacian' or an initializer was expected."
                )
        else:
            kernel_initializer = initializers.get(kernel_initializer)
        self.kernel_initializer: Any = kernel_initializer
        if scale is not None:
            check_number("scale", scale, 0, owner=self, type_error=ValueError)
        if scale == 0:
            raise ValueError("RandomFourierFeatures was given scale=0; it must be positive.")
        self.scale = scale

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the projection, the bias and the scale."""
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                f"RandomFourierFeatures was called with shape {tuple(input_shape)}; a batch of "
                "vectors of a known size was expected. Flatten the inputs."
            )
        size = input_shape[1]
        if self.scale is None:
            self.scale = math.sqrt(size / 2) if self.kernel_initializer == "gaussian" else 1.0
        self.input_spec = InputSpec(ndim=2, axes={1: size})
        self.unscaled_kernel = self.add_weight(
            name="unscaled_kernel",
            shape=(size, self.output_dim),
            dtype="float32",
            initializer=self._projection_initializer(),
            trainable=False,
        )
        self.bias = self.add_weight(
            name="bias",
            shape=(self.output_dim,),
            dtype="float32",
            initializer=initializers.RandomUniform(0.0, 2 * math.pi),
            trainable=False,
        )
        self.kernel_scale = self.add_weight(
            name="kernel_scale",
            shape=(1,),
            dtype="float32",
            initializer=initializers.Constant(self.scale),
            constraint=constraints.NonNeg(),
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Return the features."""
        kernel = ops.divide(self.unscaled_kernel, self.kernel_scale)
        return ops.cos(ops.add(ops.matmul(ops.cast(inputs, "float32"), kernel), self.bias))

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the features."""
        return (input_shape[0], self.output_dim)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        initializer = self.kernel_initializer
        if not isinstance(initializer, str):
            initializer = initializers.serialize(initializer)
        return {
            **super().get_config(),
            "output_dim": self.output_dim,
            "kernel_initializer": initializer,
            "scale": self.scale,
        }

    def _projection_initializer(self) -> Any:
        if self.kernel_initializer == "gaussian":
            return initializers.RandomNormal(stddev=1.0)
        if self.kernel_initializer != "laplacian":
            return self.kernel_initializer
        uniform: Any = initializers.RandomUniform(-0.5, 0.5)

        def sample_cauchy(shape: tuple[int, ...], dtype: Any = None) -> Tensor:
            return ops.tan(ops.multiply(uniform(shape, dtype), np.pi))

        return sample_cauchy
