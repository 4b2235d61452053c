"""CompiledLayer: a layer that runs as one XLA program where nothing else compiles it.

Inside a compiled step, a model or another layer it is a plain layer. Called by itself, as in
`Dataset.map(layer)`, each call is one program for the shapes of its inputs, instead of one for each
operation.
"""

from __future__ import annotations

from typing import Any

from podium._typing import Tree
from podium.core import function, is_symbolic
from podium.core.internal import context, is_tracing
from podium.layers._call_context import calls
from podium.layers._layer import Layer


class CompiledLayer(Layer):
    """A layer whose outermost call is compiled as a whole. Subclass it like `Layer`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tree:
        """Compute the outputs from the inputs, in one program."""
        if _is_part_of_computation() or is_symbolic((args, kwargs)):
            return super().__call__(*args, **kwargs)
        return self._call_compiled(*args, **kwargs)

    @function
    def _call_compiled(self, *args: Any, **kwargs: Any) -> Tree:
        return super().__call__(*args, **kwargs)


def _is_part_of_computation() -> bool:
    """Return whether the call is inside of a layer, a trace or an open tape."""
    return calls.depth > 0 or bool(context.tapes) or is_tracing()
