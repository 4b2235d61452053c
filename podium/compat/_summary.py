"""Summaries: named values per step, written by the code of a step to the writer that is active.

This file owns which writer is active and the way of values out of compiled functions. Writers own
their files.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import TensorLike
from podium.core import convert_to_tensor
from podium.core.internal import PublicRepr

# Not thread-local: a program may be traced beside the training, on a thread of its own.
_active: list[tuple[SummaryWriter, TensorLike | None]] = []


class SummaryWriter(PublicRepr, abc.ABC):
    """Receives the summaries that are written while it is the default writer.

    A subclass stores them: in a list, a file, a database.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> class PrintingWriter(tf.summary.SummaryWriter):
        ...     def write_scalar(self, name, value, step):
        ...         print(step, name, value)
        >>> with PrintingWriter().as_default():
        ...     tf.summary.scalar("loss", 0.5, step=3)
        3 loss 0.5
        True
    """

    @abc.abstractmethod
    def write_scalar(self, name: str, value: float, step: int) -> None:
        """Store one value of a step."""

    def flush(self) -> None:
        """Wait until the summaries of all compiled calls have been written."""
        jax.effects_barrier()

    def close(self) -> None:
        """Wait for the last summaries. Nothing is to be written afterwards."""
        self.flush()

    @contextlib.contextmanager
    def as_default(self, step: TensorLike | None = None) -> Iterator[SummaryWriter]:
        """Make this the writer that `tf.summary.scalar` writes to in the block.

        Args:
            step: The step of summaries that name none.
        """
        _active.append((self, step))
        try:
            yield self
            self.flush()
        finally:
            _active.pop()


def scalar(
    name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None
) -> bool:
    """Write a value to the default writer; without one, do nothing.

    Also works in a compiled function, which writes to the writer that is active when it is traced.

    Args:
        name: The name of the value.
        data: A number, or a Tensor without dimensions.
        step: The step; by default that of `as_default(step)`.
        description: Accepted for TensorFlow's signature.

    Returns:
        Whether a writer is active.

    Raises:
        ValueError: A writer is active, and there is no step, or `data` has dimensions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.summary.scalar("loss", 0.5, step=3)
        False
    """
    if not _active:
        return False
    writer, default_step = _active[-1]
    step = default_step if step is None else step
    if step is None:
        raise ValueError(
            f"tf.summary.scalar({name!r}) was given no step; pass `step=`, or make the writer the "
            "default with `writer.as_default(step=...)`."
        )
    value, count = (jnp.asarray(convert_to_tensor(each).value) for each in (data, step))
    if value.ndim:
        raise ValueError(
            f"tf.summary.scalar({name!r}) was given a value of shape {value.shape}; a value "
            "without dimensions was expected, such as its mean."
        )

    def write(value: Any, step: Any) -> None:
        writer.write_scalar(name, np.asarray(value).item(), int(step))

    if isinstance(value, jax.core.Tracer) or isinstance(count, jax.core.Tracer):
        # Unordered, which several devices require; every value carries its step.
        jax.debug.callback(write, value, count)
    else:
        write(value, step)  # a counter may be larger than JAX's ints
    return True


def write_scalar_summaries(logs: Mapping[str, Any], step: TensorLike) -> None:
    """Write the logs of a batch to the default writer, each as `batch_` and its name.

    Values with dimensions are not written, nor is anything unless a writer is active: call it
    inside `writer.as_default()`. It costs a transfer to the host for every value of every step.

    Args:
        logs: The values by name, as `train_step` returns them.
        step: The number of the step, such as `model._train_counter`.

    Example:
        >>> from podium.compat.keras.engine import training
        >>> training.write_scalar_summaries({"loss": 0.5}, step=1)
    """
    for name, value in logs.items():
        if np.ndim(value) == 0:
            scalar(f"batch_{name}", value, step)
