"""Which layers were trainable when a model was compiled, and that they stay so while it is
trained.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from podium.core import warn_user


class TrainableState:
    """What `compile` found: whether each layer was trainable."""

    def __init__(self, model: Any):
        self._compiled = [(layer, layer.trainable) for layer in model._flatten_layers()]
        self._warned = False

    @contextlib.contextmanager
    def enforce(self, trains: bool) -> Iterator[None]:
        """Hold to what was trainable at `compile`, whatever was changed since; warn of such changes
        once, when training.
        """
        changed = [
            (layer, now)
            for layer, at_compile in self._compiled
            if (now := layer.trainable) != at_compile
        ]
        shown = [(layer, now) for layer, now in changed if layer._own_weights()]
        if trains and shown and not self._warned:
            self._warned = True
            names = ", ".join(f"{layer.name!r} (now trainable={now})" for layer, now in shown)
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
