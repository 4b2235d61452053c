"""Windows of a time series as a Dataset.

The windows are views of one array: nothing is copied before a batch is created.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._typing import TensorLike, Tree
from podium.core import check_choice
from podium.core.internal import check_int
from podium.data import Dataset
from podium.data.internal import SlicesPipeline, freeze_element


def timeseries_dataset_from_array(
    data: TensorLike,
    targets: TensorLike | None,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> Dataset:
    """Create a Dataset of sliding windows over data measured at equal intervals.

    The window that starts at step i is `data[i], data[i + sampling_rate], ...`, with the target
    `targets[i]`: shift the targets to predict the step after a window,
    `targets=data[sequence_length:]`.

    Args:
        data: Steps along the first axis.
        targets: One row for the window that starts at each step, or None. May be shorter than the
            data; there are then as many windows as targets.
        sequence_length: Steps in a window.
        sequence_stride: Steps from the start of one window to that of the next.
        sampling_rate: Steps from one entry of a window to the next.
        batch_size: Windows in a batch; None for single windows.
        shuffle: Whether to shuffle the windows for each epoch.
        seed: The seed of the shuffling; by default set by `podium.utils.set_random_seed`.
        start_index: First step that is used.
        end_index: Step before which to stop.
        format: Accepted for Keras's signature; the result is a Podium Dataset.

    Returns:
        A Dataset of `(windows, targets)`, or of windows if `targets` is None. Windows have the
        shape `(batch, sequence_length, ...)`.

    Raises:
        ValueError: An argument does not match the data, or no window fits.

    Example:
        >>> data = np.arange(10.0)
        >>> dataset = podium.utils.timeseries_dataset_from_array(
        ...     data[:-3], data[3:], sequence_length=3, batch_size=2
        ... )
        >>> windows, targets = next(iter(dataset))
        >>> windows.numpy(), targets.numpy()
        (array([[0., 1., 2.], [1., 2., 3.]], dtype=float32), array([3., 4.], dtype=float32))
    """
    check_choice("format", format, ("tf", "grain"))
    length = check_int("sequence_length", sequence_length, integral_floats=True)
    stride = check_int("sequence_stride", sequence_stride, integral_floats=True)
    rate = check_int("sampling_rate", sampling_rate, integral_floats=True)
    batch_size = (
        None if batch_size is None else check_int("batch_size", batch_size, integral_floats=True)
    )
    # Sampled like in Keras, so that `set_random_seed` produces the same seed.
    seed = int(np.random.randint(10**6)) if shuffle and seed is None else seed
    steps = _check_rows(data, "data")
    start, end = _check_bounds(start_index, end_index, len(steps))
    for name, value in (("sampling_rate", rate), ("sequence_stride", stride)):
        if value >= len(steps):
            raise ValueError(
                f"{name}={value} was given for data of {len(steps)} steps; less than that was "
                "expected."
            )
    steps, span = steps[start:end], (length - 1) * rate + 1
    if span > len(steps):
        raise ValueError(
            f"sequence_length={length} with sampling_rate={rate} makes windows of {span} steps, "
            f"and there are {len(steps)} (start_index={start}, end_index={end}); no window "
            "fits. Pass a shorter sequence_length."
        )
    views = np.lib.stride_tricks.sliding_window_view(steps, span, axis=0)
    windows = np.moveaxis(views, -1, 1)[::stride, ::rate]
    table: Tree = windows
    if targets is not None:
        rows = _check_rows(targets, "targets")[start:end]
        if not len(rows):
            raise ValueError(
                f"targets has no row for step {start}, at which the first window starts "
                f"(start_index={start})."
            )
        rows = rows[: len(views) : stride]
        table = (windows[: len(rows)], rows)
    dataset = Dataset(SlicesPipeline(table))
    if shuffle:
        dataset = dataset.shuffle(len(dataset), seed)
    return dataset if batch_size is None else dataset.batch(batch_size)


def _check_rows(value: TensorLike, name: str) -> np.ndarray[Any, Any]:
    array = np.asarray(freeze_element(np.asarray(value), name))
    if array.ndim == 0 or not len(array):
        raise ValueError(
            f"`{name}` has the shape {array.shape}; an array with a row for each step was expected."
        )
    return array


def _check_bounds(
    start_index: int | None, end_index: int | None, num_steps: int
) -> tuple[int, int]:
    start = (
        0 if start_index is None else check_int("start_index", start_index, 0, integral_floats=True)
    )
    end = (
        num_steps if end_index is None else check_int("end_index", end_index, integral_floats=True)
    )
    if start >= num_steps:
        raise ValueError(
            f"start_index={start} was given for data of {num_steps} steps; less than that was "
            "expected."
        )
    if end > num_steps:
        raise ValueError(
            f"end_index={end} was given for data of {num_steps} steps; at most that was expected."
        )
    if end <= start:
        raise ValueError(
            f"start_index={start} and end_index={end} were given; the end must be after the start."
        )
    return start, end
