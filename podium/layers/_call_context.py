"""The context and the arguments of layer calls: signatures, `training`, conversion, shapes.

`CallSignature` inspects `call` once per layer. `calls` is a thread-local with the `training` flag
of the running layers and their depth, from which the outermost layer is known.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from podium._typing import Tree
from podium.core import KerasTensor, Tensor, Variable, convert_to_tensor, map_structure, tree_leaves
from podium.core.internal import is_string_dtype, override, register_thread_local


class _Calls(threading.local):
    training: bool | None = None
    depth: int = 0


calls = register_thread_local(_Calls())


def inside_call(training: bool | None) -> override[bool]:
    """Mark that a layer is being called; the `with` block gets whether it is the outermost one."""
    return override(
        calls,
        enter_result=calls.depth == 0,
        training=calls.training if training is None else training,
        depth=calls.depth + 1,
    )


class CallSignature:
    """The parameters of a `call` method."""

    def __init__(self, call: Callable[..., Any]):
        self._signature = inspect.signature(call)
        parameters = self._signature.parameters
        self.names = [
            n
            for n, p in parameters.items()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self.has_kwargs = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self.has_args = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
        self.all_names = set(parameters)
        self.has_training = "training" in parameters or self.has_kwargs
        self.has_mask = "mask" in parameters
        self.training_default = parameters["training"].default if "training" in parameters else None
        self.first = self.names[0] if self.names else None

    def bind(
        self, layer_name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the passed arguments by name."""
        try:
            bound = self._signature.bind_partial(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"Layer {layer_name!r} was called with wrong arguments: {error}. Its signature is "
                f"{self._signature}."
            ) from error
        return dict(bound.arguments)

    def unbind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return named arguments as positional and keyword arguments."""
        known = {name: value for name, value in arguments.items() if name in self.all_names}
        extra = {name: value for name, value in arguments.items() if name not in self.all_names}
        bound = inspect.BoundArguments(
            self._signature,
            {name: known[name] for name in self._signature.parameters if name in known},
        )
        return bound.args, bound.kwargs | extra


def resolve_training(
    signature: CallSignature, arguments: dict[str, Any], training: Any
) -> bool | None:
    """Return `training`: the argument, else that of the enclosing layer, else the default.

    The argument for `call` is set accordingly.
    """
    _check_training(signature, training)
    if isinstance(training, (Tensor, np.bool_)):
        training = bool(training)
    resolved: bool | None = calls.training if training is None else training
    if "training" in signature.all_names:
        required = signature.training_default is inspect.Parameter.empty
        if resolved is not None:
            arguments["training"] = resolved
        elif required:
            arguments["training"] = False
        elif "training" in arguments and signature.training_default is not None:
            arguments["training"] = signature.training_default
    elif "training" in arguments:
        arguments["training"] = resolved
    return resolved


def _check_training(signature: CallSignature, training: Any) -> None:
    """Raise for data in the place of the flag `training`, as in `model(a, b)`."""
    shape = getattr(training, "shape", ())
    if shape or isinstance(training, (str, list, tuple, dict)):
        described = f"an array of shape {tuple(shape)}" if shape else repr(training)
        call = f"call({', '.join(signature.names)})"
        raise TypeError(
            f"`training` was given {described}; True, False or None was expected. In the signature "
            f"`{call}` it is the argument after the inputs: pass several inputs as one list, "
            "`model([a, b])`."
        )


def convert_arguments(value: Tree, compute_dtype: str | None) -> Tree:
    """Convert arrays to Tensors, at any depth, and floats to the compute dtype."""
    if isinstance(value, (list, tuple)) and value and _is_numbers(value):
        value = convert_to_tensor(value)

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic, jax.Array)):
            leaf = convert_to_tensor(leaf)
        if not isinstance(leaf, (Tensor, KerasTensor, Variable)):
            return _from_foreign(leaf)
        if (
            compute_dtype is not None
            and leaf.dtype != compute_dtype
            and not is_string_dtype(leaf.dtype)
            and jax.numpy.issubdtype(leaf.dtype, np.floating)
        ):
            mask = getattr(leaf, "_keras_mask", None)
            if isinstance(leaf, KerasTensor):  # the layer casts it itself when the graph runs
                leaf = KerasTensor(leaf.shape, compute_dtype, leaf.name)
            else:
                leaf = convert_to_tensor(leaf, compute_dtype)
            leaf._keras_mask = mask
        return convert_to_tensor(leaf) if isinstance(leaf, Variable) else leaf

    return map_structure(convert, value)


def keep_references(converted: Tree, original: Tree) -> Tree:
    """Return `converted` with the Variables and symbolic values of `original` as they were."""
    kept = (Variable, KerasTensor)
    if not any(isinstance(leaf, kept) for leaf in tree_leaves(original)):
        return converted
    return map_structure(
        lambda new, old: old if isinstance(old, kept) else new, converted, original
    )


def _is_numbers(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_numbers, value))
    return isinstance(value, (bool, int, float, np.generic))


def _from_foreign(leaf: Any) -> Any:
    """Convert arrays of torch, TensorFlow and others, which have `__array__`."""
    if hasattr(leaf, "__array__") and not isinstance(leaf, type) and hasattr(leaf, "dtype"):
        return convert_to_tensor(np.asarray(leaf))
    return leaf


def is_tensor_like(value: Tree) -> bool:
    """Return whether a value, or each leaf of a structure, is a tensor or an array."""
    leaves = jax.tree.leaves(
        value, is_leaf=lambda v: isinstance(v, (Tensor, KerasTensor, Variable))
    )
    return bool(leaves) and all(
        isinstance(leaf, (Tensor, KerasTensor, jax.Array)) for leaf in leaves
    )


def shapes_of(value: Tree) -> Tree:
    """Return the shape of a Tensor, or the structure of shapes of a structure."""
    if isinstance(value, dict):
        return {key: shapes_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return (
            [shapes_of(item) for item in value]
            if isinstance(value, list)
            else tuple(shapes_of(i) for i in value)
        )
    return None if value is None else tuple(value.shape)


def is_shape(value: object) -> bool:
    """Return whether `value` is a shape, and not a structure of shapes."""
    return isinstance(value, (tuple, list)) and all(
        d is None or isinstance(d, (int, np.integer)) for d in value
    )


def map_shapes(fn: Callable[[Any], Any], shapes: Tree) -> Tree:
    """Apply `fn` to every shape in a structure of shapes; None stays None."""
    if shapes is None:
        return None
    if is_shape(shapes):
        return fn(tuple(shapes))
    if isinstance(shapes, dict):
        return {key: map_shapes(fn, value) for key, value in shapes.items()}
    return type(shapes)(map_shapes(fn, value) for value in shapes)
