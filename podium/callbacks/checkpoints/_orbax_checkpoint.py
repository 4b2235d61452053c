"""OrbaxCheckpoint: saves the state of the model in a directory of checkpoints that Orbax writes.

It decides when to save. `saving.CheckpointManager` owns the directory; `_model_checkpoint.py` saves
files, and `_backup_and_restore.py` whole runs.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from typing import Any

import jax

from podium._typing import PathLike
from podium.callbacks._console import write_stdout
from podium.callbacks._monitor import MonitorCallback
from podium.core.internal import check_int
from podium.saving import CheckpointManager
from podium.saving.internal import weights_by_path


class OrbaxCheckpoint(MonitorCallback):
    """Saves the weights and the state of the optimizer with Orbax, after epochs or batches.

    Load the newest checkpoint with `model.load_weights(directory)`, or with everything else in
    `saving.CheckpointManager(directory).restore(model)`. To resume a whole run, use
    `BackupAndRestore`.

    Args:
        directory: The directory of the checkpoints, which is created.
        monitor: The name of the value that decides which model is best.
        verbose: 1 to print messages.
        save_best_only: Save only when the monitored value is the best so far. If it is not logged,
            nothing is saved, with a warning.
        mode: "min" if the value should decrease, "max" if it should increase, "auto" to decide by
            the metric or its name.
        save_freq: "epoch", or a number of batches, counted across epochs. Checkpoints have the
            number of the epoch, from 0, or that of all batches so far.
        initial_value_threshold: A value that must be exceeded before anything is saved.
        max_to_keep: How many checkpoints to keep. None keeps all.
        save_on_background: Whether a thread writes while training continues.
        save_weights_only: Save the weights alone, without the state of the optimizer and the config
            of the model.

    Raises:
        ImportError: orbax-checkpoint is not installed.
        ValueError: An argument is invalid, or the directory has a later checkpoint of another run.

    Example:
        >>> import tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = podium.callbacks.OrbaxCheckpoint(folder, max_to_keep=2)
        ...     x, y = np.ones((8, 1)), np.zeros((8, 1))
        ...     history = model.fit(x, y, epochs=3, verbose=0, callbacks=[checkpoint])
        ...     podium.saving.CheckpointManager(folder).all_steps()
        [1, 2]
    """

    every_worker = True  # each process writes its shards of the arrays

    def __init__(
        self,
        directory: PathLike,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        mode: str = "auto",
        save_freq: int | str = "epoch",
        initial_value_threshold: float | None = None,
        max_to_keep: int | None = 1,
        save_on_background: bool = True,
        save_weights_only: bool = False,
    ):
        super().__init__(monitor, mode)
        if importlib.util.find_spec("orbax") is None:
            raise ImportError(
                "OrbaxCheckpoint needs the package 'orbax-checkpoint', which is not installed: "
                "`pip install podium[orbax]`. ModelCheckpoint and BackupAndRestore do without it."
            )
        if isinstance(save_freq, str) and save_freq != "epoch":
            raise ValueError(
                f"OrbaxCheckpoint was given save_freq={save_freq!r}; 'epoch' or an int of at least "
                "1 was expected."
            )
        if not isinstance(save_freq, str):
            check_int("save_freq", save_freq, owner=self, type_error=ValueError)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_freq = save_freq
        self.initial_value_threshold = initial_value_threshold
        self.max_to_keep = max_to_keep
        self.save_on_background = save_on_background
        self.save_weights_only = save_weights_only
        self._manager = CheckpointManager(
            directory, max_to_keep, asynchronous=save_on_background, format="orbax"
        )
        self.directory = self._manager.directory
        self.every_batch = save_freq != "epoch"
        self._batches_passed = 0  # since the last save
        self._total_batches = 0
        self._last_batch = -1
        self._is_new_run = False
        self.reset_best()

    def reset_best(self) -> None:
        """Forget the best value; `fit` does not do that by itself."""
        super().reset_best()
        if self.initial_value_threshold is not None:
            self.best = self.initial_value_threshold

    def is_multihost_enabled(self) -> bool:
        """Return whether several processes write the checkpoints together."""
        return bool(jax.process_count() > 1)

    def is_primary_host(self) -> bool:
        """Return whether this is the first process."""
        return bool(jax.process_index() == 0)

    def wait_until_finished(self) -> None:
        """Wait until a save in the background has ended, and raise its error, if there was one."""
        self._manager.wait()

    # --- when to save

    def skips_batch(self, hook: str, batch: int) -> bool:
        """Return whether saving happens after epochs only."""
        return self.save_freq == "epoch"

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Count batches from those that the model was trained for before."""
        iterations = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        if iterations is not None:
            self._total_batches = int(iterations)
        self._is_new_run = True
        self._last_batch = -1

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Check, in the first epoch of a run, that its checkpoints will be the newest."""
        self._last_batch = -1
        if not self._is_new_run:
            return
        self._is_new_run = False
        first = epoch if self.save_freq == "epoch" else self._total_batches
        newest = max(self._manager.all_steps(), default=-1)
        if newest > first:
            raise ValueError(
                f"OrbaxCheckpoint was given directory={self.directory!r}, which has checkpoint "
                f"{newest}, and this run begins with {first}: its checkpoints would be taken for "
                "older ones. Use another directory, or continue with `fit(initial_epoch=...)`."
            )

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Save if enough batches have passed."""
        if isinstance(self.save_freq, str):
            return
        passed = batch - self._last_batch
        self._last_batch = batch
        self._batches_passed += passed
        self._total_batches += passed
        if self._batches_passed >= self.save_freq:
            self._batches_passed %= self.save_freq
            self._save_if_due(self._total_batches, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Save, unless `save_freq` is a number of batches."""
        self._manager.check()
        if self.save_freq == "epoch":
            self._save_if_due(epoch, logs or {})

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Wait until the last checkpoint is complete."""
        self._manager.wait()

    def _save_if_due(self, step: int, logs: Mapping[str, Any]) -> None:
        if self.save_best_only and not self._improves(logs):
            return
        self._manager.wait()
        if step in self._manager.all_steps():  # of the same step, before the run was resumed
            self._manager.delete(step)
        if self.save_weights_only:
            self._manager.save(step, weights_by_path(self.model))
        else:
            self._manager.save(step, self.model, state={"model_config": self._model_config()})
        if self.verbose > 0:
            write_stdout(f"\nSaving checkpoint {step} to {self.directory}\n")

    def _improves(self, logs: Mapping[str, Any]) -> bool:
        """Return whether the monitored value is the best so far, and store it if so."""
        is_first = self._sign is None
        value = self.get_monitor_value(logs)
        if value is None:
            return False
        if self.initial_value_threshold is not None and is_first:
            self.best = self.initial_value_threshold
        if not self.is_better(value, self.best):
            return False
        self.best = value
        return not math.isnan(value)

    def _model_config(self) -> str | None:
        """Return the config of the model as JSON; None if a layer of the user has none."""
        try:
            text: str = self.model.to_json()
        except (TypeError, ValueError, NotImplementedError):
            return None
        return text
