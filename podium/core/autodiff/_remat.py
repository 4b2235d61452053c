"""Rematerialization: intermediate values are recomputed for gradients instead of stored.

It trades time for memory. `remat` applies it to a function or a layer, a `RematScope` to all layers
created inside it.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import jax

from podium._typing import AnyFunction, P, R, Tree, TreeDef
from podium.core._context import context, override
from podium.core._dispatch import is_value, unwrap_result, wrap_result
from podium.core._public_repr import PublicRepr
from podium.core._tree import preserve_key_order
from podium.core._validation import check_choice
from podium.core.autodiff._stateful_call import record_call
from podium.core.compile._restore_on_error import register_thread_local
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap

if TYPE_CHECKING:
    import jax.extend.core

_MODES = ("full", "activations", "larger_than", "list_of_layers")
# The operations whose results the mode "activations" stores.
_STORED_PRIMITIVES = frozenset({"dot_general", "conv_general_dilated"})


def remat(f: Callable[P, R]) -> Callable[P, R]:
    """Return a function (or layer) that stores only its inputs for gradients, and recomputes the
    intermediate values.

    Use it inside a layer's `call`, or under a tape, around code whose intermediate values take much
    memory. `f` may read and write Variables; gradients are the same as without. To apply it to a
    layer of a graph, create the layer in a `RematScope`.

    Args:
        f: A function of Tensors, or a layer.

    Example:
        >>> w = podium.Variable(3.0)
        >>> squares = podium.remat(lambda x: podium.ops.square(podium.ops.square(x * w)))
        >>> with podium.GradientTape() as tape:
        ...     y = squares(podium.Tensor(1.0))
        >>> float(y), float(tape.gradient(y, w))
        (81.0, 108.0)
    """
    if not callable(f):
        raise TypeError(f"remat was given {f!r}; a function or a layer was expected.")

    @functools.wraps(f, updated=())
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_symbolic((args, kwargs)):
            raise TypeError(
                "A function returned by `remat` was called with symbolic inputs. In a graph, "
                "create the layer within `with podium.RematScope():` and call the layer itself."
            )
        result: R = record_call(
            functools.partial(call_with_remat, f),
            args,
            kwargs,
            getattr(f, "trainable_variables", ()),
            False,
        )
        return result

    return run


class RematScope(PublicRepr):
    """Layers created inside the `with` block recompute their intermediate values for gradients.

    Args:
        mode: "full" for all layers; "activations" to store the results of matrix products and
            convolutions, and recompute the others; "larger_than" for layers whose outputs have more
            than `output_size_threshold` elements; "list_of_layers" for those named in
            `layer_names`; None for no layer, within another scope.
        output_size_threshold: For "larger_than".
        layer_names: For "list_of_layers".

    Example:
        >>> with podium.RematScope():
        ...     hidden = podium.layers.Dense(64, activation="gelu")
        >>> model = podium.Sequential([podium.Input((8,)), hidden, podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((32, 8)), np.zeros((32, 1)), verbose=0)
        >>> len(history.history["loss"])
        1
    """

    def __init__(
        self,
        mode: str | None = "full",
        output_size_threshold: int = 1024,
        layer_names: Sequence[str] | None = None,
    ):
        if mode is not None:
            check_choice("mode", mode, list(_MODES))
        self.mode = mode
        self.output_size_threshold = output_size_threshold
        self.layer_names = list(layer_names or [])

    def __enter__(self) -> Self:
        _open_scopes.scopes = (*_open_scopes.scopes, self)
        return self

    def __exit__(self, *_: object) -> None:
        _open_scopes.scopes = _open_scopes.scopes[:-1]

    def apply_to(self, call: AnyFunction, name: str, composite: bool) -> AnyFunction:
        """Return the `call` of a layer with rematerialization as this scope's mode says.

        Args:
            call: The layer's `call`.
            name: The layer's name.
            composite: Whether it contains other layers.
        """
        if self.mode is None or (self.mode == "list_of_layers" and name not in self.layer_names):
            return call
        if self.mode == "activations":  # a composite layer leaves it to the layers inside
            if composite:
                return call
            return functools.partial(call_with_remat, call, _policy=_is_stored)
        if self.mode == "larger_than":
            return functools.partial(call_with_remat, call, _min_size=self.output_size_threshold)
        return functools.partial(call_with_remat, call)


class _OpenScopes(threading.local):
    """The open scopes of a thread, outermost first."""

    scopes: tuple[RematScope, ...] = ()


_open_scopes = register_thread_local(_OpenScopes())


def current_remat_scope() -> RematScope | None:
    """Return the innermost open RematScope."""
    return _open_scopes.scopes[-1] if _open_scopes.scopes else None


def call_with_remat(
    f: AnyFunction,
    *args: Any,
    _policy: Callable[..., bool] | None = None,
    _min_size: int | None = None,
    **kwargs: Any,
) -> Tree:
    """Call `f` through `jax.checkpoint`, if gradients may be computed.

    What `f` writes to Variables, and the losses that layers add in it, leave the rematerialized
    part as results, and are set afterwards.

    Args:
        f: A function of Tensors.
        *args: Its arguments.
        _policy: The policy of `jax.checkpoint`; by default only inputs are stored.
        _min_size: Call `f` directly if its outputs have at most this many elements.
        **kwargs: Its named arguments.
    """
    leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=is_value)
    slots = [slot for slot, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    values = [leaves[slot]._value for slot in slots]
    if context.scope is None and not any(isinstance(value, jax.core.Tracer) for value in values):
        return f(*args, **kwargs)  # no gradient is computed
    call = _PureCall(f, leaves, treedef, slots)
    if _min_size is not None:
        sizes = [math.prod(output.shape) for output in jax.eval_shape(call, *values)[0]]
        if sum(sizes) <= _min_size:
            return f(*args, **kwargs)
    return call.finish(*jax.checkpoint(call, policy=_policy)(*values))


class _PureCall:
    """A call with Tensors among its arguments, as a pure function of their arrays."""

    def __init__(self, f: AnyFunction, leaves: list[Any], treedef: TreeDef, slots: list[int]):
        self._f = f
        self._leaves = leaves
        self._treedef = treedef
        self._slots = slots

    def __call__(
        self, *values: jax.Array
    ) -> tuple[list[jax.Array], list[Any], list[jax.Array], list[Any]]:
        """Return the arrays of the result, its masks, the written values and the added losses."""
        leaves = list(self._leaves)
        for slot, value in zip(self._slots, values, strict=True):
            leaves[slot] = wrap(value)
            leaves[slot]._keras_mask = self._leaves[slot]._keras_mask
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        scope = VariableScope(parent=context.scope)
        with override(scope=scope, tapes=()):
            result = self._f(*args, **kwargs)
            flat, self._structure = jax.tree.flatten(preserve_key_order(result), is_leaf=is_value)
            masks = [unwrap_result(getattr(leaf, "_keras_mask", None)) for leaf in flat]
            flat = [unwrap_result(leaf) for leaf in flat]
            losses = [unwrap_result(value) for value in scope.locals.values()]
        self._constants = [None if isinstance(leaf, jax.Array) else (leaf,) for leaf in flat]
        self._scope = scope
        written = [value for _, value in scope.writes.values()]
        return [leaf for leaf in flat if isinstance(leaf, jax.Array)], masks, written, losses

    def finish(
        self,
        outputs: list[jax.Array],
        masks: list[Any],
        written: list[jax.Array],
        losses: list[Any],
    ) -> Tree:
        """Assign what was written, and return the result in its structure."""
        self._scope.commit_as(written)
        for local, value in zip(self._scope.locals, losses, strict=True):
            local.set(wrap_result(value))
        remaining = iter(outputs)
        flat = [
            wrap(next(remaining)) if constant is None else constant[0]
            for constant in self._constants
        ]
        for leaf, mask in zip(flat, masks, strict=True):
            if mask is not None:
                leaf._keras_mask = wrap_result(mask)
        return jax.tree.unflatten(self._structure, flat)


def _is_stored(primitive: jax.extend.core.Primitive, *_: object, **__: object) -> bool:
    return primitive.name in _STORED_PRIMITIVES
