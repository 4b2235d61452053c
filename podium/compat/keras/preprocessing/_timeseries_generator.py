"""`TimeseriesGenerator`: windows of a series and the targets that follow them, by index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.data import PyDataset

_ARGUMENTS = (
    "length",
    "sampling_rate",
    "stride",
    "start_index",
    "end_index",
    "shuffle",
    "reverse",
    "batch_size",
)


class TimeseriesGenerator(PyDataset):
    """Batches of windows of a series, each with the target right after it.

    `utils.timeseries_dataset_from_array` does the same as a Dataset.

    Args:
        data: The series; its first dimension is time.
        targets: A target for each step of the series.
        length: The number of steps that a window spans.
        sampling_rate: The distance of the steps that are kept in a window.
        stride: The distance between two windows.
        start_index: The first step that is used.
        end_index: The last step that is used; by default the last of the series.
        shuffle: Whether to draw the windows at random, with repetitions.
        reverse: Whether the last step of each window comes first.
        batch_size: The number of windows in a batch.

    Example:
        >>> from podium.compat import keras
        >>> series = np.arange(6)
        >>> batches = keras.preprocessing.sequence.TimeseriesGenerator(series, series, length=3)
        >>> windows, targets = batches[0]
        >>> windows.tolist(), targets.tolist()
        ([[0, 1, 2], [1, 2, 3], [2, 3, 4]], [3, 4, 5])
    """

    def __init__(
        self,
        data: Sequence[Any] | np.ndarray[Any, Any],
        targets: Sequence[Any] | np.ndarray[Any, Any],
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ):
        super().__init__()
        if len(data) != len(targets):
            raise ValueError(
                f"TimeseriesGenerator was given {len(data)} steps of data and {len(targets)} "
                "targets; a target for each step was expected."
            )
        self.data = data
        self.targets = targets
        self.length = length
        self.sampling_rate = sampling_rate
        self.stride = stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle = shuffle
        self.reverse = reverse
        self.batch_size = batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"TimeseriesGenerator was given start_index={start_index}, length={length} and "
                f"end_index={self.end_index}, which leave no window with a target. Pass a shorter "
                "`length`, or more data."
            )

    def __len__(self) -> int:
        """Return the number of batches."""
        per_batch = self.batch_size * self.stride
        return (self.end_index - self.start_index + per_batch) // per_batch

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the windows and the targets of a batch."""
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            start = self.start_index + self.batch_size * self.stride * index
            stop = min(start + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(start, stop, self.stride)
        windows = np.array(
            [self.data[row - self.length : row : self.sampling_rate] for row in rows]
        )
        targets = np.array([self.targets[row] for row in rows])
        return (windows[:, ::-1] if self.reverse else windows), targets

    def get_config(self) -> dict[str, Any]:
        """Return the arguments; the data as JSON, and `start_index` of the first target."""
        series = {name: np.asarray(getattr(self, name)).tolist() for name in ("data", "targets")}
        return {
            **{name: json.dumps(values) for name, values in series.items()},
            **{name: getattr(self, name) for name in _ARGUMENTS},
        }

    def to_json(self, **kwargs: Any) -> str:
        """Return the config as JSON.

        Args:
            **kwargs: Arguments of `json.dumps`.
        """
        config = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(config, **kwargs)
