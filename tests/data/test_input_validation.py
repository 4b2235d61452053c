"""Invalid data are refused before anything is compiled, with messages that name the argument, the
value and the fix.
"""

import itertools

import numpy as np
import pytest

import podium
from podium.data import DataHandler, Dataset

X, Y = np.zeros((8, 3)), np.arange(8)


def endless():
    while True:
        yield X, Y


def maybe_endless():
    while True:
        if np.random.rand() < 0.5:
            return
        yield X, Y


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        # counts
        ({"batch_size": 0}, ValueError, "batch_size=0 was given; an int of at least 1"),
        ({"batch_size": -4}, ValueError, "batch_size=-4 was given"),
        ({"batch_size": 2.5}, ValueError, "batch_size=2.5 was given"),
        ({"batch_size": "32"}, TypeError, r"batch_size='32' was given \(str\)"),
        ({"batch_size": True}, TypeError, "batch_size=True was given"),
        ({"epochs": -1}, ValueError, "epochs=-1 was given"),
        ({"epochs": 0}, ValueError, "epochs=0 was given"),
        ({"epochs": 1.5}, ValueError, "epochs=1.5 was given"),
        ({"epochs": float("nan")}, ValueError, "epochs=nan was given"),
        ({"initial_epoch": -1}, ValueError, "initial_epoch=-1 was given"),
        ({"steps_per_epoch": -3}, ValueError, "steps_per_epoch=-3 was given"),
        ({"steps_per_epoch": 0}, ValueError, "steps_per_epoch=0 was given"),
        ({"steps_per_epoch": -3, "caller": "predict"}, ValueError, "^steps=-3 was given"),
        (
            {"steps_per_epoch": 0, "caller": "validation"},
            ValueError,
            "validation_steps=0 was given",
        ),
        (
            {"batch_size": 0, "caller": "validation"},
            ValueError,
            "validation_batch_size=0 was given",
        ),
        ({"steps_per_execution": 0}, ValueError, "steps_per_execution=0 was given"),
        (
            {"shuffle": "sometimes"},
            ValueError,
            "shuffle='sometimes' was given; True, False or 'batch'",
        ),
        ({"shuffle": None}, TypeError, "shuffle=None was given"),
        # what x may be
        ({"x": None}, ValueError, "`x` is None"),
        ({"x": {1.0, 2.0}}, TypeError, "`x` is of type set"),
        (
            {"x": endless},
            TypeError,
            r"generator function `endless` itself was given.*Call it: `endless\(\)`",
        ),
        (
            {"x": len},
            TypeError,
            "`x` is of type builtin_function_or_method.*call a function that makes one",
        ),
        ({"x": "text"}, TypeError, "`x` is of type str"),
        ({"x": 7}, ValueError, r"`x` is the single number .*7.* of shape \(\)"),
        ({"x": np.float32(3.0)}, ValueError, "at least one dimension"),
        ({"x": podium.Input((3,), name="i")}, TypeError, "a symbolic value from `Input`"),
        ({"x": {"a": X, "b": object()}}, TypeError, r"`x\['b'\]` is of type object"),
        ({"x": [Dataset.range(3)]}, TypeError, "`x` is of type list"),
        # numbers only
        ({"x": np.array([["a"]] * 8)}, TypeError, "`x` is an array of strings"),
        ({"y": np.array(["cat"] * 8)}, TypeError, "`y` is an array of strings"),
        ({"y": ["cat"] * 8}, TypeError, "`y` is an array of strings"),
        ({"x": np.array([None] * 8)}, TypeError, "array of Python objects"),
        ({"x": np.zeros(8, "datetime64[s]")}, TypeError, "`x` holds dates or times"),
        ({"x": np.zeros(8, complex)}, TypeError, "`x` holds complex numbers"),
        ({"x": np.zeros(8, [("a", "f4"), ("b", "f4")])}, TypeError, "`x` is a structured array"),
        (
            {"x": [[1.0, 2.0], [3.0]], "y": [0.0, 1.0]},
            ValueError,
            "`x` is a list of lists of unequal length",
        ),
        ({"x": np.full(8, 2**40)}, OverflowError, "`x` holds integers from 1099511627776"),
        ({"y": np.full(8, 2**33)}, OverflowError, "`y` holds integers"),
        # emptiness and lengths
        (
            {"x": X[:0], "y": Y[:0]},
            ValueError,
            r"`x` is empty: its shape is \(0, 3\), so there are 0 samples",
        ),
        ({"x": []}, ValueError, "`x` is empty"),
        ({"x": {}}, ValueError, "`x` is empty"),
        ({"x": {"a": X, "b": X[:0]}}, ValueError, r"`x\['b'\]` is empty"),
        (
            {"y": Y[:7]},
            ValueError,
            "x and y must hold the same number of samples.*`x` has 8, `y` has 7",
        ),
        ({"x": [X, X[:7]]}, ValueError, r"`x\[0\]` has 8, `x\[1\]` has 7"),
        (
            {"sample_weight": np.ones(5)},
            ValueError,
            "x and y and sample_weight.*`sample_weight` has 5",
        ),
        (
            {"y": None, "sample_weight": np.ones(8)},
            ValueError,
            "`sample_weight` was given without `y`",
        ),
        (
            {"y": {"a": Y}, "sample_weight": {"b": Y}},
            ValueError,
            r"the keys \['b'\].*its keys are \['a'\]",
        ),
        ({"y": [Y, Y], "sample_weight": [np.ones(8)]}, ValueError, "`sample_weight` has 1 parts"),
        (
            {"y": Y[:7], "caller": "validation"},
            ValueError,
            r"`validation_data\[0\]` has 8, `validation_data\[1\]` has 7",
        ),
        # class weights
        ({"class_weight": {"0": 1.0}}, ValueError, r"class_weight has the key '0' \(str\)"),
        ({"class_weight": {0.5: 1.0}}, ValueError, "class_weight has the key 0.5"),
        ({"class_weight": {0: "a"}}, ValueError, r"class_weight\[0\]='a' was given"),
        ({"class_weight": {0: -1}}, ValueError, r"class_weight\[0\]=-1 was given"),
        ({"class_weight": [1.0, 2.0]}, TypeError, "a dictionary such as"),
        (
            {"class_weight": {0: 1.0}},
            ValueError,
            r"no weight for the classes \[1, 2, 3, 4, 5, 6, 7\].*weights for \[0\]",
        ),
        (
            {"class_weight": {0: 1.0}, "sample_weight": np.ones(8)},
            ValueError,
            "class_weight and sample_weight were both",
        ),
        ({"class_weight": {0: 1.0}, "y": None}, ValueError, "class_weight was given without `y`"),
        ({"class_weight": {0: 1.0}, "y": Y + 0.5}, ValueError, "numbers that are not integers"),
        (
            {"class_weight": {0: 1.0}, "y": np.ones((8, 3))},
            ValueError,
            "neither class numbers nor one-hot",
        ),
        ({"class_weight": {0: 1.0}, "y": {"a": Y}}, ValueError, "Name the outputs"),
        (
            {"class_weight": {"b": {0: 1.0}}, "y": {"a": Y}},
            ValueError,
            r"names the outputs \['b'\].*it has \['a'\]",
        ),
        ({"class_weight": {"b": {0: 1.0}}, "y": [Y, Y]}, ValueError, "without names"),
    ],
)
def test_invalid_arguments_with_arrays_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**({"x": X, "y": Y} | kwargs))


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"x": iter([])}, ValueError, "`x` is empty.*exhausted"),
        (
            {"x": Dataset.range(0).batch(2)},
            ValueError,
            "must contain at least one batch of samples",
        ),
        ({"x": Dataset.range(3).filter(lambda n: False).batch(1)}, ValueError, "`x` is empty"),
        ({"x": iter([None])}, ValueError, r"generator gave None as batch 0; a tuple `\(x, y\)`"),
        (
            {"x": iter([(X, Y[:1])])},
            ValueError,
            "x and y must hold.*in batch 0 of the generator.*`x` has 8, `y` has 1",
        ),
        (
            {"x": Dataset.from_tensor_slices((X, X[:, :1]))},
            ValueError,
            r"`x` has 3, `y` has 1.*single samples.*dataset\.batch\(32\)",
        ),
        (
            {"x": Dataset.from_tensor_slices((X, Y))},
            ValueError,
            r"`y` in batch 0 of the dataset is a single number.*dataset\.batch\(32\)",
        ),
        ({"x": iter([(X, Y, np.ones(5))])}, ValueError, "`sample_weight` has 5"),
        ({"x": iter([(X[:0], Y[:0])])}, ValueError, "Batch 0 of the generator is empty"),
        (
            {"x": iter([(X, np.array(["a"] * 8))])},
            TypeError,
            "`y in batch 0 of the generator` is an array of strings",
        ),
        ({"x": iter([(X, "text")])}, TypeError, "of type str"),
        ({"x": iter([(X, np.full(8, 2**40))])}, OverflowError, "beyond the 32 bits"),
        ({"x": iter([(X, Y)]), "y": Y}, ValueError, "`y` was given, but `x` is a generator"),
        (
            {"x": iter([(X, Y)]), "sample_weight": Y},
            ValueError,
            "`sample_weight` was given, but `x` is a generator",
        ),
        (
            {"x": Dataset.range(3), "y": Y},
            ValueError,
            r"`y` was given, but `x` is a dataset \(Dataset\)",
        ),
        (
            {"x": Dataset.range(3).repeat().batch(2)},
            ValueError,
            "an infinite dataset, and steps_per_epoch was not given",
        ),
        ({"x": endless()}, ValueError, "generator that never ends.*steps_per_epoch was not given"),
        ({"x": endless(), "caller": "predict"}, ValueError, "and steps was not given"),
        ({"x": itertools.cycle([(X, Y)])}, ValueError, "never ends"),
        ({"x": itertools.repeat((X, Y))}, ValueError, "never ends"),
        ({"x": ((X, Y) for _ in itertools.count())}, ValueError, "never ends"),
        (
            {"x": iter([(X, Y, np.ones(8))]), "class_weight": {0: 1.0}},
            ValueError,
            "class_weight and sample_weight were both",
        ),
        ({"x": iter([X]), "class_weight": {0: 1.0}}, ValueError, "the batches hold no targets y"),
        ({"x": X, "y": iter([Y])}, TypeError, "`y` is of type list_iterator"),
    ],
)
def test_invalid_sources_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**kwargs)


@pytest.mark.parametrize(
    "x",
    [maybe_endless, lambda: itertools.repeat((X, Y), 2), lambda: ((X, Y) for _ in range(2))],
    ids=["break", "repeat", "range"],
)
def test_sources_that_may_end_are_accepted(x):
    np.random.seed(1)
    DataHandler(itertools.chain([(X, Y)], x()))
    DataHandler(endless(), steps_per_epoch=2)


def read_all(batches, **kwargs):
    handler = DataHandler(iter(batches), **kwargs)
    return next(iterator.next_group(99) for _, iterator in handler.enumerate_epochs())


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (
            X,
            r"structure of batch 2 of the generator changed: it is x, and the batches before "
            r"were \(x, y\)",
        ),
        (
            (X, Y, np.ones(8)),
            r"it is \(x, y, sample_weight\), and the batches before were \(x, y\)",
        ),
        (({"a": X}, Y), r"it is \(\{'a': x\}, y\)"),
        (None, "generator gave None as batch 2"),
    ],
)
def test_batch_of_another_structure_is_refused(last, message):
    with pytest.raises(ValueError, match=message):
        read_all([(X, Y), (X, Y), last])


def test_exception_of_a_generator_keeps_its_type():
    class Own(Exception):
        pass

    def batches():
        yield X, Y
        raise Own("disk gone")

    with pytest.raises(Own, match="disk gone"):
        read_all(batches())


def test_stop_iteration_raised_inside_a_generator_is_an_error():
    def batches():
        yield X, Y
        next(iter(()))

    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        read_all(batches())


def test_batches_are_copied_and_converted():
    x = np.zeros((8, 3))

    def batches():
        for value in range(2):
            x[:] = value
            yield [x, [1, 2, 3, 4, 5, 6, 7, 8]]

    found = read_all(batches())
    assert [float(first.max()) for first, _ in found] == [0.0, 1.0]
    assert all(isinstance(batch, tuple) for batch in found)
    assert found[0][0].dtype == np.float32 and found[0][1].dtype == np.int32


def test_lengths_within_a_batch_may_differ_with_same_lengths_false():
    assert len(read_all([(X, Y[:2])], same_lengths=False)) == 1


def test_mask_of_an_array_is_ignored_with_a_warning():
    with pytest.warns(
        UserWarning, match=r"`x` is a masked array; its mask is ignored.*filled\(0\)"
    ) as met:
        DataHandler(np.ma.masked_array(X, mask=X == 0))
    assert met[0].filename == __file__
    DataHandler(np.ma.masked_array(X))  # nothing is masked: nothing to say


def test_counts_accept_integers_of_any_type():
    handler = DataHandler(
        X, batch_size=np.int64(4), steps_per_epoch=np.ceil(1.5), epochs=podium.convert_to_tensor(3)
    )
    assert handler.inferred_steps == 2 and len(list(handler.enumerate_epochs())) == 3


@pytest.mark.parametrize("x", [Dataset.range(3).batch(1), iter([(X, Y)])], ids=["dataset", "iter"])
def test_batch_size_of_a_source_with_batches_is_ignored_with_a_warning(x):
    with pytest.warns(UserWarning, match="batch_size=4 has no effect.*makes its own batches"):
        DataHandler(x, batch_size=4)
