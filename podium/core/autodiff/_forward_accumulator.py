"""ForwardAccumulator: forward-mode directional derivatives."""

from __future__ import annotations

from typing import Self

import jax.numpy as jnp

from podium._typing import Tree, Value
from podium.core._tree import map_structure, tree_leaves
from podium.core._validation import check_choice
from podium.core.autodiff._backward_graph import BackwardGraph
from podium.core.autodiff._tape_base import TapeBase
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


class ForwardAccumulator(TapeBase):
    """Computes Jacobian-vector products: the derivative of results along given tangents.

    Cheaper than a tape when there are few inputs and many outputs. Around a GradientTape it
    computes Hessian-vector products.

    Args:
        primals: A Tensor or Variable, or a structure of them.
        tangents: Directions, in the same structure and with the same shapes.

    Example:
        >>> x = podium.Variable([2.0, 3.0])
        >>> with podium.ForwardAccumulator(x, podium.Tensor([1.0, 0.0])) as accumulator:
        ...     y = x * x
        >>> accumulator.jvp(y).numpy()
        array([4., 0.], dtype=float32)
    """

    needs_pullback = False

    def __init__(self, primals: Tree, tangents: Tree):
        super().__init__(watch_accessed_variables=False)
        starts, directions = tree_leaves(primals), tree_leaves(tangents)
        if len(starts) != len(directions):
            raise ValueError(
                f"ForwardAccumulator was given {len(starts)} primals and {len(directions)} "
                "tangents; pass one tangent for each primal."
            )
        self._tangents: dict[int, Value] = {}
        for primal, tangent in zip(starts, directions, strict=True):
            self.watch(primal)
            tangent = (
                tangent if isinstance(tangent, (Tensor, Variable)) else wrap(jnp.asarray(tangent))
            )
            if tuple(tangent.shape) != tuple(primal.shape):
                raise ValueError(
                    f"A primal of shape {primal.shape} was given a tangent of shape "
                    f"{tangent.shape}; they must be equal."
                )
            self._tangents[id(primal)] = tangent

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def jvp(self, primals: Tree, unconnected_gradients: str = "none") -> Tree:
        """Return the directional derivative of each result, in the same structure.

        Args:
            primals: Results computed inside the `with` block.
            unconnected_gradients: "none" or "zero", for results that do not depend on the primals.
        """
        zero = (
            check_choice(
                "unconnected_gradients", str(unconnected_gradients).lower(), ("none", "zero")
            )
            == "zero"
        )

        def differentiate(target: Value) -> Value | None:
            if id(target) in self._tangents:
                return self._tangents[id(target)]
            sources = [self._tracked[key] for key in self._tangents]
            graph = BackwardGraph(self.entries, [target], sources, self.tracks)
            if not graph.entries:
                return wrap(jnp.zeros(target.shape, target.dtype)) if zero else None
            was_recording, self.recording = self.recording, False
            try:
                return graph.jvp(self._tangents, target)
            finally:
                self.recording = was_recording

        return map_structure(differentiate, primals)
