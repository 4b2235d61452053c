"""What a script does because `podium launch --ray` has started it.

It reports its checkpoints, stops at one when it is asked to, and ends when the launcher does. Ray
and JAX's coordination service find lost workers, so there are no heartbeats of ours: a worker
whose connection breaks exits, and the launcher forms the group again.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import traceback
from types import TracebackType

from podium.distribute._heartbeat import end_process, is_collective_error
from podium.distribute._strategy import Strategy
from podium.distribute.launcher._launcher_connection import launcher_connection

_LOSS_SECONDS = 1.0  # for JAX to report the loss on its own


def report_checkpoint(path: str, position: int) -> None:
    """Report a checkpoint to the launcher, if there is one: it counts losses from the last one.

    Args:
        path: Where the checkpoint was saved.
        position: How far the run is, such as the number of its steps.
    """
    connection = launcher_connection()
    if connection is not None:
        connection.send(f"checkpoint {position} {path}".replace("\n", " "))


def should_grow_at_checkpoint(strategy: Strategy) -> bool:
    """Return whether the launcher wants to form the group again with more workers. All workers must
    call it after the same step; they agree.
    """
    connection = launcher_connection()
    if connection is None or not connection.is_elastic:
        return False
    return bool(strategy.reduce_across_workers(connection.is_growing, how="chief"))


def exit_on_errors(worker: int) -> None:
    """Exit at once after an error of this process: with 1, or with 75 if another worker is the
    cause. A normal exit of JAX would wait for the others.
    """
    previous = sys.excepthook
    statuses: list[int] = []

    def handle(
        kind: type[BaseException], error: BaseException, frames: TracebackType | None
    ) -> None:
        text = "".join(traceback.format_exception_only(kind, error)).strip()
        if is_collective_error(text):
            time.sleep(_LOSS_SECONDS)
            end_process(
                f"podium: worker {worker} has lost its connection to another worker and stops; the "
                f"launcher forms the group again. JAX reported: {text[:500]}"
            )
        statuses.append(1)
        previous(kind, error, frames)

    def leave() -> None:
        if statuses:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(statuses[0])

    sys.excepthook = handle
    atexit.register(leave)
