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
        if _is_part_of_computation() or not _is_numeric(data):
            return super().__call__(data, *args, **kwargs)
        return self._call_compiled(data, *args, **kwargs)

    @function
    def _call_compiled(self, data: Tree, *args: Any, **kwargs: Any) -> Tree:
        return super().__call__(data, *args, **kwargs)


def _is_part_of_computation() -> bool:
    """Return whether the call is inside of a layer, a trace or an open tape."""
    return calls.depth > 0 or bool(context.tapes) or is_tracing()


def _is_numeric(data: Tree) -> bool:
    """Return whether all leaves are arrays of numbers, and not text or symbolic values."""
    return all(
        isinstance(leaf, (Tensor, jax.Array))
        or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf")
        for leaf in tree_leaves(data)
    )
