"""ModelCheckpoint: saves the model, or its weights, during training.

It decides when and where to save. To save and resume a whole run, see `_backup_and_restore.py`.
"""

from __future__ import annotations

import contextlib
import math
import os
import string
from collections.abc import Mapping
from typing import Any

from podium._typing import PathLike
from podium.callbacks._console import write_stdout
from podium.callbacks._logs import to_python
from podium.callbacks._monitor import MonitorCallback
from podium.core import closest_match, warn_user
from podium.core.internal import check_int
from podium.distribute.internal import report_checkpoint
from podium.layers import Layer
from podium.saving.internal import UNSUPPORTED_SUFFIXES, check_suffix, delete_bundle

# Others, such as that of "model-0.25", are parts of names.
_SUFFIXES = (".weights.h5", ".keras", ".h5", ".hdf5", ".safetensors")


class ModelCheckpoint(MonitorCallback):
    """Saves the model after epochs, or after a number of batches.

    The file is replaced atomically: if training is killed while saving, the previous file remains.

    Args:
        filepath: The path. `{epoch}`, `{batch}` and the names of logged values are filled in:
            `"{epoch:02d}-{val_loss:.2f}.keras"`. Directories are created. Use `.keras` or no suffix
            for a whole model, `.h5` for Keras 2's format; with `save_weights_only` `.weights.h5`
            or `.h5`; anything else is a TensorFlow checkpoint.
        monitor: The name of the value that decides which model is best.
        verbose: 1 to print messages.
        save_best_only: Save only when the monitored value is the best so far. If it is not logged,
            nothing is saved, with a warning.
        save_weights_only: Save the weights alone, not the whole model.
        mode: "min" if the value should decrease, "max" if it should increase, "auto" to decide by
            the metric or its name.
        save_freq: "epoch", or a number of batches, counted across epochs. With
            `steps_per_execution=k` a save runs after the execution in which it falls due.
        initial_value_threshold: A value that must be exceeded before anything is saved.
        options: Accepted for Keras 2's signature: None.
        max_to_keep: How many files to keep; older ones that this callback wrote are deleted. None
            keeps all.
        period: Keras 2's argument: the number of epochs between saves.
        load_weights_on_restart: Accepted for Keras 2's signature: False.
        save_on_exception: Whether to save once more when an error or Ctrl-C ends training, in the
            state after the last completed step. The file gets `-exception` before its suffix, so
            that no other one is replaced, and does not count for `max_to_keep`. Values in its name
            that are not known are `nan`. To resume such a run exactly, use `BackupAndRestore`.

    Attributes:
        best: The best value so far. It is kept from one `fit` to the next.

    Raises:
        ValueError: An argument is invalid, or the suffix belongs to another format.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "{epoch}.keras")
        ...     checkpoint = podium.callbacks.ModelCheckpoint(path, max_to_keep=2)
        ...     x, y = np.ones((8, 1)), np.zeros((8, 1))
        ...     history = model.fit(x, y, epochs=3, verbose=0, callbacks=[checkpoint])
        ...     sorted(os.listdir(folder))
        ['2.keras', '3.keras']
    """

    def __init__(
        self,
        filepath: PathLike | bytes,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: int | str = "epoch",
        initial_value_threshold: float | None = None,
        options: object = None,
        max_to_keep: int | None = None,
        period: int = 1,
        load_weights_on_restart: bool = False,
        save_on_exception: bool = False,
    ):
        super().__init__(monitor, mode)
        if not isinstance(filepath, (str, bytes, os.PathLike)):
            raise TypeError(
                f"ModelCheckpoint was given filepath={filepath!r}; a path was expected."
            )
        self.filepath = os.fsdecode(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self.max_to_keep = max_to_keep
        self.period = period
        self.initial_value_threshold = initial_value_threshold
        self.save_on_exception = save_on_exception
        self._check_counts()
        if options is not None or load_weights_on_restart:
            raise ValueError(
                f"ModelCheckpoint was given options={options!r}, "
                f"load_weights_on_restart={load_weights_on_restart!r}, which are "
                "for TensorFlow's checkpoints. Leave them out; load weights with "
                "`model.load_weights(path)` before `fit`."
            )
        self._fields = self._parse_fields()
        self._check_suffix()
        self.reset_best()
        self.every_batch = save_freq != "epoch"
        self._written: list[str] = []
        self._current_epoch: int | None = None  # None before the first one of a run
        self._epochs_passed = 0
        self._batches_passed = 0
        self._last_batch = -1

    # --- validation of arguments

    def _check_counts(self) -> None:
        if isinstance(self.save_freq, str) and self.save_freq != "epoch":
            raise ValueError(
                f"ModelCheckpoint was given save_freq={self.save_freq!r}; 'epoch' or an int of at "
                "least 1 was expected."
            )
        if not isinstance(self.save_freq, str):
            check_int("save_freq", self.save_freq, owner=self, type_error=ValueError)
        check_int("period", self.period, owner=self, type_error=ValueError)
        if self.max_to_keep is not None:
            check_int(
                "max_to_keep", self.max_to_keep, owner=self, or_none=True, type_error=ValueError
            )

    def _parse_fields(self) -> set[str]:
        try:
            fields = {
                field
                for _, field, _, _ in string.Formatter().parse(self.filepath)
                if field is not None
            }
        except ValueError as error:
            raise ValueError(
                f"ModelCheckpoint was given filepath={self.filepath!r}, which has a brace without "
                f"its counterpart ({error}). Write placeholders as `{{epoch:02d}}`, and literal "
                "braces doubled: `{{`."
            ) from None
        for field in fields:
            if not field or field.isdigit() or "." in field or "[" in field:
                raise ValueError(
                    f"ModelCheckpoint was given filepath={self.filepath!r} with the placeholder "
                    f"{{{field}}}; a name was expected: `{{epoch}}`, `{{batch}}`, or that of a "
                    "logged value."
                )
        if "batch" in fields and self.save_freq == "epoch":
            raise ValueError(
                f"ModelCheckpoint was given filepath={self.filepath!r} and save_freq='epoch'; the "
                f"placeholder {{batch}} has a value only when saving after batches. Use "
                "`{epoch}`, or a number as `save_freq`."
            )
        return fields

    def _check_suffix(self) -> None:
        if not self.save_weights_only:
            check_suffix("ModelCheckpoint", self.filepath)
        elif self.filepath.endswith(".keras") or self.filepath.lower().endswith(
            UNSUPPORTED_SUFFIXES
        ):
            raise ValueError(
                f"ModelCheckpoint was given filepath={self.filepath!r} and "
                "save_weights_only=True; weights are not written in "
                "the format of that extension. Use `.weights.h5`."
            )

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Check that the directory can be created."""
        self._current_epoch, self._last_batch = None, -1
        folder = os.path.dirname(self.filepath.partition("{")[0])
        while folder and not os.path.exists(folder):
            folder = os.path.dirname(folder)
        if folder and not os.path.isdir(folder):
            raise NotADirectoryError(
                f"ModelCheckpoint was given filepath={self.filepath!r}, and {folder!r} is a file, "
                "not a directory. Choose another path."
            )

    def get_state(self) -> dict[str, Any]:
        """Return the best value, the written files, and the counters of epochs and batches."""
        return {name: value for name, value in super().get_state().items() if name != "_fields"}

    # --- when to save

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Return whether saving happens after epochs only."""
        return self.save_freq == "epoch"

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Set the current epoch."""
        self._current_epoch, self._last_batch = epoch, -1

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Save if enough batches have passed."""
        if self._should_save_on_batch(batch):
            self._save_model(self._current_epoch or 0, batch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, unless `save_freq` is a number of batches."""
        self._epochs_passed += 1
        if self.save_freq == "epoch" and self._epochs_passed >= self.period:
            self._epochs_passed = 0
            self._save_model(epoch, None, logs)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Save once more if an error has ended training and `save_on_exception` is set."""
        if not self.save_on_exception or self._ended_by is None or self._current_epoch is None:
            return
        unknown = dict.fromkeys(self._fields - {"epoch", "batch"}, math.nan)
        path = _exception_path(
            self._get_file_path(
                self._current_epoch, self._last_batch if self.every_batch else None, unknown
            )
        )
        self._write(path)
        self._report(
            self._current_epoch,
            f"{type(self._ended_by).__name__} ended training, saved model to {path}",
        )

    # The next three have Keras's names: subclasses of other libraries call and override them.

    def _should_save_on_batch(self, batch: int) -> bool:
        """Count the batches since the last call; return whether enough have passed."""
        if isinstance(self.save_freq, str):
            return False
        self._batches_passed += batch - self._last_batch
        self._last_batch = batch
        if self._batches_passed < self.save_freq:
            return False
        self._batches_passed %= self.save_freq
        return True

    def _save_model(self, epoch: int, batch: int | None, logs: Mapping[str, Any] | None) -> None:
        """Save, unless only the best model is saved and this is not the best."""
        logs = logs or {}
        path = self._get_file_path(epoch, batch, logs)
        if self.save_best_only and not self._is_best(epoch, logs, path):
            return
        if not self.save_best_only:
            self._report(epoch, f"saving model to {path}")
        self._save(path)
        self._report(epoch, f"finished saving model to {path}")

    def _is_best(self, epoch: int, logs: Mapping[str, Any], path: str) -> bool:
        """Return whether the monitored value is the best so far, and store it if so."""
        is_first = self._sign is None
        value = self.get_monitor_value(logs)
        if value is None:
            return False
        if not isinstance(value, (int, float)):
            warn_user(
                f"ModelCheckpoint monitors {self.monitor!r}, which is {value!r}; one number was "
                "expected. Every model is saved."
            )
            return True
        if self.initial_value_threshold is not None and is_first:
            self.best = self.initial_value_threshold
        previous = "None" if math.isinf(self.best) else f"{self.best:.5f}"
        if not self.is_better(value, self.best):
            self._report(epoch, f"{self.monitor} did not improve from {previous}")
            return False
        self._report(
            epoch, f"{self.monitor} improved from {previous} to {value:.5f}, saving model to {path}"
        )
        self.best = value
        return True

    def reset_best(self) -> None:
        """Forget the best value; `fit` does not do that by itself."""
        super().reset_best()
        if self.initial_value_threshold is not None:
            self.best = self.initial_value_threshold

    def _report(self, epoch: int, text: str) -> None:
        if self.verbose > 0:
            write_stdout(f"\nEpoch {epoch + 1}: {text}\n")

    # --- saving

    def _get_file_path(self, epoch: int, batch: int | None, logs: Mapping[str, Any] | None) -> str:
        """Fill in the placeholders; only values that are named are fetched from the device."""
        logs = logs or {}
        values: dict[str, Any] = {"epoch": epoch + 1} | (
            {} if batch is None else {"batch": batch + 1}
        )
        for field in self._fields - values.keys():
            if field not in logs:
                available = ", ".join(repr(name) for name in [*values, *logs])
                choice = closest_match(field, logs)
                hint = f" Did you mean {{{choice}}}?" if choice else ""
                raise ValueError(
                    f"ModelCheckpoint was given filepath={self.filepath!r}; the placeholder "
                    f"{{{field}}} has no value. There are: "
                    f"{available}.{hint} Double literal braces: `{{{{`."
                )
            values[field] = to_python(logs[field])
        try:
            return self.filepath.format(**values)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"ModelCheckpoint cannot fill in filepath={self.filepath!r} with {values}: {error}."
            ) from None

    def _save(self, path: str) -> None:
        self._write(path)
        iterations = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        if iterations is not None:
            report_checkpoint(self.filepath, int(iterations))
        self._written = [*(other for other in self._written if other != path), path]
        while self.max_to_keep is not None and len(self._written) > self.max_to_keep:
            oldest = self._written.pop(0)
            delete_bundle(oldest)  # if it is a TensorFlow checkpoint
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                os.unlink(oldest)

    def _write(self, path: str) -> None:
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if os.path.isdir(path):
            raise IsADirectoryError(
                f"ModelCheckpoint cannot save to {path!r}, which is a directory. Pass the name of "
                "a file as `filepath`."
            )
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            has_suffix = os.path.splitext(path)[1] or not isinstance(self.model, Layer)
            options = {} if has_suffix else {"save_format": "keras"}
            self.model.save(path, overwrite=True, **options)


def _exception_path(path: str) -> str:
    """Return the path for a model that is saved after an error: `model-exception.keras`."""
    suffix = next((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), "")
    start = len(path) - len(suffix)
    return f"{path[:start]}-exception{path[start:]}"
