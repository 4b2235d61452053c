"""Course: where a `fit` is, as something that can be saved and continued.

It knows what belongs to a run: the model's state, the place in the data, what callbacks remember,
random numbers. When it is saved, and to where, is decided by callbacks that keep runs, such as
`BackupAndRestore`. Without one it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.callbacks import CallbackList, Logs
from podium.callbacks.internal import running_logs
from podium.core import random_state, set_random_state, warn_user
from podium.data import DataHandler
from podium.execution import Execution
from podium.models.training._validation import Validation
from podium.saving.internal import Contents
from podium.state import restore, snapshot, variables_by_path

_OTHER_DATA = (
    "{where} was saved while training on other data: {then} then, {now} now. The place "
    "in the data would be another one. Give "
    "`fit` the same data and batch size, or begin anew in another directory."
)


class Course:
    """One `fit`, from its first step to its last, over several processes if need be.

    Args:
        model: The model.
        function: What runs its steps.
        data: What it is trained on.
        validation: When and on what it is validated.
        listeners: The callbacks.
    """

    def __init__(
        self,
        model: Any,
        function: Callable,
        data: DataHandler,
        validation: Validation,
        listeners: CallbackList,
    ):
        self.model = model
        self.keepers: list[Any] = [callback for callback in listeners if callback._keeps_run]
        self._function = function
        self._data = data
        self._validation = validation
        self._listeners = listeners
        self._saved: tuple[Contents, str] | None = None  # what to continue from, until that is done
        self._continued: int | None = (
            None  # the epoch that is continued in its middle, until it begins
        )
        self._figures: Any = None  # of the epoch so far, as saved
        self._values: Any = None  # of the last execution
        self._position: Any = None  # in the data, after it
        self._taken = 0  # steps, up to it
        self._between_steps = False
        self._before_validation: Contents | None = None
        self._batch: Any = None  # to try a step on

    def __enter__(self) -> Course:
        if self.keepers:
            self._data.position()  # refuses data that cannot be put back to a place
            self._validation.get_state()
            self._validation.before = self._note_validation
        if any(keeper.verify_resume for keeper in self.keepers):
            self._batch = self._data.peek()
        entered: list[Any] = []
        try:
            for keeper in self.keepers:
                keeper.before_run(self)
                entered.append(keeper)
        except BaseException as error:
            self.keepers = entered
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        for callback in self._listeners:
            callback._is_resuming = False
        for keeper in self.keepers:
            try:
                keeper.after_run(self, error)
            except Exception as failure:
                if error is None:
                    raise
                error.add_note(
                    f"Then {type(keeper).__name__} failed as well: {type(failure).__name__}: "
                    f"{failure}"
                )

    def most_steps(self, other: int | None) -> int | None:
        """Return how many steps may go by at once, if there is a limit."""
        limits = [
            limit
            for limit in (other, *(keeper.most_steps for keeper in self.keepers))
            if limit is not None
        ]
        return min(limits, default=None)

    # --- the way of `fit`

    def resume(self) -> dict[str, Any]:
        """Continue from what was found, if anything was; returns the figures of the last epoch that
        has ended.
        """
        if self._saved is None:
            for keeper in self.keepers:
                keeper.run_begins(self)
            return {}
        (contents, where), self._saved = self._saved, None
        state = contents.state
        if state["fresh"]:  # saved before the first step: the rest is as new
            self._remind_callbacks(state["callbacks"], where)
            return {}
        if state["data"] != self._about_data():
            raise ValueError(
                _OTHER_DATA.format(
                    where=where, then=_told(state["data"]), now=_told(self._about_data())
                )
            )
        self._make_variables(self._data.peek())
        self.put_back(contents, where)
        self._remind_callbacks(state["callbacks"], where)
        self._validation.set_state(state["validation"])
        self._data.seek(state["position"], ended=state["ended"])
        set_random_state(state["random"])  # last: what came before may have drawn
        self._taken = state["taken"]
        if state["ended"]:
            return state["figures"]
        self._continued, self._figures = state["position"]["epoch"], state["figures"]
        return {}

    def _remind_callbacks(self, states: dict[str, Any], where: str) -> None:
        forgotten = self._listeners.set_state(states)
        if forgotten:
            warn_user(
                f"{where} has the state of callbacks that are not here any more: "
                f"{', '.join(forgotten)}."
            )

    def begin_epoch(self, epoch: int) -> Any:
        """Begin an epoch, or go on with it; returns the figures of an epoch that had begun."""
        figures = None
        if epoch == self._continued:
            self._continued, figures = None, self._figures
            self._listeners.on_epoch_resumed(epoch)
        else:
            self.model.reset_metrics()
            self._listeners.on_epoch_begin(epoch)
        if self.keepers:
            self._values, self._position, self._between_steps = figures, self._data.position(), True
            self._validation.after_step(0, self._listeners)  # one that had begun
        return figures

    def after_step(self, values: Any, count: int) -> None:
        """Hear that an execution has ended, everybody has heard of it, and validation, if due, is
        over.
        """
        self._values, self._position, self._before_validation = values, self._data.position(), None
        self._taken += count
        for keeper in self.keepers:
            keeper.after_step(self, count)

    def figures(self, values: Any) -> Logs:
        """Return the figures of an epoch whose steps are over."""
        self._between_steps = False
        return running_logs(values)

    def after_epoch(self, logs: dict[str, Any]) -> None:
        """Hear that an epoch has ended, and everybody has heard of it."""
        self._before_validation = None
        if self.keepers:
            self._figures = dict(logs)
        for keeper in self.keepers:
            keeper.after_epoch(self)

    def _note_validation(self) -> None:
        """Keep where the run is before a validation: it cannot be left in its middle."""
        self._before_validation = self.state()

    # --- what is saved

    def fresh_state(self) -> Contents:
        """Return what there is to save before the first step: what callbacks remember."""
        return Contents({}, {"fresh": True, "callbacks": self._listeners.get_state()})

    def state(self, ended: bool = False) -> Contents:
        """Return all that is needed to go on from here, after `after_step` or, with `ended`, after
        `after_epoch`.
        """
        figures = (
            self._figures
            if ended
            else None
            if self._values is None
            else running_logs(self._values).copy()
        )
        return Contents(
            snapshot(self._variables()),
            {
                "fresh": False,
                "ended": ended,
                "position": self._position,
                "taken": self._taken,
                "figures": figures,
                "data": self._about_data(),
                "validation": self._validation.get_state(),
                "callbacks": self._listeners.get_state(),
                "random": random_state(),
            },
        )

    def state_after_error(self) -> Contents | None:
        """Return where the run was when something broke it off, or None if it was in the middle of
        something.
        """
        if self._before_validation is not None:
            return self._before_validation
        told = self._listeners.implements("on_train_batch_begin")
        if (
            not self._between_steps
            or told
            or self.model.stop_training
            or int(self.model._train_counter) != self._taken
        ):
            return None
        return self.state()

    def state_before_validation(self) -> Contents | None:
        """Return where the run was before the validation that is going on."""
        return self._before_validation

    def continue_from(self, contents: Contents, where: str) -> None:
        """Take what was saved as the place to go on from; files that callbacks write are left as
        they are.
        """
        self._saved = contents, where
        for callback in self._listeners:
            callback._is_resuming = True

    def put_back(self, contents: Contents, where: str) -> None:
        """Set all Variables to what was saved."""
        restore(self._variables(), contents.arrays, where)

    def replay(self, contents: Contents, where: str) -> None:
        """Take one step from what was saved, twice, and see that it comes to the same; then stand
        there again.

        Raises:
            RuntimeError: It does not.
        """
        ends = []
        for _ in range(2):
            self.put_back(contents, where)
            set_random_state(contents.state["random"])
            self._function(iter([self._batch] * int(self.model._steps_per_execution)))
            ends.append({path: variable.numpy() for path, variable in self._variables().items()})
        self.put_back(contents, where)
        set_random_state(contents.state["random"])
        others = [
            path for path, value in ends[0].items() if value.tobytes() != ends[1][path].tobytes()
        ]
        if others:
            raise RuntimeError(
                f"verify_resume: the same step, taken twice from {where}, came to other values of "
                f"{', '.join(others[:5])}. Something that the step depends on is not in the "
                "checkpoint. Keep it in a Variable of the model, and draw random numbers with "
                "`podium.random`."
            )

    def _variables(self) -> dict[str, Any]:
        met = self._function.variables if isinstance(self._function, Execution) else []
        return variables_by_path(self.model, met)

    def _make_variables(self, batch: Any) -> None:
        """Make what comes into being with the first step: slots, sums; a step that runs eagerly
        must be run for that.
        """
        function = self._function
        with self._data._truncate_execution_to_epoch():
            if isinstance(function, Execution) and not function.runs_eagerly:
                function.warm_up(batch)
            else:
                function(iter([batch] * int(self.model._steps_per_execution)))

    def _about_data(self) -> dict[str, Any]:
        adapter = self._data.adapter
        return {
            "kind": adapter.kind,
            "batch_size": adapter.batch_size(),
            "batches": adapter.get_size(),
            "steps": adapter.steps,
        }


def _told(about: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items() if value is not None)
