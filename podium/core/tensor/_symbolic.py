"""KerasTensor: a value that does not exist yet, only its shape and type. `Input` makes them.

An operation on one adds a `Node` to a graph instead of computing. A Node knows what to run, what it
was given and what came out; `podium.models` walks Nodes to make a model. Dimensions of None are any
size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from podium.core._names import auto_name
from podium.core._tree import map_structure, preserve_key_order, tree_leaves
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._operators import Operators

# Sizes that stand in for None when shapes are worked out. A dimension that differs between two runs
# is unknown in the result. Multiples of 32, so that five halvings stay even on the way back up.
_STAND_INS = (288, 320)


class KerasTensor(Operators):
    """A symbolic value: shape, type and the graph Node it comes from.

    Args:
        shape: The shape with the batch dimension; None for unknown lengths.
        dtype: The type, float32 by default.
        name: A name, by default `keras_tensor`, `keras_tensor_1`, ...

    Example:
        >>> x = podium.KerasTensor((None, 3), name="x")
        >>> (x * 2 + 1).shape
        (None, 3)
    """

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None):
        self.shape: tuple[int | None, ...] = _checked_shape(shape)
        self.dtype = np.dtype(jax.numpy.dtype(standardize_dtype(dtype)))
        self.name = name or auto_name("keras_tensor")
        self.node: Node | None = (
            None  # the Node that makes this value; None for a free-standing one
        )
        self.index = 0  # which of the Node's outputs it is
        self._keras_mask: Any = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape or self.shape[0] is None:
            raise TypeError(f"{self!r} has no len(): its first dimension is not a known number.")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype.name}, name={self.name}>"

    def _refuse(self, what: str) -> TypeError:
        return TypeError(
            f"{what} was asked of {self!r}, a symbolic value from `Input` that holds no numbers "
            "yet. Use functions of `podium.ops` or layers on it; numbers come when the model is "
            "called."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise self._refuse("A NumPy array")

    def __jax_array__(self) -> Any:
        raise self._refuse("A JAX function's result")

    def __bool__(self) -> bool:
        raise self._refuse("bool()")

    def __float__(self) -> float:
        raise self._refuse("float()")

    def __int__(self) -> int:
        raise self._refuse("int()")

    def numpy(self) -> np.ndarray:
        """Refused: a symbolic value holds no numbers."""
        raise self._refuse("numpy()")


def _refuse_raw_jax(symbol: KerasTensor) -> tuple:
    raise symbol._refuse("A JAX function's result")


# Raw JAX looks into pytrees: this is where `jnp.sum(symbolic)` gets its explanation.
jax.tree_util.register_pytree_node(KerasTensor, _refuse_raw_jax, lambda _, children: children)


class Node:
    """One step of a graph: `run(*args, **kwargs)` with symbolic leaves, and the outputs it made.

    Args:
        run: What computes the outputs: a layer, or a function that goes through `dispatch`.
        args: Positional arguments; leaves may be KerasTensors.
        kwargs: Named arguments; leaves may be KerasTensors.
        outputs: The structure of KerasTensors that came out.
        layer: The layer, when `run` is one.

    Example:
        >>> x = podium.Input((3,), name="x")
        >>> node = (x * 2).node
        >>> node.name, [symbol.name for symbol in node.inputs]
        ('multiply', ['x'])
    """

    def __init__(self, run: Callable, args: tuple, kwargs: dict, outputs: Any, layer: Any = None):
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
            return self.layer.name
        return getattr(self.run, "__name__", type(self.run).__name__).strip("_")


def is_symbolic(value: Any) -> bool:
    """Tell whether a structure holds a KerasTensor.

    Example:
        >>> podium.core.is_symbolic({"x": podium.Input((3,))}), podium.core.is_symbolic([1.0])
        (True, False)
    """
    return any(isinstance(leaf, KerasTensor) for leaf in tree_leaves(value))


def symbolic_outputs(fn: Callable, args: tuple, kwargs: dict) -> Any:
    """Work out, without computing, what `fn` returns for symbolic arguments; None dimensions stay
    None.

    `fn` gets bare arrays where the arguments hold KerasTensors. It is traced once, or twice when a
    dimension is unknown.
    """
    values = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, KerasTensor)]

    def shapes(stand_in: int) -> Any:
        specs = [
            jax.ShapeDtypeStruct([stand_in if d is None else d for d in v.shape], v.dtype)
            for v in values
        ]

        def run(arrays: list[Any]) -> Any:
            found = iter(arrays)
            filled_args, filled_kwargs = map_structure(
                lambda leaf: next(found) if isinstance(leaf, KerasTensor) else leaf, (args, kwargs)
            )
            return preserve_key_order(fn(*filled_args, **filled_kwargs))

        return jax.eval_shape(run, specs)

    first = shapes(_STAND_INS[0])
    unknown = any(dimension is None for value in values for dimension in value.shape)
    second = shapes(_STAND_INS[1]) if unknown else first

    def merge(a: Any, b: Any) -> KerasTensor:
        dims = [x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)]
        return KerasTensor(dims, a.dtype)

    return map_structure(merge, first, second)


def _checked_shape(shape: Any) -> tuple[int | None, ...]:
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    try:
        dims = tuple(None if d is None else int(d) for d in shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"shape={shape!r} was given; a tuple of whole numbers and None was expected, such as "
            "(None, 32)."
        ) from error
    if any(d is not None and d < 0 for d in dims):
        raise ValueError(
            f"shape={shape!r} has a negative length; use None for a length that is not known."
        )
    return dims
