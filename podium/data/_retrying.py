"""Retrying: a source whose failing reads are tried again, and RetryPolicy: when and how often.

It owns the counts and the warnings. How a read is repeated is the matter of
`adapters/_retrying_adapter.py`, and of the workers of a PyDataset.
"""

from __future__ import annotations

import collections
import dataclasses
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple

from podium._typing import T, Tree
from podium.core import caller_location
from podium.core.internal import check_int, check_number

_ONE_SHOT = (
    "Retrying was given {source}, which can be read only once: what it raised cannot be read "
    "again, since a generator has ended in Python when it raises. Pass the function that makes it, "
    "without calling it: `Retrying(read_batches)`, or `Retrying(lambda: read_batches(path))`. It "
    "is then called again, and the batches before are skipped."
)


class RetriedRead(NamedTuple, Generic[T]):
    """What a read returned, after the errors of earlier tries.

    Attributes:
        value: What was read.
        errors: The errors.
        seconds: How long the tries took that failed, with the waits after them.
    """

    value: T
    errors: Sequence[Exception] = ()
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """When and how often a read is tried again; it can be copied to other processes.

    Attributes:
        times: The largest number of times that one read is tried again.
        on: The exceptions after which it is.
        delay: The seconds before the first time; they double with each time.
        max_delay: The largest number of seconds.
    """

    times: int
    on: tuple[type[Exception], ...]
    delay: float
    max_delay: float

    def wait(self, errors: Sequence[Exception]) -> None:
        """Wait before the next try of a read.

        Args:
            errors: What it has raised so far.

        Raises:
            Exception: The last of them, if the read is not to be tried again.
        """
        if len(errors) > self.times:
            error = errors[-1]
            error.add_note(
                f"It was tried {len(errors)} times, and failed each time: podium.data.Retrying has "
                f"times={self.times}."
            )
            raise error
        time.sleep(min(self.delay * 2.0 ** (len(errors) - 1), self.max_delay))

    def read(self, read: Callable[..., T], *args: Any) -> RetriedRead[T]:
        """Call a function that returns the same at every call, until it succeeds."""
        errors: list[Exception] = []
        start, failed = time.perf_counter(), 0.0
        while True:
            try:
                return RetriedRead(read(*args), errors, failed)
            except self.on as error:
                errors.append(error)
            self.wait(errors)
            failed = time.perf_counter() - start


class Retrying:
    """A data source whose reads are tried again when they fail, for `fit`, `evaluate` and
    `predict`, in place of the source.

    Every batch is returned once and in its place, whatever fails: a batch by index is read again; a
    source that can start at a position is read from that batch on; any other source is read from
    its start, and the batches before are skipped after a comparison with those of the first time.
    Positions are those of the source, so that a run can be resumed with or without it.

    A warning is given at the first retry of a run, and a summary at its end.

    Args:
        source: Arrays (with `y` and `batch_size` as usual), a Dataset, a PyDataset, an iterable of
            batches; or a function that returns a generator or iterator, which is called for each
            pass. Not a generator itself.
        times: The largest number of times that one read is tried again. After that its error is
            raised.
        on: The exceptions after which it is tried again: a class or a tuple of classes.
        delay: The seconds before the first retry of a read; they double with each retry.
        max_delay: The largest number of seconds.

    Attributes:
        source: The source.
        retries: How many times a read was tried again, in all runs.
        errors: The number of failures by the name of the exception.
        seconds: How long the failed tries and the waits took.

    Raises:
        TypeError: The source can be read only once, or `on` is not an exception class.

    Example:
        >>> import warnings
        >>> attempts = []
        >>> def read_batches():
        ...     attempts.append(len(attempts))
        ...     for index in range(3):
        ...         if index == 1 and len(attempts) == 1:
        ...             raise OSError("the network is down")
        ...         yield np.full((2, 1), float(index)), np.zeros((2, 1))
        >>> model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> data = podium.data.Retrying(read_batches, delay=0.0)
        >>> with warnings.catch_warnings(action="ignore"):
        ...     _ = model.fit(data, verbose=0)
        >>> int(model.optimizer.iterations), data.retries, dict(data.errors)
        (3, 1, {'OSError': 1})
    """

    def __init__(
        self,
        source: Any,
        times: int = 3,
        on: type[Exception] | tuple[type[Exception], ...] = (OSError,),
        *,
        delay: float = 0.1,
        max_delay: float = 5.0,
    ):
        if isinstance(source, Retrying):
            raise TypeError(
                "Retrying was given a Retrying source. Wrap the source once, with all exceptions: "
                "`Retrying(source, on=(OSError, TimeoutError))`."
            )
        if hasattr(source, "__next__"):
            raise TypeError(_ONE_SHOT.format(source=f"a {type(source).__name__}"))
        if callable(source) and not hasattr(source, "__iter__") and not hasattr(source, "shape"):
            source = GeneratorFunction(source)
        self.source = source
        self.policy = RetryPolicy(
            check_int("times", times, 0, owner=self),
            _check_exceptions(on),
            check_number("delay", delay, 0.0, owner=self),
            check_number("max_delay", max_delay, 0.0, owner=self),
        )
        self.retries = 0
        self.errors: collections.Counter[str] = collections.Counter()
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._retries_before = 0  # this run
        self._location = caller_location()  # of warnings, which may come from a thread

    def record(self, errors: Sequence[Exception], seconds: float) -> None:
        """Count failures after which a read is tried again."""
        with self._lock:
            is_first = self.retries == self._retries_before
            self.retries += len(errors)
            self.seconds += seconds
            self.errors.update(type(error).__name__ for error in errors)
        if is_first and errors:
            error = errors[0]
            self._warn(
                f"Reading the data failed with {type(error).__name__}: {error} It is tried again, "
                f"up to {self.policy.times} times for each batch; the following retries of this "
                "run are counted, in `Retrying.retries`."
            )

    def end_run(self) -> None:
        """Report the retries of a run if there were several."""
        with self._lock:
            count, self._retries_before = self.retries - self._retries_before, self.retries
        if count > 1:
            kinds = ", ".join(f"{name} {number}" for name, number in self.errors.most_common())
            self._warn(
                f"Reads of the data were tried again {count} times in this run. In all runs there "
                f"were {self.retries} retries ({kinds}), which took {self.seconds:.1f} s."
            )

    def _warn(self, message: str) -> None:
        warnings.warn_explicit(message, UserWarning, *self._location)

    def __repr__(self) -> str:
        policy = self.policy
        names = ", ".join(error.__name__ for error in policy.on)
        return f"<podium.data.Retrying times={policy.times}, on=({names}), retries={self.retries}>"


class GeneratorFunction:
    """Iterates over what a function returns, which is called for each iteration.

    Example:
        >>> from podium.data._retrying import GeneratorFunction
        >>> list(GeneratorFunction(lambda: iter([1, 2])))
        [1, 2]
    """

    def __init__(self, function: Callable[[], Iterable[Tree]]):
        self._function = function

    def __iter__(self) -> Iterator[Tree]:
        batches = self._function()
        if not hasattr(batches, "__iter__"):
            name = getattr(self._function, "__name__", type(self._function).__name__)
            raise TypeError(
                f"Retrying was given the function `{name}`, which returned {batches!r}; a "
                "generator, or another iterable of batches, was expected."
            )
        return iter(batches)


def _check_exceptions(on: object) -> tuple[type[Exception], ...]:
    """Return the argument `on` as a tuple."""
    classes = on if isinstance(on, tuple) else (on,)
    for item in classes:
        if not (isinstance(item, type) and issubclass(item, Exception)):
            raise TypeError(
                f"Retrying was given on={on!r}; a class of exceptions, or a tuple of them, was "
                "expected, such as `OSError` or `(OSError, TimeoutError)`."
            )
        if issubclass(item, StopIteration):
            raise TypeError(
                f"Retrying was given on={on!r}; StopIteration is the end of the data, and is not "
                "tried again."
            )
    return classes
