"""`AbstractRNNCell`, the base class of Keras 2's custom cells."""

from __future__ import annotations

from typing import Any

import jax

from podium import ops
from podium._typing import DTypeLike, Tree
from podium.core import Tensor
from podium.layers import Layer


class AbstractRNNCell(Layer):
    """A cell for `layers.RNN`: override `call`, `state_size` and `output_size`.

    Any layer with `state_size` is a cell; this class only names what to define.

    Example:
        >>> from podium.compat import keras
        >>> class SumCell(keras.layers.AbstractRNNCell):
        ...     state_size = output_size = 2
        ...     def call(self, inputs, states):
        ...         total = inputs + states[0]
        ...         return total, [total]
        >>> keras.layers.RNN(SumCell())(np.ones((1, 5, 2), "float32")).numpy()
        array([[5., 5.]], dtype=float32)
    """

    def call(self, inputs: Tensor, states: Tree) -> tuple[Tensor, Tree]:
        """Return the output of a step, and the new states."""
        raise NotImplementedError(
            f"{type(self).__name__} has no `call`: define `call(self, inputs, states)` to return "
            "the output and the new states."
        )

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        raise NotImplementedError(f"{type(self).__name__} has no `state_size`: define it.")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError(f"{type(self).__name__} has no `output_size`: define it.")

    def get_initial_state(
        self,
        inputs: Tensor | None = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> Tree:
        """Return zeros for each state, in the structure of `state_size`.

        Args:
            inputs: A batch, for its size and dtype.
            batch_size: The number of samples, if there are no inputs.
            dtype: The dtype, if there are no inputs.
        """
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], inputs.dtype
        if batch_size is None:
            raise ValueError(
                "get_initial_state was given neither `inputs` nor `batch_size`. Pass one of them."
            )

        def make_zeros(size: Any) -> Tensor:
            dims = size.as_list() if hasattr(size, "as_list") else [size]
            return ops.zeros((batch_size, *dims), dtype or self.compute_dtype)

        return jax.tree.map(make_zeros, self.state_size)
