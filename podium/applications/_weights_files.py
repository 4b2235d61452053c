"""The files of weights trained on ImageNet: their names, their hashes, and where they are stored.

A file is read from Keras's cache (`~/.keras/models`) and downloaded to it if it is missing.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from podium._typing import PathLike
from podium.utils import get_file

ORIGIN = "https://storage.googleapis.com/"
IMAGENET = "imagenet"


class WeightsFile(NamedTuple):
    """A file of weights.

    Attributes:
        path: The path below `ORIGIN`.
        file_hash: The MD5 or SHA-256 of the file; None if Keras does not publish one.
        cache_name: The name in the cache, if it is not that of the path.
    """

    path: str
    file_hash: str | None = None
    cache_name: str | None = None

    def fetch(self) -> str:
        """Return the path of the file in the cache, downloaded if it is missing."""
        return get_file(
            self.cache_name or self.path.rpartition("/")[2],
            ORIGIN + self.path,
            cache_subdir="models",
            file_hash=self.file_hash,
        )


class WeightsFiles(NamedTuple):
    """The files of an architecture: with its classifier, and without it."""

    with_top: WeightsFile
    without_top: WeightsFile

    def select(self, include_top: bool) -> WeightsFile:
        """Return the file that fits to `include_top`."""
        return self.with_top if include_top else self.without_top


def name_files(
    folder: str, name: str, hashes: tuple[str, str], suffixes: tuple[str, str]
) -> WeightsFiles:
    """Return the files `folder/name + suffix`: with the classifier, and without it."""
    with_top, without_top = (
        WeightsFile(f"{folder}/{name}{suffix}", file_hash)
        for suffix, file_hash in zip(suffixes, hashes, strict=True)
    )
    return WeightsFiles(with_top, without_top)


def name_kernel_files(folder: str, name: str, hashes: tuple[str, str]) -> WeightsFiles:
    """Return the files of an architecture that Keras took over from its first version."""
    suffixes = (
        "_weights_tf_dim_ordering_tf_kernels.h5",
        "_weights_tf_dim_ordering_tf_kernels_notop.h5",
    )
    return name_files(f"tensorflow/keras-applications/{folder}", name, hashes, suffixes)


def check_weights(weights: PathLike | None, include_top: bool, classes: int) -> None:
    """Raise unless `weights` is None, "imagenet" or the path of something that exists.

    Raises:
        ValueError: It is something else; or it is "imagenet", and the classifier has other classes.
    """
    if weights is None:
        return
    if weights == IMAGENET:
        if include_top and classes != 1000:
            raise ValueError(
                f"classes={classes!r} was given with weights='imagenet' and include_top=True; the "
                "classifier trained on ImageNet has 1000 classes. Pass `classes=1000`, or "
                "`include_top=False` and add a classifier, or `weights=None`."
            )
        return
    if not isinstance(weights, (str, os.PathLike)) or not os.path.exists(weights):
        raise ValueError(
            f"weights={weights!r} was given; None (random weights), 'imagenet' or the path of an "
            "existing file of weights was expected."
        )


def find_weights(
    weights: PathLike | None, files: WeightsFiles | None, include_top: bool, owner: str
) -> PathLike | None:
    """Return the path of the weights to load, or None.

    Args:
        weights: None, "imagenet" or a path.
        files: The files trained on ImageNet, if there are any.
        include_top: Whether the model has its classifier.
        owner: The name of the model, for the message.
    """
    if weights != IMAGENET:
        return weights
    if files is None:
        raise ValueError(
            f"weights='imagenet' was given for {owner!r}, of which there is no file of weights. "
            "Pass `weights=None`, or the path of a file."
        )
    return files.select(include_top).fetch()
