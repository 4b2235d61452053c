"""KerasTensor: a symbolic value with a shape and a dtype, and no data. `Input` creates them.

An operation on one adds a `Node` to a graph instead of computing. A Node has the callable, its
arguments and its outputs; `podium.models` builds models from Nodes. A dimension of None has any
size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import jax
import numpy as np

from podium._typing import AnyFunction, DTypeLike, ShapeLike, SymbolicShape, TensorLike, Tree
from podium.core._context import override
from podium.core._names import auto_name
from podium.core._public_repr import PublicRepr
from podium.core._tree import map_structure, preserve_key_order, tree_leaves
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._operators import Operators
from podium.core.tensor._text_arrays import StringDType, is_string_dtype

# Sizes that replace None when shapes are inferred, in pairs. A dimension that differs between the
# two of a pair is None in the result. Layers inside are built during the first of the two, with
# None in its place: hardly any weight has that size. The two differ a lot, so that code which
# branches on a size takes both branches. What fails for one pair is tried with the next: larger
# sizes for deep stacks of strided layers, small ones for tables of limited length, and multiples of
# all small ints for shapes that are divided by one.
_PLACEHOLDER_SIZES = ((5184, 32), (5184, 192), (72, 24), (55440, 27720), (18, 6), (6, 2))


class KerasTensor(Operators["KerasTensor"]):
    """A symbolic value: its shape, its dtype and the Node of the graph that computes it.

    Args:
        shape: The shape with the batch dimension; None for unknown sizes.
        dtype: The dtype, float32 by default; "string" for text.
        name: A name, by default `keras_tensor`, `keras_tensor_1`, ...

    Example:
        >>> x = podium.KerasTensor((None, 3), name="x")
        >>> (x * 2 + 1).shape
        (None, 3)
    """

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike | None = "float32", name: str | None = None
    ):
        self.shape: SymbolicShape = _check_shape(shape)
        self.dtype: np.dtype[Any] = _as_dtype(dtype)
        self.name = name or auto_name("keras_tensor")
        self.node: Node | None = None  # the Node that computes this value
        self.index = 0  # the position among the Node's outputs
        self._keras_mask: KerasTensor | None = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape or self.shape[0] is None:
            raise TypeError(f"{self!r} has no len(): the size of its first dimension is not known.")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype.name}, name={self.name}>"

    def _no_data_error(self, requested: str) -> TypeError:
        return TypeError(
            f"{requested} was requested from {self!r}, a symbolic value from `Input` that has no "
            "data. Use functions of `podium.ops` or layers on it; it has values when the model is "
            "called."
        )

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        raise self._no_data_error("A NumPy array")

    def __jax_array__(self) -> NoReturn:
        raise self._no_data_error("A JAX function's result")

    def __bool__(self) -> bool:
        raise self._no_data_error("bool()")

    def __float__(self) -> float:
        raise self._no_data_error("float()")

    def __int__(self) -> int:
        raise self._no_data_error("int()")

    def numpy(self) -> np.ndarray[Any, Any]:
        """Raise a TypeError: a symbolic value has no data."""
        raise self._no_data_error("numpy()")


def _as_dtype(dtype: DTypeLike | None) -> Any:
    if is_string_dtype(dtype):
        return StringDType()
    return np.dtype(jax.numpy.dtype(standardize_dtype(dtype)))


def _flatten(symbol: KerasTensor) -> NoReturn:
    raise symbol._no_data_error("A JAX function's result")


# Raw JAX flattens its arguments, so `jnp.sum(symbolic)` raises the error from here.
jax.tree_util.register_pytree_node(KerasTensor, _flatten, lambda _, children: children)


class Node(PublicRepr):
    """One operation of a graph: `run(*args, **kwargs)` with symbolic leaves, and its outputs.

    Args:
        run: The layer or function that computes the outputs.
        args: Positional arguments; leaves may be KerasTensors.
        kwargs: Named arguments; leaves may be KerasTensors.
        outputs: The structure of KerasTensors that it returned.
        layer: The layer, if `run` is one.

    Example:
        >>> x = podium.Input((3,), name="x")
        >>> node = (x * 2).node
        >>> node.name, [symbol.name for symbol in node.inputs]
        ('multiply', ['x'])
    """

    def __init__(
        self,
        run: AnyFunction,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: Tree,
        layer: Any = None,
    ):
        self.run = run
        self.args = args
        self.kwargs = kwargs
        self.outputs = outputs
        self.layer = layer
        self.inputs = [
            leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, KerasTensor)
        ]
        for index, output in enumerate(tree_leaves(outputs)):
            if isinstance(output, KerasTensor):
                output.node, output.index = self, index

    @property
    def name(self) -> str:
        """The layer's name, or the name of the function."""
        if self.layer is not None:
            return str(self.layer.name)
        return str(getattr(self.run, "__name__", type(self.run).__name__)).strip("_")


def is_keras_tensor(x: object) -> bool:
    """Return whether a value is symbolic: made by `Input`, or computed from such a value.

    Example:
        >>> podium.core.is_keras_tensor(podium.Input((3,))), podium.core.is_keras_tensor(1.0)
        (True, False)
    """
    return isinstance(x, KerasTensor)


def is_symbolic(value: Tree) -> bool:
    """Return whether a structure contains a KerasTensor.

    Example:
        >>> podium.core.is_symbolic({"x": podium.Input((3,))}), podium.core.is_symbolic([1.0])
        (True, False)
    """
    return any(isinstance(leaf, KerasTensor) for leaf in tree_leaves(value))


def refuse_text(name: str) -> NoReturn:
    """Raise an error for text that is passed to another layer than those for it."""
    raise TypeError(
        f"{name!r} is text (dtype string), which only the preprocessing layers accept: "
        "StringLookup, TextVectorization, Hashing, HashedCrossing. Pass it to one of them first."
    )


def symbolic_outputs(fn: AnyFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tree:
    """Return the shapes and dtypes that `fn` returns for symbolic arguments, as KerasTensors.

    `fn` receives bare arrays for KerasTensors. It is traced once, or twice if a dimension is
    unknown; more often if it fails for the sizes that replace unknown ones.
    """
    values = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, KerasTensor)]
    texts = [value.name for value in values if is_string_dtype(value.dtype)]
    if texts:
        refuse_text(texts[0])

    def infer_shapes(placeholder_size: int | None) -> Tree:
        specs = [
            jax.ShapeDtypeStruct([placeholder_size if d is None else d for d in v.shape], v.dtype)
            for v in values
        ]

        def run(arrays: list[jax.Array]) -> Tree:
            remaining = iter(arrays)
            filled_args, filled_kwargs = map_structure(
                lambda leaf: next(remaining) if isinstance(leaf, KerasTensor) else leaf,
                (args, kwargs),
            )
            return preserve_key_order(fn(*filled_args, **filled_kwargs))

        with override(placeholder_size=placeholder_size):
            return jax.eval_shape(run, specs)

    if all(dimension is not None for value in values for dimension in value.shape):
        return map_structure(_merge_shapes, *[infer_shapes(None)] * 2)
    first_error: Exception | None = None
    for pair in _PLACEHOLDER_SIZES:
        try:
            specs = [infer_shapes(size) for size in pair]
        except Exception as error:
            first_error = first_error or error
        else:
            return map_structure(_merge_shapes, *specs)
    assert first_error is not None
    raise first_error


def get_source_inputs(tensor: TensorLike) -> list[KerasTensor] | TensorLike:
    """List the inputs of a graph that a symbolic value depends on, each once.

    Args:
        tensor: A symbolic value; any other value is returned as it is.

    Example:
        >>> a, b = podium.Input((2,), name="a"), podium.Input((2,), name="b")
        >>> [x.name for x in podium.utils.get_source_inputs(a * 2 + b)]
        ['a', 'b']
    """
    if not isinstance(tensor, KerasTensor):
        return tensor
    sources: dict[int, KerasTensor] = {}
    visited: set[int] = set()
    pending = [tensor]
    while pending:
        symbol = pending.pop()
        if id(symbol) in visited:
            continue
        visited.add(id(symbol))
        if symbol.node is None or not symbol.node.inputs:
            sources[id(symbol)] = symbol
        else:
            pending.extend(reversed(symbol.node.inputs))
    return list(sources.values())


def _merge_shapes(a: jax.ShapeDtypeStruct, b: jax.ShapeDtypeStruct) -> KerasTensor:
    if len(a.shape) != len(b.shape):
        raise ValueError(
            f"the number of dimensions of the result depends on a size that is not known: shapes "
            f"{a.shape} and {b.shape} were returned for two sizes."
        )
    sizes = zip(a.shape, b.shape, strict=True)
    return KerasTensor([x if x == y else None for x, y in sizes], a.dtype)


def _check_shape(shape: ShapeLike) -> SymbolicShape:
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    try:
        dimensions = tuple(None if d is None else int(d) for d in shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"shape={shape!r} was given; a tuple of ints and None was expected, such as (None, 32)."
        ) from error
    if any(d is not None and d < 0 for d in dimensions):
        raise ValueError(
            f"shape={shape!r} has a negative size; use None for a size that is not known."
        )
    return dimensions
