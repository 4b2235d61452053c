"""SwapEMAWeights: evaluate with the moving averages of the weights, train with the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.callbacks._callback import Callback
from podium.callbacks._learning_rate import unwrap_optimizers
from podium.core import Variable


class SwapEMAWeights(Callback):
    """Puts the optimizer's moving averages in the place of the weights for evaluation and
    prediction.

    The optimizer must be made with `use_ema=True`. The weights are kept meanwhile, one more copy in
    memory, and put back.

    Args:
        swap_on_epoch: Whether to do so at the end of each epoch as well, until the next begins, for
            the callbacks that come after this one, such as those that save the model.

    Raises:
        ValueError: The optimizer keeps no averages.

    Example:
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1, kernel_initializer="ones")])
        >>> model.optimizer = podium.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
        >>> swap = podium.callbacks.CallbackList(podium.callbacks.SwapEMAWeights(), model=model)
        >>> for _ in range(2):
        ...     model.optimizer.apply([podium.ops.ones((1, 1)), podium.ops.zeros(1)], model.trainable_variables)
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
        self._kept: list[tuple[Variable, Any]] | None = (
            None  # the weights, while the averages are in their place
        )
        self._waiting: list[Any] | None = (
            None  # the same, of a run that goes on, until they are looked at
        )

    def get_state(self) -> dict[str, Any]:
        """Return the weights, if the averages are in their place."""
        return {
            "kept": None if self._kept is None else [np.asarray(value) for _, value in self._kept]
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the weights that wait to be put back; the optimizer must have its averages by
        then.
        """
        self._waiting = state["kept"]

    def on_train_begin(self, logs: Any = None) -> None:
        """Refuse an optimizer without averages, before anything is trained."""
        self._averages()

    def on_train_end(self, logs: Any = None) -> None:
        """After an error, put the weights back; otherwise the model ends with the averages, as
        without this callback.
        """
        if self._ended_by is not None:
            self._put_back()
        self._kept = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Put the weights back."""
        self._put_back()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Put the averages in place, if that was asked for."""
        if self.swap_on_epoch:
            self._put_averages()

    def on_test_begin(self, logs: Any = None) -> None:
        """Put the averages in place."""
        self._put_averages()

    def on_test_end(self, logs: Any = None) -> None:
        """Put the weights back."""
        self._put_back()

    def on_predict_begin(self, logs: Any = None) -> None:
        """Put the averages in place."""
        self._put_averages()

    def on_predict_end(self, logs: Any = None) -> None:
        """Put the weights back."""
        self._put_back()

    def _take_waiting(self) -> None:
        if self._waiting is not None:
            variables = [variable for variable, _ in self._averages()]
            self._kept, self._waiting = list(zip(variables, self._waiting, strict=True)), None

    def _put_averages(self) -> None:
        self._take_waiting()
        if self._kept is None:
            pairs = list(self._averages())
            self._kept = [(variable, variable.value) for variable, _ in pairs]
            for variable, average in pairs:
                variable.assign(average)

    def _put_back(self) -> None:
        self._take_waiting()
        for variable, value in self._kept or ():
            variable.assign(value)
        self._kept = None

    def _averages(self) -> Iterator[tuple[Variable, Variable]]:
        optimizers = [
            one for one in unwrap_optimizers(self.model).values() if getattr(one, "use_ema", False)
        ]
        if not optimizers:
            raise ValueError(
                "SwapEMAWeights swaps in the moving averages of the weights, and the model's "
                "optimizer keeps none. Make it with `use_ema=True`."
            )
        return (
            (variable, slots["average"])
            for optimizer in optimizers
            for variable, slots in optimizer._slots
            if "average" in slots
        )
