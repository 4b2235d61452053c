"""SidecarEvaluator: evaluates the checkpoints of a training run, in another process.

It finds new checkpoints and evaluates them. Reading them is `Model.load_weights`; which of them is
the best is decided by a callback, such as `SidecarEvaluatorModelExport`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from podium._typing import PathLike, Tree
from podium.callbacks import Callback, CallbackList
from podium.core import warn_user
from podium.core.internal import PublicRepr, check_int
from podium.models import Model

_POLL_SECONDS = 0.5
_WARN_SECONDS = 30.0
_MAX_ATTEMPTS = 5  # to read a checkpoint, which may be written at this moment
_SUFFIX = re.compile(r"(\.index|\.weights\.h5|\.keras|\.h5|\.hdf5|\.safetensors)$")
_NUMBER = re.compile(r"(\d+)$")


class _Checkpoint(NamedTuple):
    """A checkpoint in a directory; newer ones compare greater.

    Attributes:
        changed: When it was written.
        number: The number at the end of its name; -1 if there is none.
        path: What `Model.load_weights` takes.
    """

    changed: int
    number: int
    path: str


class SidecarEvaluator(PublicRepr):
    """Evaluates the checkpoints that a training run writes, as they appear, in another process.

    Training does not wait for the evaluation. If checkpoints are written faster than they are
    evaluated, only the newest one is. The training program writes them with
    `ModelCheckpoint(filepath="dir/ckpt-{epoch}", save_weights_only=True)`, or in any other format
    that `Model.load_weights` reads, with a number before the suffix.

    Args:
        model: The model, compiled with the loss and the metrics to compute; it needs the same
            layers as the one that is trained.
        data: What `Model.evaluate` takes as `x`: something that can be iterated over again.
        checkpoint_dir: The directory in which the checkpoints appear; it need not exist yet.
        steps: The number of batches of an evaluation; all by default.
        max_evaluations: `start` returns after it has evaluated a checkpoint of this number, or a
            higher one, at the end of its name, such as `ckpt-10`: the number of epochs. None to
            evaluate until the process is ended.
        callbacks: Callbacks; the hooks of evaluation are called.

    Raises:
        ValueError: `max_evaluations` or `steps` is not positive.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> data = podium.data.Dataset.from_tensor_slices((np.ones((4, 1)), np.zeros((4, 1))))
        >>> results = []
        >>> callback = podium.callbacks.LambdaCallback(
        ...     on_test_end=lambda logs: results.append(list(logs))
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save_weights(os.path.join(folder, "ckpt-3.weights.h5"))  # by training
        ...     evaluator = podium.utils.SidecarEvaluator(
        ...         model, data.batch(2), folder, max_evaluations=3, callbacks=[callback]
        ...     )
        ...     evaluator.start()
        2/2 - ...
        >>> results
        [['loss']]
    """

    def __init__(
        self,
        model: Model,
        data: Tree,
        checkpoint_dir: PathLike,
        steps: int | None = None,
        max_evaluations: int | None = None,
        callbacks: Callback | CallbackList | Sequence[Callback] | None = None,
    ):
        self.model = model
        self.data = data
        self.checkpoint_dir = os.fsdecode(checkpoint_dir)
        self.steps = None if steps is None else check_int("steps", steps)
        self.max_evaluations = (
            None if max_evaluations is None else check_int("max_evaluations", max_evaluations)
        )
        self.callbacks = callbacks or []

    def start(self) -> None:
        """Evaluate checkpoints until that of `max_evaluations` has been evaluated.

        Raises:
            Exception: A checkpoint cannot be loaded into the model.
        """
        for checkpoint in self._new_checkpoints():
            if not self._load(checkpoint):
                continue
            self.model.evaluate(self.data, steps=self.steps, callbacks=self.callbacks, verbose=2)
            if self.max_evaluations is not None and checkpoint.number >= self.max_evaluations:
                return

    def _new_checkpoints(self) -> Iterator[_Checkpoint]:
        """Yield the newest checkpoint, whenever there is a new one."""
        last: _Checkpoint | None = None
        start, has_warned = time.monotonic(), False
        while True:
            newest = max(_find_checkpoints(self.checkpoint_dir), default=None)
            if newest is not None and newest != last:
                last = newest
                yield newest
                continue
            if last is None and not has_warned and time.monotonic() - start > _WARN_SECONDS:
                has_warned = True
                warn_user(
                    f"There is no checkpoint in {self.checkpoint_dir!r} after {_WARN_SECONDS:.0f} "
                    "seconds. Write them there with `ModelCheckpoint(filepath='.../ckpt-{epoch}', "
                    "save_weights_only=True)`."
                )
            time.sleep(_POLL_SECONDS)

    def _load(self, checkpoint: _Checkpoint) -> bool:
        """Load the weights of a checkpoint; return whether it is still there, unchanged."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            try:
                self.model.load_weights(checkpoint.path)
                return True
            except (OSError, ValueError):
                if checkpoint not in _find_checkpoints(self.checkpoint_dir):
                    return False
                if attempt == _MAX_ATTEMPTS:
                    raise
            time.sleep(_POLL_SECONDS)
        return False


def _find_checkpoints(folder: str) -> list[_Checkpoint]:
    """Return the checkpoints in a directory."""
    checkpoints = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                suffix = _SUFFIX.search(entry.name)
                if suffix is None or entry.name.startswith(".") or not entry.is_file():
                    continue
                stem = entry.name[: suffix.start()]
                path = os.path.join(folder, stem if suffix[0] == ".index" else entry.name)
                number = _NUMBER.search(stem)
                changed = entry.stat().st_mtime_ns
                checkpoints.append(_Checkpoint(changed, int(number[1]) if number else -1, path))
    except FileNotFoundError:
        return []  # it does not exist yet, or a file was deleted meanwhile
    return checkpoints
