"""Counting of batches: what is trained, the indices of callbacks, reads and warnings, compared with
a short reference implementation of the rules.
"""

import itertools
import random
import warnings

import numpy as np
import pytest

import podium
from podium.data import DataHandler, Dataset, StepsPerExecution

KINDS = ("arrays", "dataset", "unknown", "loader", "unsized", "sequence", "generator", "iterator")
KNOWN = ("arrays", "dataset", "loader", "sequence")  # sources that say how many batches they hold
ONE_SHOT = ("generator", "iterator")


def reference(kind, samples, size, steps, k, first, epochs):
    """Return the expected `[(epoch, [(first step, last step, batches)])]`, and whether the run ends
    with a warning.
    """
    count = -(-samples // size)
    # Whether each epoch starts a new iteration.
    again = kind not in ONE_SHOT and (steps is None or (steps == count and kind in KNOWN))
    left = list(range(count))
    if kind == "arrays" and steps is not None:
        left *= epochs - first  # continues where the last epoch stopped, pass after pass
    elif kind == "sequence" and steps is not None and steps < count:
        left *= epochs + 1
    # The length of an epoch, if it is known in advance.
    length = steps or (count if kind in KNOWN else None)
    expected = []
    for epoch in range(first, epochs):
        if not again and not left:
            return expected, True
        batches = list(range(count)) if again else left[:length]
        left = left[len(batches) :]
        k_now = min(k, length) if length else k
        groups = [batches[at : at + k_now] for at in range(0, len(batches), k_now)]
        expected.append(
            (
                epoch,
                [
                    (at * k_now, at * k_now + len(group) - 1, group)
                    for at, group in enumerate(groups)
                ],
            )
        )
        if length is not None and len(batches) < length:
            return expected, True
        if length is None:
            length = len(batches)
            if kind in ONE_SHOT:
                left = []
    return expected, False


class Source:
    """A source of each kind whose batches hold their index; it counts how many are read."""

    def __init__(self, kind, samples, size):
        self.num_reads = 0
        self.batches = [
            np.full((min(size, samples - at), 1), float(number))
            for number, at in enumerate(range(0, samples, size))
        ]
        source = self

        class Loader:
            def __iter__(self):
                return source.read()

        class Sized(Loader):
            def __len__(self):
                return len(source.batches)

        class Numbered(podium.utils.Sequence):
            def __len__(self):
                return len(source.batches)

            def __getitem__(self, index):
                source.num_reads += 1
                return source.batches[index]

        made = {
            "arrays": lambda: np.concatenate(self.batches),
            "dataset": lambda: Dataset.from_tensor_slices(np.concatenate(self.batches)).batch(size),
            "unknown": lambda: Dataset.from_generator(self.read),
            "loader": Sized,
            "unsized": Loader,
            "sequence": Numbered,
            "generator": self.read,
            "iterator": lambda: map(self.batches.__getitem__, self.numbers()),
        }
        self.arguments = {"x": made[kind](), **({"batch_size": size} if kind == "arrays" else {})}

    def read(self):
        for batch in self.batches:
            self.num_reads += 1
            yield batch

    def numbers(self):
        for number in range(len(self.batches)):
            self.num_reads += 1
            yield number


def read_handler(handler):
    """Read batches as `fit` does; return the same as `reference`."""
    epochs = []
    with handler:
        for epoch, iterator in handler.enumerate_epochs():
            executions = []
            with handler.catch_stop_iteration():
                for step in handler.steps():
                    group = iterator.next_group(int(handler._steps_per_execution))
                    executions.append(
                        (
                            step,
                            handler.record_steps(len(group)),
                            [int(np.asarray(one).flat[0]) for one in group],
                        )
                    )
            epochs.append((epoch, executions))
    return epochs


def cases(kind, count):
    chosen = list(
        itertools.product(
            range(1, 14), range(1, 5), [None, *range(1, 8)], [1, 2, 3, 5], [0, 1, 3], range(1, 5)
        )
    )  # samples, batch size, steps_per_epoch, k, initial_epoch, epochs
    random.Random(kind).shuffle(chosen)
    return chosen[:count]


@pytest.mark.parametrize("kind", KINDS)
def test_handler_follows_the_reference_rules(kind):
    for case in cases(kind, 300):  # 2,400 in all
        samples, size, steps, k, first, epochs = case
        source, holder = Source(kind, samples, size), StepsPerExecution(k)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            handler = DataHandler(
                **source.arguments,
                steps_per_epoch=steps,
                steps_per_execution=holder,
                initial_epoch=first,
                epochs=epochs,
            )
            epochs_read = read_handler(handler)
        expected, runs_out = reference(kind, *case)
        assert epochs_read == expected, case
        assert ["ran out of data" in str(warning.message) for warning in met] == [
            True
        ] * runs_out, case
        assert holder.value() == k and handler.insufficient_data == runs_out, case
        if kind in ONE_SHOT and expected:
            used = sum(len(group) for _, executions in expected for _, _, group in executions)
            assert source.num_reads == used, case  # asked for not one more


class Notes(podium.callbacks.Callback):
    """Writes down epochs, and the indices of batches."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append((epoch, []))

    def on_train_batch_begin(self, batch, logs=None):
        self.first = batch

    def on_train_batch_end(self, batch, logs=None):
        self.epochs[-1][1].append((self.first, batch))


class Remembers(podium.Model):
    """Writes down which batches its steps were given."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def train_step(self, data):
        self.seen.append(int(data.numpy().flat[0]))
        return {"number": data[0, 0]}


@pytest.mark.parametrize("kind", KINDS)
def test_fit_follows_the_reference_rules(kind):
    for case in cases(f"fit {kind}", 25):
        samples, size, steps, k, first, epochs = case
        source, notes, model = Source(kind, samples, size), Notes(), Remembers()
        model.compile(run_eagerly=True, steps_per_execution=k)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            history = model.fit(
                **source.arguments,
                steps_per_epoch=steps,
                initial_epoch=first,
                epochs=epochs,
                shuffle=False,
                callbacks=notes,
                verbose=0,
            )
        expected, runs_out = reference(kind, *case)
        assert notes.epochs == [
            (epoch, [(a, b) for a, b, _ in executions]) for epoch, executions in expected
        ], case
        assert model.seen == [
            one for _, executions in expected for _, _, group in executions for one in group
        ], case
        assert len(history.epoch) == len(expected), case
        expected_texts = ["initial_epoch="] * (first >= epochs) + ["ran out of data"] * runs_out
        assert len(met) == len(expected_texts), case
        for text, warning in zip(expected_texts, met, strict=True):
            assert text in str(warning.message), case
        if kind in ONE_SHOT and expected:
            assert source.num_reads == len(model.seen), case


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ONE_SHOT)
def test_fit_that_stops_leaves_the_remaining_batches_of_a_generator(kind, k):
    source, model = Source(kind, 20, 2), Remembers()
    model.compile(run_eagerly=True, steps_per_execution=k)

    class Stops(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch >= 3

    model.fit(**source.arguments, callbacks=Stops(), verbose=0)
    assert model.seen == [0, 1, 2, 3] and source.num_reads == 4
    assert int(next(source.arguments["x"])[0, 0]) == 4
