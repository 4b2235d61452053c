"""Branches, loops and the learning phase of `keras.backend`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from podium import ops
from podium._typing import DTypeLike, TensorLike, Tree
from podium.core import (
    KerasTensor,
    Tensor,
    convert_to_tensor,
    is_symbolic,
    map_structure,
    tree_leaves,
)
from podium.core import stop_gradient as stop_gradient_of_one
from podium.core.internal import override
from podium.layers.internal import calls


def learning_phase() -> int:
    """Return 1 in training, or 0: as `set_learning_phase` has set it, or as the running layer was
    called.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.learning_phase()
        0
    """
    return int(bool(calls.training))


def set_learning_phase(value: int | bool) -> None:
    """Set whether layers that this thread calls without `training` run in training mode.

    `fit`, `evaluate` and `predict` pass `training`, so this does not change them.

    Args:
        value: 1 for training, or 0.

    Example:
        >>> from podium.compat import keras
        >>> with keras.backend.learning_phase_scope(0):
        ...     keras.backend.set_learning_phase(1)
        ...     keras.backend.learning_phase()
        1
    """
    calls.training = _check_phase(value)


@contextlib.contextmanager
def learning_phase_scope(value: int | bool) -> Iterator[None]:
    """Set the learning phase for a `with` block.

    Args:
        value: 1 for training, or 0.

    Example:
        >>> from podium.compat import keras
        >>> with keras.backend.learning_phase_scope(1):
        ...     keras.backend.learning_phase()
        1
    """
    with override(calls, training=_check_phase(value)):
        yield


def _check_phase(value: int | bool) -> bool:
    if value not in (0, 1):
        raise ValueError(f"The learning phase {value!r} was given; 0 or 1 was expected.")
    return bool(value)


def in_train_phase(
    x: TensorLike | Callable[[], TensorLike],
    alt: TensorLike | Callable[[], TensorLike],
    training: TensorLike | None = None,
) -> TensorLike:
    """Return one value in training, and another one otherwise.

    Args:
        x: The value in training, or a function that returns it.
        alt: The other value, or a function that returns it.
        training: Whether this is training; None for the learning phase.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.in_train_phase(1.0, lambda: 2.0, training=False)
        2.0
    """
    if training is None:
        training = learning_phase()
    if isinstance(training, (Tensor, KerasTensor)):
        return switch(training, x, alt)
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


def in_test_phase(
    x: TensorLike | Callable[[], TensorLike],
    alt: TensorLike | Callable[[], TensorLike],
    training: TensorLike | None = None,
) -> TensorLike:
    """Return one value outside of training, and another one in training.

    Args:
        x: The value outside of training, or a function that returns it.
        alt: The other value, or a function that returns it.
        training: Whether this is training; None for the learning phase.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.in_test_phase(1.0, lambda: 2.0, training=False)
        1.0
    """
    return in_train_phase(alt, x, training)


def switch(
    condition: TensorLike,
    then_expression: TensorLike | Callable[[], TensorLike],
    else_expression: TensorLike | Callable[[], TensorLike],
) -> Tensor:
    """Select one of two values, or elements of them.

    Args:
        condition: A scalar; or one value for each element of the first dimensions.
        then_expression: The value where the condition holds, or a function that returns it.
        else_expression: The value elsewhere, or a function that returns it.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.switch([True, False], [1.0, 2.0], lambda: podium.ops.zeros((2,))).numpy()
        array([1., 0.], dtype=float32)
    """
    condition = ops.cast(condition, "bool")
    rank = len(ops.shape(condition))
    is_scalar = not rank and not is_symbolic(condition)
    if is_scalar and callable(then_expression) and callable(else_expression):
        selected: Tensor = ops.cond(condition, then_expression, else_expression)
        return selected
    then_value = then_expression() if callable(then_expression) else then_expression
    else_value = else_expression() if callable(else_expression) else else_expression
    value_rank = len(ops.shape(then_value))
    if rank > value_rank:
        raise ValueError(
            f"switch was given a condition with {rank} dimensions and values with {value_rank}; "
            "the condition may not have more."
        )
    if rank > 1:
        condition = ops.reshape(condition, (*ops.shape(condition), *([1] * (value_rank - rank))))
    return ops.where(condition, then_value, else_value)


def stop_gradient(
    variables: TensorLike | Sequence[TensorLike],
) -> Tensor | list[Tensor]:
    """Return values, of a list for each element, through which no gradient flows.

    Example:
        >>> from podium.compat import keras
        >>> x = podium.Variable(3.0)
        >>> with podium.GradientTape() as tape:
        ...     y = x * keras.backend.stop_gradient(variables=x)
        >>> float(tape.gradient(y, x))
        3.0
    """
    if isinstance(variables, (list, tuple)):
        return [stop_gradient_of_one(variable) for variable in variables]
    constant: Tensor = stop_gradient_of_one(variables)
    return constant


def map_fn(
    fn: Callable[[Tree], Tree],
    elems: Tree,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Tree:
    """Apply a function to each slice along the first axis, and stack the results.

    Args:
        fn: A function of a slice.
        elems: A value, or a structure of them.
        name: Not used.
        dtype: The dtype of the results, if they are to be converted.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.map_fn(lambda x: x * 2, [1, 2]).numpy()
        array([2, 4], dtype=int32)
    """
    result = ops.map(fn, _slices(elems))
    return result if dtype is None else map_structure(lambda leaf: ops.cast(leaf, dtype), result)


def foldl(
    fn: Callable[[Tree, Tree], Tree],
    elems: Tree,
    initializer: Tree = None,
    name: str | None = None,
) -> Tree:
    """Combine the slices along the first axis, from first to last.

    Args:
        fn: A function `(result so far, slice)` that returns the new result.
        elems: A value, or a structure of them.
        initializer: The result before the first slice; None for the first slice.
        name: Not used.

    Example:
        >>> from podium.compat import keras
        >>> int(keras.backend.foldl(lambda total, x: total * 2 + x, [1, 2, 3]))
        11
    """
    return _fold(fn, elems, initializer, reverse=False)


def foldr(
    fn: Callable[[Tree, Tree], Tree],
    elems: Tree,
    initializer: Tree = None,
    name: str | None = None,
) -> Tree:
    """Combine the slices along the first axis, from last to first.

    Args:
        fn: A function `(result so far, slice)` that returns the new result.
        elems: A value, or a structure of them.
        initializer: The result before the last slice; None for the last slice.
        name: Not used.

    Example:
        >>> from podium.compat import keras
        >>> int(keras.backend.foldr(lambda total, x: total * 2 + x, [1, 2, 3]))
        17
    """
    return _fold(fn, elems, initializer, reverse=True)


def _fold(fn: Callable[[Tree, Tree], Tree], elems: Tree, initializer: Tree, reverse: bool) -> Tree:
    elems = _slices(elems)
    if initializer is None:
        first, others = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
        initializer = map_structure(lambda x: x[first], elems)
        elems = map_structure(lambda x: x[others], elems)
    carry, _ = ops.scan(lambda total, x: (fn(total, x), 0), initializer, elems, reverse=reverse)
    return carry


def _slices(elems: Tree) -> Tree:
    """Return a structure of Tensors; a list of numbers is one of them."""
    if any(isinstance(leaf, (Tensor, KerasTensor)) for leaf in tree_leaves(elems)):
        return elems
    if isinstance(elems, tuple):
        return map_structure(convert_to_tensor, elems)
    return convert_to_tensor(elems)
