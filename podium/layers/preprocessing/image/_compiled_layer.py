"""CompiledLayer: a layer that runs as one XLA program where nothing else compiles it.

Inside a compiled step, a model or another layer it is a plain layer. Called by itself, as in
`Dataset.map(layer)`, each call is one program for the shapes of its inputs, instead of one for each
operation.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium._typing import Tree
from podium.core import Tensor, function, tree_leaves
from podium.core.internal import context, is_tracing
from podium.layers._call_context import calls
from podium.layers._layer import Layer


class CompiledLayer(Layer):
    """A layer whose outermost call is compiled as a whole. Subclass it like `Layer`."""

    def __call__(self, data: Tree, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs from the inputs, in one program."""
        if can_compile_call(data):
            return self._call_compiled(data, *args, **kwargs)
        return super().__call__(data, *args, **kwargs)

    @function
    def _call_compiled(self, data: Tree, *args: Any, **kwargs: Any) -> Tree:
        return super().__call__(data, *args, **kwargs)


def can_compile_call(data: Tree) -> bool:
    """Return whether a call is not part of a layer, a trace or an open tape, and all its data are
    arrays of numbers, and not text or symbolic values.
    """
    return (
        calls.depth == 0
        and not context.tapes
        and all(map(_is_numeric, tree_leaves(data)))
        and not is_tracing()
    )


def _is_numeric(leaf: object) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "biuf"
    return isinstance(leaf, (Tensor, jax.Array))
