"""GradientTape: records operations while it is open, and differentiates them.

This file owns the public methods, their validation and the structure of their results. Entries are
created in `_entries.py`; `_backward_graph.py` differentiates them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeGuard, overload

import jax
import jax.numpy as jnp

from podium._typing import Shape, TensorLike, Tree, Value
from podium.core._context import context
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

    Trainable Variables are watched automatically; watch Tensors with `watch`. It works the same in
    plain Python and inside `podium.function`. Gradients pass through state updates too: after
    `v.assign(2 * x)`, values computed from `v` have a gradient with respect to `x`.

    Args:
        persistent: Keep the recorded operations, so that gradients can be computed more than once.
        watch_accessed_variables: Watch trainable Variables automatically.

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
        self._restore_on_error = restore_on_error()

    def __enter__(self) -> Self:
        self._used = False
        self._restore_on_error.__enter__()
        self._open()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
        self._restore_on_error.__exit__(error_type, error, traceback)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that the recorded operations read."""
        return tuple(self._variables.values())

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Stop recording on this tape inside a `with` block."""
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
        """Discard the recorded operations and the watched values."""
        self.entries, self._tracked, self._variables = [], {}, {}
        self._used = False

    @overload
    def gradient(
        self,
        target: Tree,
        sources: Value,
        output_gradients: Tree = None,
        unconnected_gradients: str = "none",
    ) -> Tensor: ...

    @overload
    def gradient(
        self,
        target: Tree,
        sources: list[Variable] | list[Tensor] | list[Value],
        output_gradients: Tree = None,
        unconnected_gradients: str = "none",
    ) -> list[Tensor]: ...

    @overload
    def gradient(
        self,
        target: Tree,
        sources: Tree,
        output_gradients: Tree = None,
        unconnected_gradients: str = "none",
    ) -> Tree: ...

    def gradient(
        self,
        target: Tree,
        sources: Tree,
        output_gradients: Tree = None,
        unconnected_gradients: str = "none",
    ) -> Tree:
        """Return the gradient of `target` with respect to each of `sources`.

        A target that is not a scalar is summed, and so are several targets.

        Args:
            target: A Tensor computed on this tape, or a structure of them.
            sources: A Tensor or Variable, or any structure of them.
            output_gradients: Weights of the target's elements, in the structure of `target`.
            unconnected_gradients: The result for a source on which the target does not depend:
                "none" or "zero".

        Returns:
            Tensors (or None) in the structure of `sources`.

        Raises:
            RuntimeError: The tape was used before and is not persistent.
            ValueError: The tape did not record the target.
        """
        zero = _is_zero(unconnected_gradients)
        targets, sources_flat = self._begin("gradient", target, sources, zero)
        seeds: list[Value | None] = [None] * len(targets)
        if output_gradients is not None:
            leaves = tree_leaves(target)
            seeds = [
                seed
                for leaf, seed in zip(leaves, _match_seeds(leaves, output_gradients), strict=True)
                if self._has_recorded(self._recorded_target(leaf))
            ]
        scaler = context.loss_scaler if output_gradients is None else None
        if scaler is not None and not scaler.scales(sources_flat):
            scaler = None
        if scaler is not None:
            seeds = [scaler.make_seed(target) for target in targets]
        with restore_on_error():
            graph = BackwardGraph(self.entries, targets, sources_flat, self.tracks)
            gradients = graph.gradients(seeds)
            if scaler is not None:
                gradients = scaler.unscale(gradients)
        _num_gradients[0] += 1
        self._end()
        return _restore_structure(sources, gradients, zero)

    def jacobian(
        self,
        target: Tree,
        sources: Tree,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tree:
        """Return the derivative of each element of `target` with respect to each element of the
        sources.

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
        zero = _is_zero(unconnected_gradients)
        targets, sources_flat = self._begin("jacobian", target, sources, zero)
        if len(targets) != 1:
            raise ValueError(
                f"jacobian takes one target; {len(targets)} were given. Call it once for each."
            )
        with restore_on_error():
            graph = BackwardGraph(self.entries, targets, sources_flat, self.tracks)
            jacobians = graph.jacobians(batched=False)
        self._end()
        return _restore_structure(sources, jacobians, zero, targets[0].shape)

    def batch_jacobian(
        self,
        target: TensorLike,
        source: TensorLike,
        unconnected_gradients: str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | None:
        """Return the Jacobian of each row of `target` with respect to the same row of `source`.

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
        zero = _is_zero(unconnected_gradients)
        targets, sources = self._begin("batch_jacobian", target, source, zero)
        shapes = (targets[0].shape, sources[0].shape)
        if not shapes[0] or not shapes[1] or shapes[0][0] != shapes[1][0]:
            raise ValueError(
                f"batch_jacobian was given a target of shape {shapes[0]} and a source of shape "
                f"{shapes[1]}; their first dimensions, the batch, must exist and be equal. Use "
                "`jacobian` otherwise."
            )
        with restore_on_error():
            graph = BackwardGraph(self.entries, targets, sources, self.tracks)
            jacobians = graph.jacobians(batched=True)
        self._end()
        result: Tensor | None = _restore_structure(source, jacobians, zero, shapes[0], True)
        return result

    def _begin(
        self, method: str, target: Tree, sources: Tree, zero: bool
    ) -> tuple[list[Value], list[Value]]:
        """Validate the call, and return the recorded targets and the flat list of sources."""
        if self._used:
            raise RuntimeError(
                f"tape.{method} was called a second time on a tape that is not persistent. Use "
                "`GradientTape(persistent=True)`, or compute all gradients in one call."
            )
        if self.recording and not self._persistent:
            self.recording = False  # as in TensorFlow: the gradient itself is not recorded
        sources_flat = tree_leaves(sources)
        for source in sources_flat:
            if not isinstance(source, (Tensor, Variable)):
                raise TypeError(
                    f"tape.{method} was given a source of type {type(source).__name__}; Tensors "
                    "and Variables were expected. For an array, make a Tensor, watch it and "
                    "compute with it: `x = podium.convert_to_tensor(x); tape.watch(x)`."
                )
        targets = [self._recorded_target(leaf) for leaf in tree_leaves(target)]
        recorded = [target for target in targets if self._has_recorded(target)]
        if not recorded and not zero:
            raise ValueError(_unrecorded_target(method, targets[0] if targets else None))
        return recorded, sources_flat

    def _recorded_target(self, leaf: Any) -> Any:
        """Return a target as it was recorded: for a Variable, the Tensor last assigned to it."""
        source = getattr(leaf, "source", None)
        return source if source is not None and self.tracks(source) else leaf

    def _has_recorded(self, target: object) -> TypeGuard[Value]:
        return isinstance(target, (Tensor, Variable)) and self.tracks(target)

    def _end(self) -> None:
        if not self._persistent:
            self._used = True
            self.entries, self._tracked = [], {}


_num_gradients = [0]  # calls of `gradient` in this process


def count_gradients() -> int:
    """Return how many times tapes have computed gradients in this process."""
    return _num_gradients[0]


def _unrecorded_target(method: str, target: object) -> str:
    if isinstance(target, Tensor) and not is_differentiable(target):
        return (
            f"tape.{method} was given a target of dtype {target.dtype}, which has no gradient. "
            "Compute the target in floats."
        )
    description = (
        f"a {type(target).__name__}"
        if not isinstance(target, Tensor)
        else f"a Tensor of shape {target.shape}"
    )
    return (
        f"tape.{method} was given {description} as target that this tape did not record. The "
        "target must be computed inside the tape's `with` block, by Podium's operators, layers or "
        "`podium.ops`, from trainable Variables or watched Tensors. Check that it is not a NumPy "
        "or JAX array, not computed before the tape was opened, and that it depends on trainable "
        "Variables or on watched Tensors (`tape.watch(x)`). `unconnected_gradients='zero'` returns "
        "zeros instead of this error."
    )


def _is_zero(unconnected_gradients: object) -> bool:
    # TensorFlow's enum has `.value`.
    name = getattr(unconnected_gradients, "value", unconnected_gradients)
    return check_choice("unconnected_gradients", str(name).lower(), ("none", "zero")) == "zero"


def _match_seeds(targets: list[Any], output_gradients: Tree) -> list[Value | None]:
    """Return one seed per target; None means ones."""
    seeds = jax.tree.leaves(
        output_gradients,
        is_leaf=lambda value: value is None or isinstance(value, (Tensor, Variable)),
    )
    if len(seeds) != len(targets):
        raise ValueError(
            f"output_gradients has {len(seeds)} values for {len(targets)} targets; pass one for "
            "each target."
        )
    return [
        seed if seed is None or isinstance(seed, (Tensor, Variable)) else wrap(jnp.asarray(seed))
        for seed in seeds
    ]


def _restore_structure(
    sources: Tree,
    results: Sequence[Tensor | None],
    zero: bool,
    target_shape: Shape = (),
    drop_batch: bool = False,
) -> Tree:
    """Return results in the structure of `sources`, with zeros for None if `zero` is set."""
    remaining = iter(results)

    def fill(source: Value) -> Tensor | None:
        result = next(remaining)
        if result is None and zero:
            source_shape = source.shape[1:] if drop_batch else source.shape
            return wrap(jnp.zeros((*target_shape, *source_shape), source.dtype))
        return result

    return map_structure(fill, sources)
