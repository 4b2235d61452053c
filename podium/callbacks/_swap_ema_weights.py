"""SwapEMAWeights: evaluates with moving averages of the weights, and trains with the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._learning_rate import unwrap_optimizers
from podium.core import Variable


class SwapEMAWeights(Callback):
    """Replaces the weights by the optimizer's moving averages for evaluation and prediction.

    The optimizer must be made with `use_ema=True`. The weights are kept in memory meanwhile and
    restored afterwards.

    Args:
        swap_on_epoch: Whether to swap at the end of each epoch as well, until the next begins, for
            the callbacks after this one, such as those that save the model.

    Raises:
        ValueError: The optimizer has no averages.

    Example:
        >>> dense = podium.layers.Dense(1, kernel_initializer="ones")
        >>> model = podium.Sequential([podium.Input((1,)), dense])
        >>> model.optimizer = podium.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
        >>> swap = podium.callbacks.CallbackList(podium.callbacks.SwapEMAWeights(), model=model)
        >>> gradients = [podium.ops.ones((1, 1)), podium.ops.zeros(1)]
        >>> for _ in range(2):
        ...     model.optimizer.apply(gradients, model.trainable_variables)
        >>> print(float(model.weights[0][0, 0]))
        -1.0
        >>> swap.on_test_begin()
        >>> print(float(model.weights[0][0, 0]))
        -0.5
        >>> swap.on_test_end()
        >>> print(float(model.weights[0][0, 0]))
        -1.0
    """

    every_worker = True

    def __init__(self, swap_on_epoch: bool = False):
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        # The weights, while they are replaced by the averages.
        self._weights: list[tuple[Variable, Any]] | None = None
        # Those of a resumed run, until they are needed.
        self._restored: list[Any] | None = None

    def get_state(self) -> dict[str, Any]:
        """Return the weights, if they are replaced by the averages."""
        return {
            "kept": None
            if self._weights is None
            else [np.asarray(value) for _, value in self._weights]
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the weights of a resumed run; they are used once the optimizer has its
        averages.
        """
        self._restored = state["kept"]

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Raise if the optimizer has no averages, before training begins."""
        self._averages()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights after an error; otherwise the model ends with the averages, as
        without this callback.
        """
        if self._ended_by is not None:
            self._restore_weights()
        self._weights = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights."""
        self._restore_weights()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Use the averages if `swap_on_epoch`."""
        if self.swap_on_epoch:
            self._use_averages()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Use the averages."""
        self._use_averages()

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights."""
        self._restore_weights()

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Use the averages."""
        self._use_averages()

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restore the weights."""
        self._restore_weights()

    def _take_restored(self) -> None:
        if self._restored is not None:
            variables = [variable for variable, _ in self._averages()]
            self._weights, self._restored = list(zip(variables, self._restored, strict=True)), None

    def _use_averages(self) -> None:
        self._take_restored()
        if self._weights is None:
            pairs = list(self._averages())
            self._weights = [(variable, variable.value) for variable, _ in pairs]
            for variable, average in pairs:
                variable.assign(average)

    def _restore_weights(self) -> None:
        self._take_restored()
        for variable, value in self._weights or ():
            variable.assign(value)
        self._weights = None

    def _averages(self) -> Iterator[tuple[Variable, Variable]]:
        optimizers = [
            optimizer
            for optimizer in unwrap_optimizers(self.model).values()
            if getattr(optimizer, "use_ema", False)
        ]
        if not optimizers:
            raise ValueError(
                "SwapEMAWeights swaps in the moving averages of the weights, and the model's "
                "optimizer has none. Make it with `use_ema=True`."
            )
        return (
            (variable, slots["average"])
            for optimizer in optimizers
            for variable, slots in optimizer._slots
            if "average" in slots
        )
