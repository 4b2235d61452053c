"""WAV files in directories as a Dataset of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import PathLike
from podium.core.internal import check_int
from podium.utils._directory_dataset import DirectoryOptions, FileDataset
from podium.utils._wav_files import read_wav, read_wav_format, resample


def audio_dataset_from_directory(
    directory: PathLike,
    labels: str | Sequence[float] | np.ndarray[Any, Any] | None = "inferred",
    label_mode: str | None = "int",
    class_names: list[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> FileDataset | tuple[FileDataset, FileDataset]:
    """Create a Dataset of the audio files (.wav) in a directory, which are read during iteration.

    Sequences are float32 from -1 to 1 of shape `(samples, channels)`. One seed gives the same
    training and validation files as in Keras, and the same order in every run; the order within an
    epoch differs from Keras.

    Args:
        directory: The directory. With `labels="inferred"` it has a subdirectory for each class.
        labels: "inferred" from the subdirectories, None for none, or a list with a class index for
            each file in the order of the sorted paths.
        label_mode: The encoding of labels: "int" as int32 `()`, "categorical" as one-hot float32
            `(classes,)`, "binary" as float32 `(1,)`, or None for no labels.
        class_names: Subdirectories to read, in the order of their class indices; by default all,
            sorted.
        batch_size: Sequences in a batch; None for single sequences.
        sampling_rate: Samples per second; files of another rate are resampled. None to keep the
            rate of each file.
        output_sequence_length: The number of samples: longer sequences are truncated, shorter ones
            end with zeros. None for the length of the longest sequence of each batch.
        ragged: Not supported if True, since there are no ragged tensors.
        shuffle: Whether to shuffle the files for each epoch; otherwise they are sorted.
        seed: The seed of the shuffling; by default set by `podium.utils.set_random_seed`.
        validation_split: Fraction of the files for validation.
        subset: "training", "validation", or "both" for two Datasets; needs `validation_split`.
        follow_links: Whether to follow links to directories.
        verbose: Whether to print the number of files.

    Returns:
        A Dataset of `(sequences, labels)`, or of sequences without labels, with the attributes
        `class_names` and `file_paths`. A pair of Datasets if `subset` is "both".

    Raises:
        ValueError: The directory has no audio files or an argument is invalid; during iteration, a
            file is not a WAV file without compression.

    Example:
        >>> import pathlib, tempfile, wave
        >>> directory = pathlib.Path(tempfile.mkdtemp())
        >>> for name in ("bark", "meow"):
        ...     (directory / name).mkdir()
        ...     with wave.open(str(directory / name / "1.wav"), "wb") as file:
        ...         file.setparams((1, 2, 8000, 0, "NONE", ""))
        ...         file.writeframes(np.full(100, 2**14, "<i2").tobytes())
        >>> dataset = podium.utils.audio_dataset_from_directory(directory, shuffle=False)
        Found 2 files belonging to 2 classes.
        >>> audio, labels = next(iter(dataset))
        >>> audio.shape, float(audio[0, 0, 0]), labels.numpy()
        ((2, 100, 1), 0.5, array([0, 1], dtype=int32))
    """
    if ragged:
        raise ValueError(
            "audio_dataset_from_directory() was given ragged=True; sequences of one length were "
            "expected, since there are no ragged tensors. Use `output_sequence_length`, "
            "batch_size=None for single sequences, or the default, which pads each batch."
        )
    if sampling_rate is not None:
        sampling_rate = check_int("sampling_rate", sampling_rate, type_error=ValueError)
    length = output_sequence_length
    if length is not None:
        length = check_int("output_sequence_length", length, integral_floats=True)
    options = DirectoryOptions(
        directory=directory,
        labels=labels,
        label_mode=label_mode,
        class_names=class_names,
        batch_size=batch_size,
        shuffle=shuffle,
        seed=seed,
        validation_split=validation_split,
        subset=subset,
        follow_links=follow_links,
        format="tf",
        verbose=verbose,
    )

    def read(path: str) -> NDArray[np.float32]:
        audio, rate = read_wav(path, length if sampling_rate is None else None)
        if sampling_rate is not None:
            audio = resample(audio, rate, sampling_rate)
        if length is None:
            return audio
        return np.pad(audio[:length], ((0, max(0, length - len(audio))), (0, 0)))

    def sample(path: str, size: int) -> NDArray[np.float32]:
        samples = 1000 * size if length is None else length
        return np.zeros((samples, read_wav_format(path).num_channels), np.float32)

    return options.create_datasets((".wav",), "audio files", read, sample, pad=length is None)
