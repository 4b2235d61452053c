"""DataHandler: owns epochs and steps. It knows how many batches there are, when they end, and
groups k of them.

Which object owns which argument of `fit`:
    the handler         epochs, initial_epoch, steps_per_epoch, steps_per_execution
    the adapter         x, y, sample_weight, batch_size, shuffle: what kind of source, cut into
    which batches ClassWeight         class_weight: sample weights in the place of class weights the
    Iterator        one walk: what was pulled, given back, read ahead on a thread Validation
    validation_data, validation_steps, validation_batch_size, validation_freq: another handler
What is done with a batch is the conductor's business.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from podium.core import Selection, check_choice, warn_user
from podium.core.internal import check_int
from podium.data._argument_names import ARGUMENT_NAMES
from podium.data._device_budget import device_budget
from podium.data._iterator import Iterator
from podium.data._read_ahead import ReadAhead
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._batch_reader import BatchReader
from podium.data.adapters._choose_adapter import choose_adapter

_MANY_STEPS = 100_000  # in one epoch of unknown length: time to say that it may never end


class StepsPerExecution:
    """The number of steps of an execution, as a value that code written for Keras 2 can read.

    A `make_train_function` of the user's own may read `model._steps_per_execution`. While a
    `DataHandler` iterates, it sets the number to the steps of the current execution, which are fewer
    at the end of an epoch, and restores it. Podium itself passes the number by value.

    Args:
        value: The number of steps, or "auto" for a number that is chosen while steps run.

    Example:
        >>> k = podium.data.StepsPerExecution(4)
        >>> k.assign(3)
        >>> int(k), k.value
        (3, 3)
    """

    def __init__(self, value: int | str = 1):
        self.auto = value == "auto"
        self.assign(1 if value == "auto" else value)

    def assign(self, value: Any) -> None:
        """Set the number; a run that has begun keeps its own."""
        self.value = self.given = check_int("steps_per_execution", value, integral_floats=True)

    def numpy(self) -> np.int64:
        """Return the number as a NumPy scalar."""
        return np.int64(self.value)

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __repr__(self) -> str:
        return f"StepsPerExecution({self.value})"


class DataHandler:
    """Walks a source of batches in epochs and steps, the way `fit`, `evaluate` and `predict` do.

    `steps()` looks one batch ahead: it yields a step only if there is a batch for it. A source of
    unknown size is read to its end, and its size is known from then on. A source that ends before
    the steps that were asked for ends everything, with a warning; an epoch in which nothing could
    be read never begins.

    Args:
        x: Arrays in any nesting, a Dataset, a generator or iterator, or anything that can be
            iterated again and again and gives batches.
        y: Targets; only with arrays.
        sample_weight: Weights of samples; only with arrays.
        batch_size: Samples per batch, 32 by default; only with arrays.
        steps_per_epoch: Batches per epoch; by default all there are. With arrays an epoch is at
            most one pass: with fewer steps the next epoch goes on where the last one stopped, and
            more steps than batches run out of data.
        initial_epoch: The number of the first epoch.
        epochs: The number to stop before.
        shuffle: True, False or "batch" (batches in random order, rows within them as they are);
            with arrays, and True for the order of a PyDataset's batches.
        class_weight: `{class: weight}`, or `{output name: {class: weight}}`; turned into sample
            weights.
        steps_per_execution: A StepsPerExecution, or a whole number.
        caller: Whose arguments messages name: "fit", "evaluate", "predict", "predict_iter" or
            "validation". Only "predict_iter" takes data without an end when no steps are given.
        output_names: The names of the model's outputs, for a class_weight by output.
        same_lengths: Whether x, y and sample_weight of a batch from a generator or Dataset must
            have as many rows as each other; False for a step that pairs them in its own way.
        workers: Keras 2's `workers`, `use_multiprocessing` and `max_queue_size`, those that were
            given; for a PyDataset.
        shuffle_seed: Decides the order of shuffled arrays. By default it is drawn;
            `set_random_seed` makes that repeat.

    Attributes:
        steps_per_execution: The number of steps of an execution, but for the last one of an epoch.
            Setting it takes effect with the next execution.
        execution_steps: The number of steps of the current execution: those to run, and after
            `record_steps` those that were run.

    Raises:
        ValueError: A count is out of range, the data are empty, of unequal lengths or contradict
            other arguments.
        TypeError: An argument is of the wrong type.

    Example:
        >>> data = podium.data.DataHandler(np.arange(7.0), batch_size=1, steps_per_execution=3)
        >>> for epoch, iterator in data.enumerate_epochs():
        ...     with data.catch_stop_iteration():
        ...         for step in data.steps():
        ...             batches = iterator.next_group(3)
        ...             print(step, step + data.step_increment, len(batches))
        0 2 3
        3 5 3
        6 6 1
    """

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        initial_epoch: int = 0,
        epochs: int = 1,
        shuffle: bool | str = False,
        class_weight: Any = None,
        steps_per_execution: StepsPerExecution | int | None = None,
        *,
        caller: str = "fit",
        output_names: list[str] | None = None,
        same_lengths: bool = True,
        workers: Mapping[str, Any] | None = None,
        shuffle_seed: int | None = None,
    ):
        names = ARGUMENT_NAMES[check_choice("caller", caller, list(ARGUMENT_NAMES))]
        steps = (
            None
            if steps_per_epoch is None
            else check_int(names.steps, steps_per_epoch, integral_floats=True)
        )
        if not isinstance(steps_per_execution, StepsPerExecution):
            steps_per_execution = StepsPerExecution(
                1 if steps_per_execution is None else steps_per_execution
            )
        self._names = names
        self._steps_asked = steps
        self._initial_epoch = check_int("initial_epoch", initial_epoch, 0, integral_floats=True)
        self._epochs = check_int("epochs", epochs, integral_floats=True)
        self._steps_per_execution = steps_per_execution  # written here, and never read
        self.steps_per_execution = steps_per_execution.given
        self._outer_steps: int | None = None  # of the current execution of a run around this one
        batch_size = (
            None
            if batch_size is None
            else check_int(names.batch_size, batch_size, integral_floats=True)
        )
        self._adapter: DataAdapter
        self._adapter, self._transform = choose_adapter(
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps,
            shuffle=shuffle,
            seed=shuffle_seed,
            class_weight=class_weight,
            output_names=output_names,
            names=names,
            workers=workers,
        )
        self._inferred_steps = self._adapter.get_size() if steps is None else steps
        passes = 2 if caller == "validation" else self._epochs - self._initial_epoch
        self._adapter.keep_on_device(device_budget(), passes)
        self._reader = None if self._adapter.checked else BatchReader(self._adapter, same_lengths)
        self._elements: Any = None
        self._iterator: Iterator
        self._fresh = False
        self._epoch = self._first_epoch = self._initial_epoch
        self._first_step = 0  # where the first epoch is continued, after `seek`
        self._begun_at = 0  # what the walk had given when the epoch began
        self._start(self._initial_epoch)
        self._current_step = 0
        self.execution_steps = self.steps_per_execution
        self._insufficient_data = False
        self.peek()

    # --- the walk

    def enumerate_epochs(self) -> Generator[tuple[int, Iterator], None, None]:
        """Yield `(epoch, iterator)`. Walking again starts again, as far as the source allows."""
        self._insufficient_data = False
        if not self._fresh:
            self._first_epoch, self._first_step = self._initial_epoch, 0
            self._start(self._initial_epoch)
        with self._truncate_execution_to_epoch():
            for epoch in range(self._first_epoch, self._epochs):
                if self._insufficient_data:
                    return
                if (
                    not self._fresh
                    and epoch > self._first_epoch
                    and self._adapter.should_recreate_iterator()
                ):
                    self._start(epoch)
                iterator = self._iterator
                if (
                    iterator.exhausted() and not self._first_step
                ):  # an epoch without a batch never begins
                    self._run_out()
                    return
                self._epoch, self._fresh = epoch, False
                self._begun_at = iterator.num_returned - self._first_step
                yield epoch, iterator
                self._adapter.on_epoch_end()
                self._first_step = 0

    def steps(self) -> Generator[int, None, None]:
        """Yield the index of the first step of each execution of the current epoch."""
        self._current_step = self._first_step
        limit = self._limit()
        may_end = self._steps_asked is not None or limit is None
        self._iterator.allow(
            None if limit is None else limit - self._current_step, self.steps_per_execution
        )
        while limit is None or self._current_step < limit:
            if self._insufficient_data:
                return
            if may_end and self._iterator.exhausted():
                self._end_of_data()
                return
            count = self.steps_per_execution
            if limit is not None:
                count = min(count, limit - self._current_step)
            self.execution_steps = self._steps_per_execution.value = count
            try:
                yield self._current_step
            finally:
                self._steps_per_execution.value = self.steps_per_execution
            if limit is None:
                self._warn_if_endless()
            self._current_step += self.execution_steps

    def record_steps(self, count: int | None) -> int:
        """Hear how many batches the execution really took, which may be fewer at the end; return
        the last step's index.

        None stands for as many as it was asked for.
        """
        if count is not None:
            self.execution_steps = count
        return self._current_step + self.execution_steps - 1

    def position(self) -> dict[str, Any]:
        """Return where the run is: the epoch, its next step, and the place in the source; a value
        that JSON can hold.

        `seek` puts a handler of the same arguments back to it, without reading what came before.

        Raises:
            ValueError: The source cannot be put back to a place, so it gives none.

        Example:
            >>> data = podium.data.DataHandler(np.arange(6.0), batch_size=2, epochs=3, shuffle=True)
            >>> for epoch, iterator in data.enumerate_epochs():
            ...     first, where = next(iterator), data.position()
            ...     rest = [batch.numpy().tolist() for batch in iterator]
            >>> again = podium.data.DataHandler(np.arange(6.0), batch_size=2, epochs=3, shuffle=True)
            >>> again.seek(where)
            >>> (where["epoch"], where["step"]), [[b.numpy().tolist() for b in i] for _, i in again.enumerate_epochs()] == [rest]
            ((2, 1), True)
        """
        self._check_seekable()
        step = self._iterator.num_returned - self._begun_at
        place = {"walk": self._walk, "place": self._adapter.position(self._iterator.num_returned)}
        return {"epoch": self._epoch, "step": step, **place}

    def seek(self, position: dict[str, Any], ended: bool | None = None) -> None:
        """Start the next `enumerate_epochs` at a position that `position()` returned.

        Args:
            position: Where to.
            ended: Whether that epoch is over, so that the next one begins. By default it is if no
                step of it is left; with False it is walked once more then, without a step: what
                follows its last step is still to be done.

        Raises:
            ValueError: The source cannot be put back to a place, or the position is none of such a
                source.
        """
        self._check_seekable()
        if not isinstance(position, dict) or set(position) != {"epoch", "step", "walk", "place"}:
            raise ValueError(
                f"seek({position!r}): a position that `position()` returned was expected."
            )
        self._first_epoch, self._first_step = position["epoch"], position["step"]
        limit = self._limit()
        self._start(position["walk"], position["place"])
        if ended is None:
            ended = limit is not None and self._first_step >= limit
        if ended:
            self._first_epoch, self._first_step = self._first_epoch + 1, 0
            if self._adapter.should_recreate_iterator():
                # ends the walk, which has nothing left: shuffles count it
                self._iterator.exhausted()
                self._start(self._first_epoch)

    def order(self) -> Any:
        """Return what decides the order of the next walk from the start, as JSON can hold it: for
        data that are walked whole.

        Raises:
            ValueError: The source can be read only once.
        """
        if self._adapter.one_shot:
            self._check_seekable()
        return self._adapter.current_order() if self._fresh else self._adapter.next_order()

    def set_order(self, order: Any) -> None:
        """Put back what `order()` returned, before a walk from the start."""
        if order:
            self._adapter.set_order(order)
            self._fresh = False  # the walk that waits has another order

    def _check_seekable(self) -> None:
        if not self._adapter.seekable:
            raise ValueError(
                f"`{self._names.x}` is a {self._adapter.kind} "
                f"({type(self._adapter.source).__name__}), which cannot be put back to a place in "
                "the middle: it can only be read from its start, or from where it is. Arrays, "
                "files of arrays, and Datasets made of them can."
            )

    def peek(self) -> Any:
        """Return the next batch as arrays without taking it.

        Raises:
            ValueError: There is none, because the data are empty or a generator has been read to
                its end.
        """
        if self._iterator.exhausted():
            raise ValueError(
                f"`{self._names.x}` is empty: it gave no batch. It may be a generator that has "
                "been read to its end (exhausted); make a new one. Expect x to be a non-empty "
                "array or dataset: the dataset must contain at least one batch of samples."
            )
        element = self._iterator.next_batch()
        self._iterator.unread([element])
        return element.batch() if isinstance(element, Selection) else element

    @contextlib.contextmanager
    def catch_stop_iteration(self) -> Generator[None, None, None]:
        """Take a StopIteration raised inside, by a step that read past the end, as the end of the
        epoch.
        """
        try:
            yield
        except StopIteration:
            self._end_of_data()

    # --- what is known

    @property
    def step_increment(self) -> int:
        """What to add to a step of `steps()` to get the last one of its execution."""
        return self.execution_steps - 1

    @property
    def inferred_steps(self) -> int | None:
        """Batches in an epoch; None as long as nobody knows."""
        return self._inferred_steps

    @property
    def samples(self) -> int | None:
        """Samples in an epoch; None as long as nobody knows.

        Example:
            >>> data = podium.data.DataHandler(np.ones((70, 2)), batch_size=32, steps_per_epoch=2)
            >>> data.samples
            64
        """
        size, full = self._adapter.get_size(), self._adapter.batch_size()
        if size is None or full is None or self._inferred_steps is None:
            return None
        if self._inferred_steps < size:
            return self._inferred_steps * full
        return (size - 1) * full + (self._adapter.partial_batch_size() or full)

    @property
    def epochs_in_all(self) -> int:
        """How many epochs there are to walk."""
        return max(0, self._epochs - self._first_epoch)

    @property
    def should_sync(self) -> bool:
        """Whether the size is not known yet, so that a batch may be the last."""
        return self._inferred_steps is None

    @property
    def insufficient_data(self) -> bool:
        """Whether the data ended before the steps that were asked for."""
        return self._insufficient_data

    @property
    def adapter(self) -> DataAdapter:
        """The adapter for this kind of source."""
        return self._adapter

    # --- the inside

    def _start(self, epoch: int, place: Any = 0) -> None:
        """Start a new walk; where a source can only go on, keep the iterator and what it has read
        ahead.
        """
        self._adapter.start = place
        elements = self._adapter.iterate(epoch, place)
        if not self._adapter.one_shot or elements is not self._elements:
            if self._elements is not None:
                self._iterator.close()
            first = place if isinstance(place, int) else 0
            read = elements if self._reader is None else self._reader.read(elements, first)
            if not self._adapter.one_shot and not self._adapter.quick:
                read = ReadAhead(read, self.steps_per_execution)
            self._elements, self._iterator = elements, Iterator(read, self._transform)
            self._walk = epoch
        self._fresh = True  # nothing of it has been handed out yet

    def __enter__(self) -> DataHandler:
        steps = self._steps_per_execution
        self._outer_steps = None if steps.value == steps.given else steps.value
        return self

    def __exit__(self, *_: Any) -> None:
        """End what reads ahead. A generator of the user's keeps what is left of it."""
        if not self._adapter.one_shot:
            self._iterator.close()
            self._fresh = False
        steps = self._steps_per_execution
        self.steps_per_execution = steps.given
        steps.value = steps.given if self._outer_steps is None else self._outer_steps
        self._adapter.close()

    def _limit(self) -> int | None:
        """Return where an epoch stops although there may be more batches, or None to read to the
        end.
        """
        if self._steps_asked is not None:
            return self._steps_asked
        return self._adapter.get_size()

    def _end_of_data(self) -> None:
        """Learn the size of data that were read to their end, or note that they were too few."""
        if self._limit() is None:
            self._inferred_steps = self._current_step
        else:
            self._run_out()

    def _run_out(self) -> None:
        if self._insufficient_data:
            return
        self._insufficient_data = True
        wanted = (self._epochs - self._initial_epoch) * (self._inferred_steps or 1)
        warn_user(
            "Your input ran out of data; interrupting training. Make sure that your dataset or "
            f"generator can generate at least `{self._names.steps} * epochs` batches (in this "
            f"case, {wanted} batches). You may need to use the `.repeat()` function when building "
            "your dataset."
        )

    def _warn_if_endless(self) -> None:
        before = self._current_step
        if self._names.allows_infinite:
            return
        if self._inferred_steps is None and before < _MANY_STEPS <= before + self.execution_steps:
            warn_user(
                f"{_MANY_STEPS} batches have been read in one epoch, and `{self._names.x}` has not "
                "ended. If it never does, say how many batches make an epoch: "
                f"`{self._names.steps}=...`."
            )

    @contextlib.contextmanager
    def _truncate_execution_to_epoch(self) -> Generator[None, None, None]:
        """Lower the number of steps per execution to the length of an epoch, and restore it
        afterwards.
        """
        original, size = self.steps_per_execution, self._inferred_steps
        if size is None or original <= size:
            yield
            return
        self.steps_per_execution = self._steps_per_execution.value = size
        try:
            yield
        finally:
            self.steps_per_execution = self._steps_per_execution.value = original


def get_data_handler(*args: Any, model: Any = None, **kwargs: Any) -> DataHandler:
    """Return the DataHandler for a source; takes its arguments.

    Example:
        >>> podium.data.get_data_handler(np.ones((70, 2))).inferred_steps
        3
    """
    return DataHandler(*args, **kwargs)
