"""DataHandler: counts the epochs and steps of a run, and divides steps into executions.

Which object owns which argument of `fit`:
    DataHandler    epochs, initial_epoch, steps_per_epoch, steps_per_execution, max_steps
    DataAdapter    x, y, sample_weight, batch_size, shuffle: the kind of source and its batches
    ClassWeight    class_weight, turned into sample weights
    Iterator       one iteration: elements that were read, unread, and read ahead on a thread
    Validation     validation_data, validation_steps, validation_batch_size, validation_freq
What is done with a batch is decided in `execution`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from podium._typing import Tree
from podium.core import Selection, check_choice, max_steps_per_epoch, warn_user
from podium.core.internal import PublicRepr, check_int
from podium.data._argument_names import ARGUMENT_NAMES
from podium.data._device_budget import device_budget
from podium.data._iterator import Iterator
from podium.data._random_draws import RandomDraws
from podium.data._read_ahead import ReadAhead
from podium.data._steps_per_execution import StepsPerExecution
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.adapters._batch_reader import BatchReader
from podium.data.adapters._choose_adapter import choose_adapter

_MANY_STEPS = 100_000  # an epoch of unknown length that reaches this many steps warns


class DataHandler(PublicRepr):
    """Iterates over a source of batches in epochs and steps, as `fit`, `evaluate` and `predict` do.

    `steps()` reads one batch ahead: it yields a step only if there is a batch for it. A source of
    unknown size is read to its end, and its size is known from then on. If a source ends before the
    requested steps, the run ends with a warning; an epoch without any batch does not begin.

    Args:
        x: Arrays in any nesting, a Dataset, a generator or iterator, or any other object that
            yields batches and can be iterated repeatedly.
        y: Targets; only with arrays.
        sample_weight: Weights of samples; only with arrays.
        batch_size: Samples per batch, 32 by default; only with arrays.
        steps_per_epoch: Batches per epoch; by default all. With arrays, an epoch of fewer or more
            steps than there are batches continues where the last one stopped, and with the next
            pass; there are as many passes as epochs, then the data have run out.
        initial_epoch: The index of the first epoch.
        epochs: The index of the epoch before which to stop; None for no limit.
        shuffle: True, False or "batch" (batches in random order, rows within them as they are);
            with arrays, and True for the order of a PyDataset's batches.
        class_weight: `{class: weight}`, or `{output name: {class: weight}}`; turned into sample
            weights.
        steps_per_execution: A StepsPerExecution, or an int.
        caller: The method whose arguments messages name: "fit", "evaluate", "predict",
            "predict_iter" or "validation". Only "predict_iter" accepts infinite data without a
            number of steps.
        output_names: The names of the model's outputs, for a class_weight by output.
        same_lengths: Whether x, y and sample_weight of a batch from a generator or Dataset must
            have the same number of rows; False for custom steps that pair them differently.
        workers: Those of Keras 2's `workers`, `use_multiprocessing` and `max_queue_size` that were
            passed, for a PyDataset.
        max_steps: The largest number of steps of the run, or `sys.maxsize` if the caller ends it by
            other means: infinite data are accepted then. The caller sets `max_execution_steps`.
        check: Called with each batch of a generator or Dataset when it is read; it raises for
            values that the model cannot use.
        shuffle_seed: Determines the order of shuffled arrays. By default it is drawn;
            `set_random_seed` makes it repeatable.
        transform: Applied to each batch of arrays when it is read.

    Attributes:
        steps_per_execution: The number of steps of an execution, except the last one of an epoch.
            Setting it takes effect with the next execution.
        execution_steps: The number of steps of the current execution: those to run, and after
            `record_steps` those that were run.
        max_execution_steps: The largest number of steps of the next execution; None for no limit,
            and 0 to end the epoch and the run.

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
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        batch_size: int | None = None,
        steps_per_epoch: int | None = None,
        initial_epoch: int = 0,
        epochs: int | None = 1,
        shuffle: bool | str = False,
        class_weight: Mapping[Any, Any] | None = None,
        steps_per_execution: StepsPerExecution | int | None = None,
        *,
        caller: str = "fit",
        output_names: list[str] | None = None,
        same_lengths: bool = True,
        workers: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        check: Callable[[Tree], None] | None = None,
        shuffle_seed: int | None = None,
        transform: Callable[[Tree], Tree] | None = None,
    ):
        names = ARGUMENT_NAMES[check_choice("caller", caller, list(ARGUMENT_NAMES))]
        most_steps = max_steps_per_epoch()
        if max_steps is not None or most_steps is not None:
            names = dataclasses.replace(names, allows_infinite=True)
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
        self._initial_epoch = check_int("initial_epoch", initial_epoch, 0, integral_floats=True)
        self._epochs = (
            sys.maxsize if epochs is None else check_int("epochs", epochs, integral_floats=True)
        )
        self._run_steps = max_steps
        self.max_execution_steps = max_steps
        self._steps_per_execution = steps_per_execution  # written here, and never read
        self.steps_per_execution = steps_per_execution.given
        self._outer_steps: int | None = None  # of the current execution of an enclosing run
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
            end_epoch=None if epochs is None else self._epochs,
        )
        self._requested_steps = steps = self._adapter.limit_steps(steps, most_steps)
        self._inferred_steps = self._adapter.get_size() if steps is None else steps
        self._first_epoch = self._initial_epoch
        self._keep_on_device_unless(transform, 2 if caller == "validation" else self.num_epochs)
        self._reader = self._make_reader(same_lengths, check)
        self._elements: Iterable[Tree] | None = None
        self._iterator: Iterator
        self._iteration_epoch = self._initial_epoch  # in which the current iteration was started
        self._has_started = True  # whether a batch of the current iteration was returned
        self._epoch = self._initial_epoch
        self._first_step = 0  # where the first epoch continues, after `seek`
        self._returned_before_epoch = 0  # batches of the iteration before the current epoch
        self._draws = RandomDraws(recording=not self._adapter.quick)
        self._current_step, self._insufficient_data = 0, False
        self.execution_steps = self.steps_per_execution
        self._read_first_batch()

    # --- iterating

    def enumerate_epochs(self) -> Generator[tuple[int, Iterator], None, None]:
        """Yield `(epoch, iterator)`. A second call starts again, if the source allows it."""
        self._insufficient_data = False
        if self._has_started:
            self._first_epoch, self._first_step = self._initial_epoch, 0
            self._start(self._initial_epoch)
        with self._truncate_execution_to_epoch():
            for epoch in range(self._first_epoch, self._epochs):
                is_over = self.max_execution_steps == 0 and not self._first_step
                if self._insufficient_data or is_over:
                    return
                if (
                    self._has_started
                    and epoch > self._first_epoch
                    and self._adapter.should_recreate_iterator()
                ):
                    self._start(epoch)
                iterator = self._iterator
                if self._first_step:  # a batch of a resumed epoch is not read before it is used
                    limit = self._max_steps()
                    if limit is not None and self._first_step >= limit:
                        self._end_iteration()
                elif iterator.is_exhausted():
                    self._warn_insufficient_data()  # an epoch without a batch does not begin
                    return
                self._epoch, self._has_started = epoch, True
                self._returned_before_epoch = iterator.num_returned - self._first_step
                yield epoch, iterator
                self._adapter.on_epoch_end()
                self._first_step = 0

    def steps(self) -> Generator[int, None, None]:
        """Yield the index of the first step of each execution of the current epoch."""
        self._current_step = self._first_step
        limit = self._max_steps()
        may_end = self._requested_steps is not None or limit is None
        self._iterator.allow(
            None if limit is None else limit - self._current_step, self.steps_per_execution
        )
        while limit is None or self._current_step < limit:
            if self._insufficient_data or self.max_execution_steps == 0:
                return
            if may_end and self._iterator.is_exhausted():
                self._on_end_of_data()
                return
            count = self.steps_per_execution
            if limit is not None:
                count = min(count, limit - self._current_step)
            if self.max_execution_steps is not None:
                count = min(count, self.max_execution_steps)
            self.execution_steps = self._steps_per_execution.current = count
            try:
                yield self._current_step
            finally:
                self._steps_per_execution.current = self.steps_per_execution
            if limit is None:
                self._warn_if_infinite()
            self._current_step += self.execution_steps

    def record_steps(self, count: int | None) -> int:
        """Record the number of steps that the execution has run, which may be fewer at the end, and
        return the index of the last one.

        None means all that were requested.
        """
        if count is not None:
            self.execution_steps = count
        return self._current_step + self.execution_steps - 1

    def position(self) -> dict[str, Any]:
        """Return the position of the run: the epoch, its next step, and the position in the source,
        as a JSON-compatible value.

        `seek` restores it in a handler with the same arguments, without reading earlier batches.

        Raises:
            ValueError: The source cannot start in the middle.

        Example:
            >>> x = np.arange(6.0)
            >>> data = podium.data.DataHandler(x, batch_size=2, epochs=3, shuffle=True)
            >>> for epoch, iterator in data.enumerate_epochs():
            ...     first, position = next(iterator), data.position()
            ...     remaining = [batch.numpy().tolist() for batch in iterator]
            >>> position["epoch"], position["step"]
            (2, 1)
            >>> data = podium.data.DataHandler(x, batch_size=2, epochs=3, shuffle=True)
            >>> data.seek(position)
            >>> for epoch, iterator in data.enumerate_epochs():
            ...     print([batch.numpy().tolist() for batch in iterator] == remaining)
            True
        """
        self._check_seekable()
        self._draws.release(self._iterator.num_returned)
        step = self._iterator.num_returned - self._returned_before_epoch
        source_position = self._adapter.position(self._iterator.num_returned)
        # "walk" is the epoch in which the iteration was started.
        return {
            "epoch": self._epoch,
            "step": step,
            "walk": self._iteration_epoch,
            "place": source_position,
        }

    def seek(self, position: dict[str, Any], ended: bool | None = None) -> None:
        """Start the next `enumerate_epochs` at a position that `position()` returned.

        Args:
            position: The position.
            ended: Whether that epoch has ended, so that the next one begins. By default it has if
                no step of it is left; with False the epoch is then enumerated once more, without a
                step, because what follows its last step is still to be done.

        Raises:
            ValueError: The source cannot start in the middle, or the position is not valid.
        """
        self._check_seekable()
        if not isinstance(position, dict) or set(position) != {"epoch", "step", "walk", "place"}:
            raise ValueError(
                f"seek({position!r}): a position that `position()` returned was expected."
            )
        self._first_epoch, self._first_step = position["epoch"], position["step"]
        limit = self._max_steps()
        self._start(position["walk"], position["place"])
        if ended is None:
            ended = limit is not None and self._first_step >= limit
        if ended:
            self._first_epoch, self._first_step = self._first_epoch + 1, 0
            if self._adapter.should_recreate_iterator():
                self._end_iteration()
                self._start(self._first_epoch)

    def replay(self, position: dict[str, Any], ended: bool) -> None:
        """Continue the current `enumerate_epochs` from a position, as a resumed run does.

        Args:
            position: The position, in the current epoch.
            ended: Whether that epoch has ended.
        """
        if ended:
            self.seek(position, ended)
            return
        iterator = self._iterator
        self._start(position["walk"], position["place"])
        iterator.replace_elements(self._iterator)  # the one that `enumerate_epochs` has yielded
        self._iterator, self._has_started = iterator, True
        self._returned_before_epoch = -position["step"]
        limit = self._max_steps()
        iterator.allow(
            None if limit is None else limit - position["step"], self.steps_per_execution
        )

    def read_ahead(self, count: int) -> list[Tree]:
        """Return up to `count` of the next batches of the epoch; `replay` then returns to those
        before.
        """
        limit = self._max_steps()
        if limit is not None:
            count = min(count, limit - self._iterator.num_returned + self._returned_before_epoch)
        is_at_end = count <= 0 or self._iterator.is_exhausted()
        return [] if is_at_end else self._iterator.next_group(count)

    # --- random numbers that the source draws from the global generators

    def record_draws(self) -> None:
        """Record from now on what the source draws, so that a resumed run draws the same numbers.

        A source that draws is read in the caller's thread, in an order that is always the same.
        """
        self._draws.recording = not self._adapter.quick

    def draws(self) -> tuple[set[str], set[str]]:
        """Return the names of the generators that the source has drawn from, and of those among
        them whose numbers cannot be drawn again, because other threads or processes have drawn.
        """
        from_processes = self._adapter.process_draws()
        drawn = self._draws.generators | from_processes
        return drawn, drawn if self._adapter.concurrent else from_processes

    def unused_draws(self, position: dict[str, Any] | None = None) -> list[dict[str, Any] | None]:
        """Return the state of the generators before each batch that was read after a position, for
        `read_again`; by default after those that were returned.
        """
        if position is None:
            return self._draws.unused_states(self._iterator.num_returned)
        if position["walk"] != self._iteration_epoch:
            return []
        return self._draws.unused_states(self._returned_before_epoch + position["step"])

    def read_again(self, states: list[dict[str, Any] | None]) -> None:
        """Read the next batches, each with the generators in its state, and keep them."""
        batches = []
        for state in states:
            self._draws.restore(state)
            batches.append(self._iterator.read_next())
        self._iterator.unread(batches)

    def order(self) -> list[Any]:
        """Return what determines the order of the next iteration from the start, as a
        JSON-compatible value.

        Raises:
            ValueError: The source can be read only once.
        """
        if self._adapter.one_shot:
            self._check_seekable()
        return self._adapter.next_order() if self._has_started else self._adapter.current_order()

    def set_order(self, order: list[Any]) -> None:
        """Restore what `order()` returned, before an iteration from the start."""
        if order:
            self._adapter.set_order(order)
            self._has_started = True  # the iteration that was prepared has another order

    def unused_validation_draws(self) -> list[dict[str, Any] | None] | None:
        """Return the `unused_draws` of an iteration that was prepared and has not started; None if
        the next `enumerate_epochs` starts a new one.
        """
        return None if self._has_started else self.unused_draws()

    def restart(self, states: list[dict[str, Any] | None] | None) -> None:
        """Prepare the next iteration from the start as in the run that
        `unused_validation_draws` described.
        """
        if states is None:
            self._has_started = True
        elif states:
            self._start(self._initial_epoch)
            self.read_again(states)

    def _check_seekable(self) -> None:
        if not self._adapter.seekable:
            raise ValueError(
                f"`{self._names.x}` is a {self._adapter.kind} "
                f"({type(self._adapter.source).__name__}), which cannot start in the middle: "
                "it can only be read from its start, or from its current position. Arrays, "
                "files of arrays, and Datasets made of them can."
            )

    def peek(self) -> Tree:
        """Return the next batch as arrays without consuming it.

        Raises:
            ValueError: There is none: the data are empty, or a generator is exhausted.
        """
        if self._iterator.is_exhausted():
            raise ValueError(
                f"`{self._names.x}` is empty: it has no batch. It may be a generator that is "
                "exhausted; make a new one. Expect x to be a non-empty "
                "array or dataset: the dataset must contain at least one batch of samples."
            )
        element = self._iterator.next_batch()
        self._iterator.unread([element])
        return element.batch() if isinstance(element, Selection) else element

    @contextlib.contextmanager
    def catch_stop_iteration(self) -> Generator[None, None, None]:
        """Treat a StopIteration raised inside, by a step that read past the end, as the end of the
        epoch.
        """
        try:
            yield
        except StopIteration:
            self._on_end_of_data()

    # --- properties

    @property
    def step_increment(self) -> int:
        """The difference between the last and the first step of the current execution."""
        return self.execution_steps - 1

    @property
    def inferred_steps(self) -> int | None:
        """The number of batches in an epoch; None while it is unknown."""
        return self._inferred_steps

    @property
    def samples(self) -> int | None:
        """The number of samples in an epoch; None while it is unknown.

        Example:
            >>> data = podium.data.DataHandler(np.ones((70, 2)), batch_size=32, steps_per_epoch=2)
            >>> data.samples
            64
        """
        size, full = self._adapter.get_size(), self._adapter.batch_size()
        if size is None or full is None or self._inferred_steps is None:
            return None
        passes, remaining = divmod(min(self._inferred_steps, size * self.num_epochs), size)
        one_pass = (size - 1) * full + (self._adapter.partial_batch_size() or full)
        return passes * one_pass + remaining * full

    @property
    def num_epochs(self) -> int:
        """The number of epochs to run, as far as it is known: the last one may be shorter."""
        epochs = max(0, self._epochs - self._first_epoch)
        if self._run_steps is None or not self._inferred_steps:
            return epochs
        return min(epochs, -(-self._run_steps // self._inferred_steps))

    @property
    def last_epoch(self) -> int | None:
        """The index of the epoch before which the run stops; None if it is not known."""
        if self._epochs == sys.maxsize and (
            self._run_steps in (None, sys.maxsize) or not self._inferred_steps
        ):
            return None
        return self._first_epoch + self.num_epochs

    @property
    def should_sync(self) -> bool:
        """Whether the number of batches is unknown, so that any batch may be the last."""
        return self._inferred_steps is None

    @property
    def insufficient_data(self) -> bool:
        """Whether the data ended before the requested steps."""
        return self._insufficient_data

    @property
    def adapter(self) -> DataAdapter:
        """The adapter for this kind of source."""
        return self._adapter

    # --- implementation

    def _keep_on_device_unless(self, transform: Callable[[Tree], Tree] | None, passes: int) -> None:
        """Keep the data on the device if they fit, unless each batch is transformed on the host."""
        if transform is None:
            self._adapter.keep_on_device(device_budget(), passes)
        else:
            self._transform = transform  # arrays have no other one

    def _make_reader(
        self, same_lengths: bool, check: Callable[[Tree], None] | None
    ) -> BatchReader | None:
        """Return what validates batches, if they are not known to be valid; rows that are kept on
        the device are validated now, all at once.
        """
        if not self._adapter.checked:
            return BatchReader(self._adapter, same_lengths, check)
        rows = self._adapter.kept_rows()
        if check is not None and rows is not None:
            check(rows)
        return None

    def _read_first_batch(self) -> None:
        """Read the first batch, and record whether random numbers are drawn for it."""
        self._start(self._initial_epoch)
        self.peek()
        self._draws.recording = False

    def _start(self, epoch: int, start: Position = 0) -> None:
        """Start a new iteration; if the source can only continue, keep the iterator and what it has
        read ahead.
        """
        self._adapter.start = start
        elements = self._adapter.iterate(epoch, start)
        if elements is not self._elements:
            self._draws.begin()
        if not self._adapter.one_shot or elements is not self._elements:
            if self._elements is not None:
                self._iterator.close()
            first = start if isinstance(start, int) else 0
            batches = elements if self._reader is None else self._reader.read(elements, first)
            if not self._adapter.one_shot and not self._adapter.quick:
                batches = ReadAhead(batches, self.steps_per_execution, self._draws)
            self._elements = elements
            self._iterator = Iterator(batches, self._transform, is_measured=True)
            self._iteration_epoch = epoch
        self._has_started = False

    def __enter__(self) -> DataHandler:
        steps = self._steps_per_execution
        self._outer_steps = None if steps.current == steps.given else steps.current
        return self

    def __exit__(self, *_: object) -> None:
        """End reading ahead. A generator passed by the user keeps its remaining batches."""
        if not self._adapter.one_shot:
            self._iterator.close()
            self._has_started = True
        steps = self._steps_per_execution
        self.steps_per_execution = steps.given
        steps.current = steps.given if self._outer_steps is None else self._outer_steps
        self._adapter.close()

    def _end_iteration(self) -> None:
        """End an iteration of which no batch is left: shuffles count the iterations."""
        if self._adapter.should_recreate_iterator():
            self._iterator.is_exhausted()

    def _max_steps(self) -> int | None:
        """Return the step before which an epoch stops although there may be more batches, or None
        to read to the end.
        """
        if self._requested_steps is not None:
            return self._requested_steps
        return self._adapter.get_size()

    def _on_end_of_data(self) -> None:
        """Set the number of batches if it was unknown, or warn that there are too few."""
        if self._max_steps() is None:
            self._inferred_steps = self._current_step
        else:
            self._warn_insufficient_data()

    def _warn_insufficient_data(self) -> None:
        if self._insufficient_data:
            return
        self._insufficient_data = True
        count = (self._epochs - self._initial_epoch) * (self._inferred_steps or 1)
        needed = f"at least `{self._names.steps} * epochs` batches (in this case, {count} batches)"
        if self._epochs == sys.maxsize:
            needed = "a batch for each step of the run"
        warn_user(
            "Your input ran out of data; interrupting training. Make sure that your dataset or "
            f"generator can generate {needed}. You may need to use the `.repeat()` function when "
            "building your dataset."
        )

    def _warn_if_infinite(self) -> None:
        step = self._current_step
        if self._names.allows_infinite:
            return
        if self._inferred_steps is None and step < _MANY_STEPS <= step + self.execution_steps:
            warn_user(
                f"{_MANY_STEPS} batches have been read in one epoch, and `{self._names.x}` has not "
                "ended. If it never does, say how many batches make an epoch: "
                f"`{self._names.steps}=...`."
            )

    @contextlib.contextmanager
    def _truncate_execution_to_epoch(self) -> Generator[None, None, None]:
        """Limit the number of steps per execution to the length of an epoch, and restore it
        afterwards.
        """
        original, size = self.steps_per_execution, self._inferred_steps
        if size is None or original <= size:
            yield
            return
        self.steps_per_execution = self._steps_per_execution.current = size
        try:
            yield
        finally:
            self.steps_per_execution = self._steps_per_execution.current = original


def get_data_handler(*args: Any, model: object = None, **kwargs: Any) -> DataHandler:
    """Return the DataHandler for a source; accepts its arguments.

    Example:
        >>> podium.data.get_data_handler(np.ones((70, 2))).inferred_steps
        3
    """
    return DataHandler(*args, **kwargs)
