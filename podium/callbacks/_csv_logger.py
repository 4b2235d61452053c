"""CSVLogger: writes the logs of every epoch to a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from typing import Any, TextIO

from podium._typing import PathLike
from podium.callbacks._callback import Callback
from podium.core import warn_user


class CSVLogger(Callback):
    """Writes a line with the logs of each epoch, as soon as it has ended.

    The columns are `epoch` and the names in the first epoch's logs in alphabetical order; if none
    of them comes from validation, each gets a `val_` column too, since a later epoch may have one.
    Missing values are written as `NA`.

    Args:
        filename: The file to write. Missing directories are created.
        separator: The character between two columns.
        append: Whether to append to an existing file, with its columns, instead of replacing it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> logger = podium.callbacks.CSVLogger(path)
        >>> logger.on_train_begin()
        >>> logger.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.75})
        >>> logger.on_train_end()
        >>> print(path.read_text())
        epoch,loss,val_loss
        0,0.5,0.75
    """

    is_logger = True

    def __init__(self, filename: PathLike, separator: str = ",", append: bool = False):
        super().__init__()
        if not isinstance(separator, str) or len(separator) != 1:
            raise ValueError(
                f"CSVLogger was given separator={separator!r}; one character was expected, such "
                "as ',' or ';'."
            )
        self.filename = os.fspath(filename)
        self.sep = separator
        self.append = append
        self.keys: list[str] | None = None
        self.csv_file: TextIO | None = None
        self.writer: Any = None
        self._needs_header = True
        self._warned = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Open the file."""
        self.on_train_end()
        folder = os.path.dirname(self.filename)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self.keys = self._columns_of_file() if self.append else None
        # A resumed run appends, after `set_state` has removed the lines after its checkpoint.
        appends = self.append or self._is_resuming
        self.csv_file = open(self.filename, "a" if appends else "w", newline="", encoding="utf-8")  # noqa: SIM115
        self.writer = csv.writer(self.csv_file, delimiter=self.sep)
        self._needs_header = self.keys is None
        self._warned = False

    def get_state(self) -> dict[str, Any]:
        """Return the columns and the length of the file, after flushing it to the disk."""
        if self.csv_file is not None:
            self.csv_file.flush()
            os.fsync(self.csv_file.fileno())
        length = os.path.getsize(self.filename) if os.path.exists(self.filename) else 0
        return {
            "keys": self.keys,
            "needs_header": self._needs_header,
            "warned": self._warned,
            "length": length,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Remove the lines that were written after the state was saved: they are written again."""
        assert self.csv_file is not None
        self.keys, self._needs_header, self._warned = (
            state["keys"],
            state["needs_header"],
            state["warned"],
        )
        length = os.path.getsize(self.filename)
        if length < state["length"]:
            warn_user(
                f"CSVLogger continues {self.filename!r}, which has {length} bytes and had "
                f"{state['length']} when the run was saved: lines are missing."
            )
        else:
            self.csv_file.truncate(state["length"])

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Write a line."""
        logs = logs or {}
        if self.keys is None:
            names = sorted(logs)
            self.keys = names + (
                []
                if any(name.startswith("val_") for name in names)
                else [f"val_{name}" for name in names]
            )
        if self._needs_header:
            self.writer.writerow(["epoch", *self.keys])
            self._needs_header = False
        elif set(logs) - set(self.keys):
            self._warn_about_new(sorted(set(logs) - set(self.keys)))
        self.writer.writerow([epoch, *(_cell(logs.get(name, "NA")) for name in self.keys)])
        assert self.csv_file is not None
        self.csv_file.flush()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Close the file."""
        if self.csv_file is not None:
            self.csv_file.close()
        self.csv_file = self.writer = None

    def _columns_of_file(self) -> list[str] | None:
        if not os.path.exists(self.filename):
            return None
        with open(self.filename, newline="", encoding="utf-8") as file:
            header = next(csv.reader(file, delimiter=self.sep), None)
        return header[1:] if header else None

    def _warn_about_new(self, names: list[str]) -> None:
        if not self._warned:
            self._warned = True
            warn_user(
                f"CSVLogger has no column for {', '.join(map(repr, names))} in "
                f"{self.filename!r}: these values are not written."
            )


def _cell(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'
