"""Dataset: dtypes, orders, memory, text, functions of Tensors and errors. What tf.data returns is
compared in `test_data_oracle.py`.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.data import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset


def numbers(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


# --- values and types


def test_float64_becomes_float32_and_integers_stay_integers():
    arrays = {
        "f": np.zeros(2),
        "h": np.zeros(2, "float16"),
        "i": np.zeros(2, "int64"),
        "u": np.zeros(2, "uint8"),
        "b": np.zeros(2, bool),
    }
    element = next(iter(Dataset.from_tensor_slices(arrays)))
    assert {key: value.dtype.name for key, value in element.items()} == {
        "f": "float32",
        "h": "float16",
        "i": "int32",
        "u": "uint8",
        "b": "bool",
    }
    assert list(next(Dataset.from_tensor_slices(arrays).batch(2).as_numpy_iterator())) == list(
        arrays
    )  # in their order


def test_integers_beyond_32_bits_raise_instead_of_wrapping():
    with pytest.raises(
        OverflowError,
        match=r"`tensors\[1\]` holds integers from 0 to 1099511627776, beyond the 32 bits",
    ):
        Dataset.from_tensor_slices((np.zeros(2), np.array([0, 2**40])))
    with pytest.raises(OverflowError, match="beyond the 32 bits"):
        list(Dataset.from_generator(lambda: iter([2**40])))


def test_later_changes_to_the_arrays_do_not_change_the_dataset():
    x = np.zeros((4, 2), "float32")
    dataset = Dataset.from_tensor_slices(x).batch(2)
    x[:] = 7
    first = next(dataset.as_numpy_iterator())
    first[:] = 9
    assert numbers(dataset) == np.zeros((2, 2, 2)).tolist()


def test_map_function_that_reuses_its_buffer_does_not_change_earlier_elements():
    buffer = np.zeros(2, "float32")

    def batches():
        for value in range(3):
            buffer[:] = value
            yield buffer

    assert numbers(Dataset.from_generator(batches).batch(3)) == [[[0, 0], [1, 1], [2, 2]]]


def test_functions_receive_tensors_and_parts_of_tuples_as_arguments():
    seen = []

    def look(x, pair):
        seen.append((type(x), type(pair["y"])))
        return x

    list(Dataset.from_tensor_slices((np.zeros(1), {"y": np.zeros(1)})).map(look))
    assert seen == [(podium.Tensor, podium.Tensor)]


def test_map_accepts_numbers_lists_and_arrays_and_the_arguments_of_tf_data():
    mapped = Dataset.range(2).map(
        lambda n: (3, [n, n + 1], np.arange(2.0)), num_parallel_calls=AUTOTUNE, deterministic=False
    )
    three, pair, array = next(iter(mapped))
    assert (int(three), pair.numpy().tolist(), array.dtype.name) == (3, [0, 1], "float32")


def test_map_keeps_none_in_a_result():
    x, nothing = next(iter(Dataset.range(1).map(lambda n: (n, None))))
    assert int(x) == 0 and nothing is None


def test_text_is_passed_to_map_as_strings():
    names = Dataset.from_tensor_slices(["a", "bb", "ccc"])
    assert repr(names.element_spec) == "TensorSpec(shape=(), dtype=string)"
    assert list(names.as_numpy_iterator()) == ["a", "bb", "ccc"]
    assert [len(batch) for batch in names.batch(2).as_numpy_iterator()] == [2, 1]
    assert numbers(names.shuffle(3).map(lambda name: len(name)).batch(3).map(podium.ops.sum)) == [6]


def test_exception_of_a_map_function_is_raised_unchanged():
    class Own(Exception):
        pass

    def fail(n):
        raise Own("mine")

    with pytest.raises(Own, match="mine"):
        list(Dataset.range(3).map(fail))


# --- iterating


def test_dataset_can_be_iterated_repeatedly_and_concurrently():
    dataset = Dataset.range(3).map(lambda n: n * 2)
    first, second = iter(dataset), iter(dataset)
    assert [int(next(first)), int(next(first)), int(next(second))] == [0, 2, 0]
    assert numbers(dataset) == numbers(dataset) == [0, 2, 4]


def test_functions_are_not_called_before_iteration():
    calls = []
    dataset = Dataset.range(3).map(calls.append).filter(calls.append).batch(2)
    assert not calls and len(Dataset.range(3).batch(2)) == 2 and bool(dataset)


def test_iterator_ends_with_stop_iteration_and_stays_ended():
    iterator = iter(Dataset.range(1))
    assert int(iterator.get_next()) == 0
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
    assert iterator.element_spec == podium.TensorSpec((), "int32")


def test_next_group_is_short_at_the_end_and_then_raises():
    iterator = iter(Dataset.range(5))
    assert [len(iterator.next_group(2)) for _ in range(3)] == [2, 2, 1]
    with pytest.raises(StopIteration):
        iterator.next_group(2)


def test_exhausted_does_not_lose_elements():
    iterator = iter(Dataset.range(3))
    assert not iterator.is_exhausted() and not iterator.is_exhausted()
    assert [int(n) for n in iterator.next_group(9)] == [0, 1, 2] and iterator.is_exhausted()


def test_closing_an_iterator_closes_the_generator_of_a_dataset():
    ended = []

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            ended.append(True)

    iterator = iter(Dataset.from_generator(numbers))
    next(iterator)
    iterator.close()
    assert ended and iterator.is_exhausted()


def test_compiled_function_reads_from_an_iterator():
    iterator = iter(Dataset.range(6).batch(2))
    add = podium.function(lambda batches: podium.ops.sum(next(batches)))
    assert [int(add(iterator)) for _ in range(3)] == [1, 5, 9]


def test_lengths():
    assert len(Dataset.range(7).batch(2)) == 4
    assert Dataset.range(7).cardinality().numpy() == 7
    assert Dataset.range(3).repeat().cardinality() == INFINITE_CARDINALITY
    assert Dataset.range(3).filter(lambda n: True).cardinality() == UNKNOWN_CARDINALITY
    with pytest.raises(TypeError, match="infinite"):
        len(Dataset.range(3).repeat())
    with pytest.raises(TypeError, match="not known before it has been read"):
        len(Dataset.from_generator(lambda: iter([1])))


def test_cache_stores_the_first_complete_iteration():
    calls = []

    def count(n):
        calls.append(1)
        return n

    dataset = Dataset.range(3).map(count).cache()
    next(iter(dataset))  # not complete: not kept
    assert numbers(dataset) == numbers(dataset) == [0, 1, 2]
    assert len(calls) == 4
    shuffled = Dataset.range(50).shuffle(50).cache()
    assert numbers(shuffled) == numbers(shuffled)


def test_reduce_apply_options_and_prefetch():
    assert int(Dataset.range(5).reduce(0, lambda state, n: state + n)) == 10
    count, total = Dataset.range(5).reduce((0, 0), lambda state, n: (state[0] + 1, state[1] + n))
    assert (int(count), int(total)) == (5, 10)
    assert numbers(Dataset.range(3).apply(lambda dataset: dataset.skip(1))) == [1, 2]
    options = podium.data.Options()
    options.experimental_distribute.auto_shard_policy = "off"
    dataset = Dataset.range(3).with_options(options).batch(2).prefetch(AUTOTUNE)
    assert dataset.options().experimental_distribute.auto_shard_policy == "off"


# --- shuffling


@given(st.integers(0, 60), st.integers(1, 70), st.booleans())
def test_shuffle_is_a_permutation_within_the_buffer(count, buffer_size, as_rows):
    dataset = Dataset.range(count) if as_rows else Dataset.range(count).map(lambda n: n)
    if not as_rows and count > 20:
        return
    found = numbers(dataset.shuffle(buffer_size, seed=3))
    assert sorted(found) == list(range(count))
    assert all(number < place + buffer_size for place, number in enumerate(found))


def test_shuffle_repeats_after_set_random_seed_and_differs_between_passes():
    def orders():
        podium.utils.set_random_seed(5)
        dataset = Dataset.range(30).shuffle(30)
        return numbers(dataset), numbers(dataset)

    first, second = orders(), orders()
    assert first == second and first[0] != first[1]


def test_explicit_seed_determines_the_orders_whatever_the_global_seed():
    made = [Dataset.range(30).shuffle(30, seed=1) for _ in range(2)]
    assert numbers(made[0]) == numbers(made[1])
    assert numbers(made[0]) == numbers(made[1]) != sorted(range(30))


@pytest.mark.parametrize("seed", [None, 4])
def test_without_reshuffling_every_pass_has_the_same_order(seed):
    dataset = Dataset.range(30).shuffle(30, seed=seed, reshuffle_each_iteration=False)
    assert numbers(dataset) == numbers(dataset) != list(range(30))
    halves = numbers(dataset.repeat(2))
    assert halves[:30] == halves[30:]


def test_repeat_of_a_shuffled_dataset_reshuffles_each_pass():
    found = numbers(Dataset.range(30).shuffle(30).repeat(2))
    assert sorted(found[:30]) == sorted(found[30:]) == list(range(30)) and found[:30] != found[30:]


@given(
    st.integers(1, 12), st.integers(1, 5), st.integers(0, 3), st.integers(-1, 9), st.integers(0, 4)
)
def test_blocks_of_rows_equal_single_elements(count, size, times, taken, skipped):
    """Pipelines on arrays work on blocks of row numbers; the same through elements must not
    differ.
    """

    def chain(source):
        return (
            source.repeat(times)
            .skip(skipped)
            .take(taken)
            .shard(2, 1)
            .concatenate(source)
            .batch(size)
        )

    def blocks(source):
        return source.repeat(times).skip(skipped).take(taken).shard(2, 1).batch(size)

    rows = Dataset.from_tensor_slices(np.arange(count))
    elements = Dataset.from_generator(lambda: iter(range(count)))
    assert numbers(blocks(rows)) == numbers(blocks(elements))
    assert numbers(chain(rows)) == numbers(chain(elements))
    assert blocks(rows).cardinality() == len(numbers(blocks(rows)))


def test_batches_of_arrays_in_order_are_views():
    batch = next(Dataset.from_tensor_slices(np.arange(10.0)).batch(4).pipeline.elements())
    assert batch.base is not None


# --- generators


def test_from_generator_calls_the_function_for_each_iteration():
    def count(stop):
        yield from range(int(stop))

    dataset = Dataset.from_generator(
        count, args=(3,), output_signature=podium.TensorSpec((), "float32")
    )
    assert numbers(dataset) == numbers(dataset) == [0.0, 1.0, 2.0]
    assert dataset.element_spec == podium.TensorSpec((), "float32")


def test_from_generator_accepts_output_types_and_shapes():
    dataset = Dataset.from_generator(
        lambda: iter([([1, 2], "a")]),
        output_types=("float32", "string"),
        output_shapes=((None,), ()),
    )
    assert next(dataset.as_numpy_iterator())[0].dtype == np.float32


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (podium.TensorSpec((3,)), r"an element of shape \(2,\); its signature says \(3,\)"),
        ((podium.TensorSpec((2,)),) * 2, r"structure array; its signature says \(array, array\)"),
    ],
)
def test_from_generator_validates_elements_by_the_signature(signature, message):
    with pytest.raises((ValueError, TypeError), match=message):
        list(Dataset.from_generator(lambda: iter([np.zeros(2)]), output_signature=signature))


# --- errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Dataset.from_tensor_slices((np.zeros(2), np.zeros(3))),
            r"`tensors\[0\]` has 2, `tensors\[1\]` has 3",
        ),
        (lambda: Dataset.from_tensor_slices(3.0), "has no slices"),
        (lambda: Dataset.from_tensor_slices({}), "holds no arrays"),
        (lambda: Dataset.from_generator(iter([1])), "a function that makes one was expected"),
        (
            lambda: Dataset.from_generator(lambda: iter([]), output_shapes=(1,)),
            "without output_types",
        ),
        (lambda: Dataset.range(3).batch(0), "batch_size=0 was given"),
        (lambda: Dataset.range(3).batch(2.5), "batch_size=2.5 was given"),
        (lambda: Dataset.range(3).shuffle("all"), "buffer_size='all' was given"),
        (lambda: Dataset.range(3).repeat(-2), "count=-2 was given"),
        (lambda: Dataset.range(3).shard(2, 2), "must be less than num_shards=2"),
        (lambda: Dataset.range(3).map(3), "map_func=3 was given; a function"),
        (lambda: Dataset.zip((Dataset.range(2), [1])), "zip was given int"),
        (lambda: Dataset.zip(()), "no Dataset"),
        (lambda: Dataset("x"), "Make a Dataset with"),
        (lambda: list(Dataset.range(3).flat_map(lambda n: n)), "a Dataset was expected"),
        (
            lambda: list(Dataset.range(1, 3).map(lambda n: np.zeros(int(n))).batch(2)),
            r"shapes \(1,\), \(2,\) cannot be stacked",
        ),
        (lambda: list(Dataset.from_tensors(object())), "of type object"),
        (lambda: Dataset.from_generator(lambda: iter([])).element_spec, "empty"),
        (
            lambda: list(
                Dataset.range(1, 4)
                .map(lambda n: np.zeros(int(n)))
                .padded_batch(3, padded_shapes=(2,))
            ),
            r"an element is larger: it has the shape \(3,\)|but an element has the shape \(3,\), "
            r"which is larger",
        ),
    ],
)
def test_error_messages(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
