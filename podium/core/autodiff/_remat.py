"""Rematerialisation: forget what a call computed on its way, and compute it again when gradients
ask for it.

It trades time for memory. `remat` does it to a function or a layer, a `RematScope` to all layers
made within it.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax

from podium.core._context import context, override
from podium.core._dispatch import is_value, unwrap_result, wrap_result
from podium.core._tree import preserve_key_order
from podium.core._validation import check_choice
from podium.core.autodiff._stateful_call import record_call
from podium.core.compile._restore_on_error import register_thread_local
from podium.core.compile._variable_scope import VariableScope
from podium.core.tensor._symbolic import is_symbolic
from podium.core.tensor._tensor import Tensor, wrap

_MODES = ("full", "activations", "larger_than", "list_of_layers")
_KEPT = frozenset(
    {"dot_general", "conv_general_dilated"}
)  # what "activations" does not compute again


def remat(f: Callable) -> Callable:
    """Return a function (or layer) that keeps nothing for its gradients but its inputs, and
    computes the rest again.

    Use it inside a layer's `call`, or under a tape, around parts whose values between take much
    memory. It may read and write Variables; gradients are the same as without. A layer of a graph
    is wrapped by making it in a `RematScope`.

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
    def again(*args: Any, **kwargs: Any) -> Any:
        if is_symbolic((args, kwargs)):
            raise TypeError(
                "A function made by `remat` was called with symbolic inputs. In a graph, make the "
                "layer within `with podium.RematScope():` and call the layer itself."
            )
        return record_call(
            functools.partial(checkpointed, f),
            args,
            kwargs,
            getattr(f, "trainable_variables", ()),
            False,
        )

    return again


class RematScope:
    """Layers that are made within it compute again, when gradients ask, what they computed on their
    way.

    Args:
        mode: "full" for all layers; "activations" to compute again what layers do after matrix
            products and convolutions; "larger_than" for layers whose outputs have more than
            `output_size_threshold` numbers; "list_of_layers" for those named in `layer_names`; None
            for none, within another scope.
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

    def __enter__(self) -> RematScope:
        _open.scopes = (*_open.scopes, self)
        return self

    def __exit__(self, *_: Any) -> None:
        _open.scopes = _open.scopes[:-1]

    def applied(self, call: Callable, name: str, composite: bool) -> Callable:
        """Return the call of the layer of this name, which may have layers inside, as this scope
        wants it done.
        """
        if self.mode is None or (self.mode == "list_of_layers" and name not in self.layer_names):
            return call
        if self.mode == "activations":  # from outside nobody sees what the layers inside would keep
            return (
                call
                if composite
                else functools.partial(checkpointed, call, _policy=_keeps_products)
            )
        if self.mode == "larger_than":
            return functools.partial(checkpointed, call, _least=self.output_size_threshold)
        return functools.partial(checkpointed, call)


class _Open(threading.local):
    """The scopes that this thread has open."""

    scopes: tuple[RematScope, ...] = ()


_open = register_thread_local(_Open())


def current_remat_scope() -> RematScope | None:
    """Return the innermost open RematScope."""
    return _open.scopes[-1] if _open.scopes else None


def checkpointed(
    f: Callable,
    *args: Any,
    _policy: Callable | None = None,
    _least: int | None = None,
    **kwargs: Any,
) -> Any:
    """Call `f` so that JAX keeps its inputs only (or what the policy wants), where gradients may be
    taken.

    What `f` writes to Variables, and the losses that layers add in it, come out of the part that is
    computed again as results, and are set afterwards.
    """
    leaves, treedef = jax.tree.flatten(preserve_key_order((args, kwargs)), is_leaf=is_value)
    slots = [slot for slot, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    values = [leaves[slot]._value for slot in slots]
    if context.scope is None and not any(isinstance(value, jax.core.Tracer) for value in values):
        return f(*args, **kwargs)  # nobody differentiates
    call = _Call(f, leaves, treedef, slots)
    if _least is not None:
        sizes = [math.prod(output.shape) for output in jax.eval_shape(call, *values)[0]]
        if sum(sizes) <= _least:
            return f(*args, **kwargs)
    return call.done(*jax.checkpoint(call, policy=_policy)(*values))


class _Call:
    """A call with Tensors among its arguments as a pure function of their values."""

    def __init__(self, f: Callable, leaves: list, treedef: Any, slots: list[int]):
        self._f = f
        self._leaves = leaves
        self._treedef = treedef
        self._slots = slots

    def __call__(self, *values: Any) -> tuple[list, list, list, list]:
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

    def done(self, outputs: list, masks: list, written: list, losses: list) -> Any:
        """Set what was written, and put the result together."""
        self._scope.commit_as(written)
        for local, value in zip(self._scope.locals, losses, strict=True):
            local.set(wrap_result(value))
        found = iter(outputs)
        flat = [
            wrap(next(found)) if constant is None else constant[0] for constant in self._constants
        ]
        for leaf, mask in zip(flat, masks, strict=True):
            if mask is not None:
                leaf._keras_mask = wrap_result(mask)
        return jax.tree.unflatten(self._structure, flat)


def _keeps_products(primitive: Any, *_: Any, **__: Any) -> bool:
    return primitive.name in _KEPT
