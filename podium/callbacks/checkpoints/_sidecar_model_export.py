"""SidecarEvaluatorModelExport: saves the best model that a SidecarEvaluator has found."""

from __future__ import annotations

import os
import re
from typing import Any

from podium._typing import PathLike
from podium.callbacks.checkpoints._model_checkpoint import ModelCheckpoint
from podium.saving.internal import newest_files


class SidecarEvaluatorModelExport(ModelCheckpoint):
    """Saves the model at the end of an evaluation if it is the best so far.

    For the callbacks of a `SidecarEvaluator`: of all checkpoints that it evaluates, the best one is
    saved. `{epoch}` in the path is the number at the end of the checkpoint's name.

    Args:
        export_filepath: Where to save; see `ModelCheckpoint`.
        checkpoint_filepath: The `filepath` of the ModelCheckpoint of the training program, such as
            `"dir/ckpt-{epoch}"`.
        save_freq: "eval": after each evaluation.
        **kwargs: Other arguments of `ModelCheckpoint`, such as `monitor="loss"`.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = os.path.join(folder, "ckpt-{epoch}.weights.h5")
        ...     model.save_weights(checkpoint.format(epoch=7))  # by the training program
        ...     export = podium.callbacks.SidecarEvaluatorModelExport(
        ...         os.path.join(folder, "best", "{epoch:03d}.keras"), checkpoint, monitor="loss"
        ...     )
        ...     x, y = np.ones((4, 1)), np.zeros((4, 1))
        ...     _ = model.evaluate(x, y, verbose=0, callbacks=[export])
        ...     os.listdir(os.path.join(folder, "best"))
        ['007.keras']
    """

    def __init__(
        self,
        export_filepath: PathLike,
        checkpoint_filepath: PathLike,
        save_freq: str = "eval",
        **kwargs: Any,
    ):
        if save_freq != "eval":
            raise ValueError(
                f"SidecarEvaluatorModelExport was given save_freq={save_freq!r}; 'eval' was "
                "expected: it saves after evaluations."
            )
        super().__init__(export_filepath, save_best_only=True, **kwargs)
        self._checkpoint_filepath = os.fsdecode(checkpoint_filepath)
        self._number = 0  # of the checkpoint that is evaluated

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Find out which checkpoint is evaluated: the newest one."""
        files = newest_files(self._checkpoint_filepath) or newest_files(
            f"{self._checkpoint_filepath}.index"
        )
        numbers = re.findall(r"\d+", os.path.basename(files[0]).partition(".")[0]) if files else []
        self._number = int(numbers[-1]) if numbers else 0

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Save the model if it is the best so far."""
        self._save_model(self._number - 1, None, logs or {})
