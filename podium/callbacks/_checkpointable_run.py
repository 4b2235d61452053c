"""CheckpointableRun: what a running `fit` offers to callbacks that checkpoint it.

`Callback.run_context` and `Callback.on_safepoint` receive it. `models/training/_training_run.py`
implements it; where checkpoints are stored is the callback's decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from podium.saving.internal import CheckpointContents


class CheckpointableRun(Protocol):
    """One `fit` that can be saved and resumed in another process.

    Attributes:
        stage: Where the latest safepoint was: "begin" before the first step of a run that is not
            resumed, "steps" after an execution and the validation that follows it, "epoch_end"
            after an epoch and its `on_epoch_end`.
        new_steps: The number of steps between the latest safepoint and the one before.
    """

    stage: Literal["begin", "steps", "epoch_end"]
    new_steps: int

    def limit_steps(self, max_steps: int) -> None:
        """Let no execution run more steps, unless `steps_per_execution` was set; for
        `run_context`.
        """

    def enable_verification(self) -> None:
        """Keep a batch for `verify`; for `run_context`."""

    def resume_from(
        self,
        contents: CheckpointContents,
        source: str,
        earlier: Iterable[tuple[CheckpointContents, str]] = (),
    ) -> None:
        """Resume the run from a checkpoint when `fit` begins; for `run_context`.

        Args:
            contents: What `state` returned when the checkpoint was saved.
            source: Describes the checkpoint in messages.
            earlier: The checkpoints before it, newest first, to use if it does not fit the model
                and the data. A warning lists the skipped ones. If none fits, `fit`
                raises an error.
        """

    def state(self) -> CheckpointContents:
        """Return all that is needed to resume the run from the latest safepoint."""

    def interrupted_state(self) -> CheckpointContents | None:
        """Return all that is needed to resume a run that is interrupted now; during a validation,
        from before it. None where a run cannot be resumed.
        """

    def verify(self, contents: CheckpointContents, source: str) -> None:
        """Read the next batches and run one step, twice from a state; compare the results, and
        restore the state.

        Raises:
            RuntimeError: The results differ.
        """
