"""ModelCheckpoint: save the model, or its weights, while it is trained."""

from __future__ import annotations

import contextlib
import math
import os
import string
from typing import Any

from podium.callbacks._console import write_stdout
from podium.callbacks._logs import to_python
from podium.callbacks._monitor import MonitorCallback
from podium.core import closest_match, warn_user
from podium.layers import Layer
from podium.saving.internal import UNSUPPORTED_SUFFIXES, check_suffix

_SUFFIXES = (
    ".weights.h5",
    ".keras",
    ".h5",
    ".hdf5",
    ".safetensors",
)  # others, such as that of "model-0.25", are parts of names


class ModelCheckpoint(MonitorCallback):
    """Saves the model after epochs, or after every so many batches.

    The file is replaced whole: if training is killed while saving, the previous file is still
    there.

    Args:
        filepath: Where to. `{epoch}`, `{batch}` and the names of logged figures are filled in:
            `"{epoch:02d}-{val_loss:.2f}.keras"`. Directories are made. Any name will do: `.keras`
            or no suffix for a whole model, `.h5` for Keras 2's format; with `save_weights_only`
            `.weights.h5`, `.h5` or anything else.
        monitor: The name of the figure that tells which model is best.
        verbose: 1 to say what is done.
        save_best_only: Save only when the figure is better than ever before. Without the figure
            nothing is saved, with a warning.
        save_weights_only: Save the weights alone, not the whole model.
        mode: "min" if the figure should fall, "max" if it should rise, "auto" to tell by the metric
            or its name.
        save_freq: "epoch", or a number of batches, counted on through epochs. With
            `steps_per_execution=k` a save that is due takes place after the execution in which it
            fell due.
        initial_value_threshold: A value that the figure must beat before anything is saved.
        options: Accepted for Keras 2's signature: None.
        max_to_keep: How many files to keep; older ones that this callback wrote are deleted. None
            keeps all.
        period: Keras 2's name for saving only every so many epochs.
        load_weights_on_restart: Accepted for Keras 2's signature: False.
        save_on_exception: Whether to save once more when an error or Ctrl-C ends training, in the
            state after the last completed step. The file gets `-exception` before its suffix, so
            that no other one is replaced, and does not count for `max_to_keep`. Figures in its name
            that are not known are `nan`. To continue such a run exactly, use `BackupAndRestore`.

    Attributes:
        best: The best value so far. It is kept from one `fit` to the next.

    Raises:
        ValueError: An argument does not make sense, or the suffix promises another format.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saving = podium.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.keras"), max_to_keep=2)
        ...     history = model.fit(np.ones((8, 1)), np.zeros((8, 1)), epochs=3, verbose=0, callbacks=[saving])
        ...     sorted(os.listdir(folder))
        ['2.keras', '3.keras']
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: int | str = "epoch",
        initial_value_threshold: float | None = None,
        options: Any = None,
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
        _check_count("save_freq", save_freq, or_else="epoch")
        _check_count("period", period)
        _check_count("max_to_keep", max_to_keep, or_else=None)
        if options is not None or load_weights_on_restart:
            raise ValueError(
                f"ModelCheckpoint was given options={options!r}, "
                f"load_weights_on_restart={load_weights_on_restart!r}, which are "
                "for TensorFlow's checkpoints. Leave them out; load weights with "
                "`model.load_weights(path)` before `fit`."
            )
        self._fields = self._checked_fields()
        self._check_suffix()
        self.reset_best()
        self.every_batch = save_freq != "epoch"
        self._written: list[str] = []
        self._epoch: int | None = None  # None before the first one of a run
        self._epochs_passed = 0
        self._batches_passed = 0
        self._last_batch = -1

    # --- checks before training

    def _checked_fields(self) -> set[str]:
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
                    "logged figure."
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
                "the format that the extension promises. Use `.weights.h5`."
            )

    def on_train_begin(self, logs: Any = None) -> None:
        """Check that the directory can be made."""
        self._epoch, self._last_batch = None, -1
        folder = os.path.dirname(self.filepath.partition("{")[0])
        while folder and not os.path.exists(folder):
            folder = os.path.dirname(folder)
        if folder and not os.path.isdir(folder):
            raise NotADirectoryError(
                f"ModelCheckpoint was given filepath={self.filepath!r}, and {folder!r} is a file, "
                "not a directory. Choose another path."
            )

    def get_state(self) -> dict[str, Any]:
        """Return what was best, what has been written, and how long ago."""
        return {name: value for name, value in super().get_state().items() if name != "_fields"}

    # --- when to save

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Batches matter only when saving after batches."""
        return self.save_freq == "epoch"

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Note which epoch it is."""
        self._epoch, self._last_batch = epoch, -1

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save if enough batches have passed."""
        if isinstance(self.save_freq, str):
            return
        self._batches_passed += batch - self._last_batch
        self._last_batch = batch
        if self._batches_passed >= self.save_freq:
            self._batches_passed %= self.save_freq
            self._save_if_due(self._epoch or 0, batch, logs or {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save, unless saving goes by batches."""
        self._epochs_passed += 1
        if self.save_freq == "epoch" and self._epochs_passed >= self.period:
            self._epochs_passed = 0
            self._save_if_due(epoch, None, logs or {})

    def on_train_end(self, logs: Any = None) -> None:
        """Save once more if an error has ended training, and that was asked for."""
        if not self.save_on_exception or self._ended_by is None or self._epoch is None:
            return
        unknown = dict.fromkeys(self._fields - {"epoch", "batch"}, math.nan)
        path = _marked(
            self._path(self._epoch, self._last_batch if self.every_batch else None, unknown)
        )
        self._write(path)
        self._say(
            self._epoch, f"{type(self._ended_by).__name__} ended training, saved model to {path}"
        )

    def _save_if_due(self, epoch: int, batch: int | None, logs: Any) -> None:
        path = self._path(epoch, batch, logs)
        if self.save_best_only and not self._is_best(epoch, logs, path):
            return
        if not self.save_best_only:
            self._say(epoch, f"saving model to {path}")
        self._save(path)
        self._say(epoch, f"finished saving model to {path}")

    def _is_best(self, epoch: int, logs: Any, path: str) -> bool:
        """Tell whether the figure is better than ever before, and keep it if so."""
        first = self._sign is None
        value = self.get_monitor_value(logs)
        if value is None:
            return False
        if not isinstance(value, (int, float)):
            warn_user(
                f"ModelCheckpoint watches {self.monitor!r}, which is {value!r}; one number was "
                "expected. Every model is saved."
            )
            return True
        if self.initial_value_threshold is not None and first:
            self.best = self.initial_value_threshold
        before = "None" if math.isinf(self.best) else f"{self.best:.5f}"
        if not self.is_better(value, self.best):
            self._say(epoch, f"{self.monitor} did not improve from {before}")
            return False
        self._say(
            epoch, f"{self.monitor} improved from {before} to {value:.5f}, saving model to {path}"
        )
        self.best = value
        return True

    def reset_best(self) -> None:
        """Start anew; `fit` does not do that by itself."""
        super().reset_best()
        if self.initial_value_threshold is not None:
            self.best = self.initial_value_threshold

    def _say(self, epoch: int, text: str) -> None:
        if self.verbose > 0:
            write_stdout(f"\nEpoch {epoch + 1}: {text}\n")

    # --- saving

    def _path(self, epoch: int, batch: int | None, logs: Any) -> str:
        """Fill in the placeholders; only figures that are named are read from the device."""
        values: dict[str, Any] = {"epoch": epoch + 1} | (
            {} if batch is None else {"batch": batch + 1}
        )
        for field in self._fields - values.keys():
            if field not in logs:
                there = ", ".join(repr(name) for name in [*values, *logs])
                close = closest_match(field, logs)
                hint = f" Did you mean {{{close}}}?" if close else ""
                raise ValueError(
                    f"ModelCheckpoint was given filepath={self.filepath!r}; the placeholder "
                    f"{{{field}}} has no value. There are: "
                    f"{there}.{hint} Double literal braces: `{{{{`."
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
        self._written = [*(one for one in self._written if one != path), path]
        while self.max_to_keep is not None and len(self._written) > self.max_to_keep:
            with contextlib.suppress(FileNotFoundError):  # somebody else took it away
                os.unlink(self._written.pop(0))

    def _write(self, path: str) -> None:
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if os.path.isdir(path):
            raise IsADirectoryError(
                f"ModelCheckpoint was to save to {path!r}, which is a directory. Give the name "
                "of a file as `filepath`."
            )
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            named = os.path.splitext(path)[1] or not isinstance(self.model, Layer)
            self.model.save(path, overwrite=True, **({} if named else {"save_format": "keras"}))


def _marked(path: str) -> str:
    """Return a name beside a name: `model-exception.keras`."""
    suffix = next((one for one in _SUFFIXES if path.lower().endswith(one)), "")
    start = len(path) - len(suffix)
    return f"{path[:start]}-exception{path[start:]}"


def _check_count(argument: str, value: Any, or_else: Any = 1) -> None:
    if value == or_else and type(value) is type(or_else):
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        choice = "" if or_else == 1 else f", or {or_else!r}"
        raise ValueError(
            f"ModelCheckpoint was given {argument}={value!r}; a whole number from 1{choice} was "
            "expected."
        )
