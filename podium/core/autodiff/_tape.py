"""GradientTape: records what is computed while it is open, and gives gradients of it.

This file owns what users may ask of a tape and the answers to wrong questions. Entries are made in
`_entries.py`; the walk back through them is in `_backward_graph.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from podium.core._tree import map_structure, tree_leaves
from podium.core._validation import check_choice
from podium.core.autodiff._backward_graph import BackwardGraph
from podium.core.autodiff._tape_base import TapeBase
from podium.core.compile._restore_on_error import restore_on_error
from podium.core.tensor._dtypes import is_differentiable
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


class GradientTape(TapeBase):
    """Records operations while its `with` block is open, to differentiate them afterwards.

    Trainable Variables are watched by themselves; watch Tensors with `watch`. It works the same in
    plain Python and inside `podium.function`. Gradients pass through state updates too: after
    `v.assign(2 * x)`, what is computed from `v` has a gradient by `x`.

    Args:
        persistent: Keep the recording, so that gradients can be taken more than once.
        watch_accessed_variables: Watch trainable Variables without being told.

    Example:
        >>> x = podium.Variable(3.0)
        >>> with podium.GradientTape() as outer:
        ...     with podium.GradientTape() as inner:
        ...         y = x * x * x
        ...     dy = inner.gradient(y, x)
        >>> float(dy), float(outer.gradient(dy, x))
        (27.0, 18.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        super().__init__(watch_accessed_variables)
        self._persistent = bool(persistent)
        self._used = False
        self._guard = restore_on_error()

    def __enter__(self) -> GradientTape:
        self._used = False
        self._guard.__enter__()
        self._open()
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()
        self._guard.__exit__(*error)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that recorded operations have read."""
        return tuple(self._variables.values())

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Compute without recording on this tape, for the length of a `with` block."""
        if not self.recording:
            raise RuntimeError(
                "stop_recording() needs an open tape; call it inside the tape's `with` block."
            )
        self.recording = False
        try:
            yield
        finally:
            self.recording = True

    def reset(self) -> None:
        """Forget everything recorded so far, watched values included."""
        self.entries, self._known, self._variables = [], {}, {}
        self._used = False

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = "none",
    ) -> Any:
        """Return the gradient of `target` by each of `sources`, in the structure of `sources`.

        A target that is not a scalar counts as its sum; several targets add up.

        Args:
            target: A Tensor computed on this tape, or a structure of them.
            sources: A Tensor or Variable, or any structure of them.
            output_gradients: Weights for the target's elements, in the structure of `target`.
            unconnected_gradients: What a source gets that the target does not depend on: "none" or
                "zero".

        Returns:
            Tensors (or None) in the structure of `sources`.

        Raises:
            RuntimeError: The tape was used before and is not persistent.
            ValueError: The tape never saw the target.
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources_flat = self._begin("gradient", target, sources, zero)
        seeds: list[Any] = [None] * len(targets)
        if output_gradients is not None:
            given = _matching_seeds(tree_leaves(target), output_gradients)
            seeds = [
                seed
                for leaf, seed in zip(tree_leaves(target), given, strict=True)
                if self._sees(self._node_of_target(leaf))
            ]
        with restore_on_error():
            gradients = iter(
                BackwardGraph(self.entries, targets, sources_flat, self.tracks).gradients(seeds)
            )
        self._end()
        return _fill(sources, gradients, zero)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of every element of `target` by every element of each source.

        The result for a source has shape `target.shape + source.shape`. The last two arguments are
        accepted for TensorFlow's signature and change nothing.

        Example:
            >>> x = podium.Variable([1.0, 2.0])
            >>> with podium.GradientTape() as tape:
            ...     y = x * x
            >>> tape.jacobian(y, x).numpy()
            array([[2., 0.],
                   [0., 4.]], dtype=float32)
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources_flat = self._begin("jacobian", target, sources, zero)
        if len(targets) != 1:
            raise ValueError(
                f"jacobian takes one target; {len(targets)} were given. Call it once for each."
            )
        with restore_on_error():
            jacobians = BackwardGraph(self.entries, targets, sources_flat, self.tracks).jacobians(
                batched=False
            )
        self._end()
        return _fill(sources, iter(jacobians), zero, targets[0].shape)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the Jacobian of each row of `target` by the same row of `source`.

        Row i of the target must depend on row i of the source only. The result has shape
        `(batch,) + target.shape[1:] + source.shape[1:]`.

        Example:
            >>> x = podium.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> with podium.GradientTape() as tape:
            ...     y = x * x
            >>> tape.batch_jacobian(y, x).numpy()[1]
            array([[6., 0.],
                   [0., 8.]], dtype=float32)
        """
        zero = _wants_zero(unconnected_gradients)
        targets, sources = self._begin("batch_jacobian", target, source, zero)
        shapes = (targets[0].shape, sources[0].shape)
        if not shapes[0] or not shapes[1] or shapes[0][0] != shapes[1][0]:
            raise ValueError(
                f"batch_jacobian was given a target of shape {shapes[0]} and a source of shape "
                f"{shapes[1]}; their first dimensions, the batch, must exist and be equal. Use "
                "`jacobian` otherwise."
            )
        with restore_on_error():
            jacobians = BackwardGraph(self.entries, targets, sources, self.tracks).jacobians(
                batched=True
            )
        self._end()
        return _fill(source, iter(jacobians), zero, shapes[0], drop_batch=True)

    def _begin(self, method: str, target: Any, sources: Any, zero: bool) -> tuple[list, list]:
        """Check the call, and return the targets that the tape saw and the flat list of sources."""
        if self._used:
            raise RuntimeError(
                f"tape.{method} was called a second time on a tape that keeps its recording for "
                "one call only. Use `GradientTape(persistent=True)`, or ask for all gradients in "
                "one call."
            )
        if self.recording and not self._persistent:
            self.recording = False  # as in TensorFlow: a one-time tape stops when it is used
        sources_flat = tree_leaves(sources)
        for source in sources_flat:
            if not isinstance(source, (Tensor, Variable)):
                raise TypeError(
                    f"tape.{method} was given a source of type {type(source).__name__}; Tensors "
                    "and Variables were expected. For an array, make a Tensor, watch it and "
                    "compute with it: `x = podium.convert_to_tensor(x); tape.watch(x)`."
                )
        targets = [self._node_of_target(leaf) for leaf in tree_leaves(target)]
        seen = [target for target in targets if self._sees(target)]
        if not seen and not zero:
            raise ValueError(_unseen_target(method, targets[0] if targets else None))
        return seen, sources_flat

    def _node_of_target(self, leaf: Any) -> Any:
        """A Variable as target means its value now: the recorded Tensor it was last assigned, if
        any.
        """
        source = getattr(leaf, "source", None)
        return source if source is not None and self.tracks(source) else leaf

    def _sees(self, target: Any) -> bool:
        return isinstance(target, (Tensor, Variable)) and self.tracks(target)

    def _end(self) -> None:
        if not self._persistent:
            self._used = True
            self.entries, self._known = [], {}


def _unseen_target(method: str, target: Any) -> str:
    if isinstance(target, Tensor) and not is_differentiable(target):
        return f"tape.{method} was given a target of type {target.dtype}, which has no gradient. Compute the target in floats."
    what = (
        f"a {type(target).__name__}"
        if not isinstance(target, Tensor)
        else f"a Tensor of shape {target.shape}"
    )
    return (
        f"tape.{method} was given {what} as target that this tape never saw. The target must be "
        "computed inside the tape's `with` block, by Podium's operators, layers or `podium.ops`, "
        "from trainable Variables or watched Tensors. Check that it is not a NumPy or JAX array, "
        "not computed before the tape was opened, and that what it depends on is trainable or "
        "watched (`tape.watch(x)`). `unconnected_gradients='zero'` gives zeros instead of this "
        "error."
    )


def _wants_zero(unconnected_gradients: Any) -> bool:
    name = getattr(
        unconnected_gradients, "value", unconnected_gradients
    )  # TensorFlow's enum has .value
    return check_choice("unconnected_gradients", str(name).lower(), ("none", "zero")) == "zero"


def _matching_seeds(targets: list, output_gradients: Any) -> list:
    """Return one seed per target; None stands for ones."""
    seeds = jax.tree.leaves(
        output_gradients,
        is_leaf=lambda value: value is None or isinstance(value, (Tensor, Variable)),
    )
    if len(seeds) != len(targets):
        raise ValueError(
            f"output_gradients holds {len(seeds)} values for {len(targets)} targets; give one "
            "for each target."
        )
    return [
        seed if seed is None or isinstance(seed, (Tensor, Variable)) else wrap(jnp.asarray(seed))
        for seed in seeds
    ]


def _fill(
    sources: Any, found: Iterator, zero: bool, outer: tuple = (), drop_batch: bool = False
) -> Any:
    """Put results into the structure of `sources`, with zeros for None where that was asked for."""

    def one(source: Any) -> Any:
        result = next(found)
        if result is None and zero:
            inner = source.shape[1:] if drop_batch else source.shape
            return wrap(jnp.zeros((*outer, *inner), source.dtype))
        return result

    return map_structure(one, sources)
