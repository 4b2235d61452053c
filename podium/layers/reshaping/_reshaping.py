"""Layers that only move numbers around: Flatten, Reshape, Permute, RepeatVector."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from podium.core import KerasTensor, dispatch
from podium.layers import _argument_checks, _spatial
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


class _Rearrangement(Layer):
    """A layer whose symbolic output follows from `compute_output_shape` and the input's type."""

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return what a call on a symbolic input gives."""
        return KerasTensor(self.compute_output_shape(inputs.shape), inputs.dtype)


def _flattened(x: Any, channels_first: bool) -> Any:
    if channels_first and x.ndim > 1:
        x = jnp.moveaxis(x, 1, -1)
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


class Flatten(_Rearrangement):
    """Makes one row of numbers of every sample.

    Args:
        data_format: "channels_last" (default), or "channels_first" to move the channels last before
            flattening, so that both layouts give the same row.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Flatten()(np.ones((2, 3, 4), "float32")).shape
        (2, 12)
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = _spatial.layout(self, data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return dispatch(_flattened, inputs, self.data_format == "channels_first")

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        lengths = tuple(input_shape)[1:]
        return (input_shape[0], None if None in lengths else math.prod(lengths))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"data_format": self.data_format}


class Reshape(_Rearrangement):
    """Gives every sample another shape with the same numbers in the same order.

    Args:
        target_shape: The new shape without the batch dimension; one length may be -1 and follows
            from the others.
        **kwargs: `name`, `dtype`, `trainable`.

    Raises:
        ValueError: If the samples do not have as many numbers as the new shape holds.

    Example:
        >>> podium.layers.Reshape((-1, 2))(np.ones((5, 12), "float32")).shape
        (5, 6, 2)
    """

    def __init__(self, target_shape: Any, **kwargs: Any):
        super().__init__(**kwargs)
        if isinstance(target_shape, (int, np.integer)):
            target_shape = (target_shape,)
        free = (None, -1)
        lengths = tuple(target_shape)
        valid = all(
            n in free or (isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0)
            for n in lengths
        )
        if not valid or sum(n in free for n in lengths) > 1:
            raise ValueError(
                f"Reshape was given target_shape={target_shape!r}; whole numbers were expected, of "
                "which at most one is -1 (to be worked out), such as (-1, 3). Leave out the batch "
                "dimension."
            )
        self.target_shape = tuple(n if n is None else int(n) for n in lengths)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs; a shape that holds another count of numbers is an
        error.
        """
        lengths = tuple(input_shape)[1:]
        known = math.prod(n for n in self.target_shape if n not in (None, -1))
        free = any(n in (None, -1) for n in self.target_shape)
        if not all(isinstance(n, int) for n in lengths):
            return (input_shape[0], *(None if n == -1 else n for n in self.target_shape))
        numbers = math.prod(lengths)
        if numbers != known and not (free and known and numbers % known == 0):
            needs = f"a multiple of {known}" if free else known
            raise ValueError(
                f"Layer {self.name!r} (Reshape) was called with shape {tuple(input_shape)}, "
                f"{numbers} numbers a sample; its target_shape={self.target_shape} holds {needs}. "
                "Change target_shape, or the layer before it."
            )
        rest = numbers // known if known else 0
        return (input_shape[0], *(rest if n in (None, -1) else n for n in self.target_shape))

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        shape = self.compute_output_shape(inputs.shape)
        return dispatch(jnp.reshape, inputs, tuple(-1 if n is None else n for n in shape))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"target_shape": self.target_shape}


class Permute(_Rearrangement):
    """Changes the order of the dimensions behind the batch.

    Args:
        dims: The new order, counted from 1; `(2, 1)` swaps the first two dimensions behind the
            batch.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.Permute((2, 1))(np.ones((5, 10, 64), "float32")).shape
        (5, 64, 10)
    """

    def __init__(self, dims: Any, **kwargs: Any):
        super().__init__(**kwargs)
        try:
            self.dims = tuple(int(dim) for dim in dims)
        except TypeError:
            self.dims = ()
        if not self.dims or sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"Permute was given dims={dims!r}; every number from 1 to the number of "
                "dimensions was expected once, such as "
                "(2, 1). The batch dimension stays first and is not counted."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return dispatch(jnp.transpose, inputs, (0, *self.dims))

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        return (input_shape[0], *(input_shape[dim] for dim in self.dims))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"dims": self.dims}


def _repeated(x: Any, n: int) -> Any:
    return jnp.repeat(x[:, None, :], n, axis=1)


class RepeatVector(_Rearrangement):
    """Makes a sequence of every vector, by repeating it.

    Args:
        n: How often it is repeated.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.layers.RepeatVector(3)(np.ones((2, 32), "float32")).shape
        (2, 3, 32)
    """

    def __init__(self, n: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.n = _argument_checks.whole_number(self, "n", n)
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        """Compute the outputs."""
        return dispatch(_repeated, inputs, self.n)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        return (input_shape[0], self.n, input_shape[1])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {"n": self.n}
