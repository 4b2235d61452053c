"""TrainableState: which layers were trainable when a model was compiled, and enforcing it.

`trainable` may change after `compile`, but takes effect with the next `compile` only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from podium.core import warn_user

if TYPE_CHECKING:
    from podium.models._model import Model


class TrainableState:
    """Whether each layer of a model was trainable when it was compiled.

    Args:
        model: The model, at the time of `compile`.
    """

    def __init__(self, model: Model):
        self._at_compile = [(layer, layer.trainable) for layer in model._flatten_layers()]
        self._warned = False

    @contextlib.contextmanager
    def enforce(self, trains: bool) -> Iterator[None]:
        """Inside the block, layers are trainable as they were at `compile`.

        Args:
            trains: Whether the block trains the model; the first time it does, changes since
                `compile` are reported in a warning.
        """
        changed = [
            (layer, layer.trainable)
            for layer, at_compile in self._at_compile
            if layer.trainable != at_compile
        ]
        with_weights = [(layer, now) for layer, now in changed if layer._own_weights()]
        if trains and with_weights and not self._warned:
            self._warned = True
            names = ", ".join(
                f"{layer.name!r} (now trainable={now})" for layer, now in with_weights
            )
            warn_user(
                f"`trainable` was changed after `compile()`: {names}. Which layers are trained is "
                "fixed when a model is compiled, so the change has no effect yet. Call `compile()` "
                "again to train with it."
            )
        for layer, now in changed:
            layer._set_own_trainable(not now)
        try:
            yield
        finally:
            for layer, now in changed:
                layer._set_own_trainable(now)
