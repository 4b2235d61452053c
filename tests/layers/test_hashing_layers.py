"""Hashing, HashedCrossing, CategoryEncoding, Discretization: on the host, in Datasets, compiled.

Numbers: `test_preprocessing_oracle.py`.
"""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers

INTEGERS = np.array([0, -1, 5, 12345, -98765, 2**31 - 1, -(2**31), 99, -100, 10, 9, -9], "int32")


@pytest.mark.parametrize(
    "name, config, shape",
    [
        ("CategoryEncoding", {"num_tokens": 3, "output_mode": "one_hot"}, (4, 1)),
        ("CategoryEncoding", {"num_tokens": 3, "output_mode": "count"}, (4, 3)),
        ("CategoryEncoding", {"num_tokens": 3}, (4, 3, 2)),
        ("Discretization", {"bin_boundaries": [0.5, 1.5]}, (4, 3)),
        ("Discretization", {"bin_boundaries": [1.0], "output_mode": "one_hot"}, (4, 3)),
        ("Hashing", {"num_bins": 7}, (4, 3)),
        ("Hashing", {"num_bins": 7, "salt": 3, "output_mode": "multi_hot"}, (4, 3)),
    ],
)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shape):
    check_contract(name, config, shape, "int32")


@pytest.mark.parametrize("salt", [None, [133, 137]])
@pytest.mark.parametrize("mask_value", [None, 5])
def test_integers_are_hashed_in_compiled_code_as_on_the_host(salt, mask_value):
    layer = layers.Hashing(1000, salt=salt, mask_value=mask_value)
    np.testing.assert_array_equal(podium.function(layer)(INTEGERS), layer(INTEGERS))


@pytest.mark.parametrize("dtype", ["uint32", "uint8", "int8"])
def test_all_integer_dtypes_are_hashed_in_compiled_code(dtype):
    layer = layers.Hashing(1000)
    values = np.array([np.iinfo(dtype).min, 7, np.iinfo(dtype).max], dtype)
    np.testing.assert_array_equal(podium.function(layer)(values), layer(values))


def test_integers_are_crossed_in_compiled_code_as_on_the_host():
    layer = layers.HashedCrossing(1000)
    pair = (INTEGERS, INTEGERS[::-1].copy())
    crossed = podium.function(lambda a, b: layer((a, b)))(*pair)
    np.testing.assert_array_equal(crossed, layer(pair))


@pytest.mark.parametrize(
    "words",
    [
        ["A", "B"],
        ("A", "B"),
        np.array(["A", "B"]),
        np.array([b"A", b"B"]),
        np.array(["A", "B"], object),
        np.array([b"A", b"B"], object),
    ],
)
def test_text_of_every_form_has_the_same_hash(words):
    assert layers.Hashing(3)(words).numpy().tolist() == [1, 0]


def test_layers_run_in_a_dataset():
    words = np.array(["a", "b", "c", "d"])
    dataset = podium.data.Dataset.from_tensor_slices((words, np.arange(4))).batch(2)
    hashing, crossing = layers.Hashing(10), layers.HashedCrossing(7)
    elements = list(dataset.map(lambda text, number: (hashing(text), crossing((text, number)))))
    hashes, crosses = (np.concatenate([e[i].numpy() for e in elements]) for i in range(2))
    np.testing.assert_array_equal(hashes, hashing(words))
    np.testing.assert_array_equal(crosses, crossing((words, np.arange(4))))
    unbatched = podium.data.Dataset.from_tensor_slices(words).map(hashing)
    assert [int(e) for e in unbatched] == hashes.tolist()


def test_numbers_are_encoded_inside_of_a_model_that_is_trained_and_saved(tmp_path):
    x = podium.Input((2,), dtype="int32")
    hashed = layers.Hashing(5, output_mode="multi_hot")(x)
    crossed = layers.HashedCrossing(6, output_mode="one_hot")([x[:, :1], x[:, 1:]])
    model = podium.Model(x, layers.Dense(1)(layers.concatenate([hashed, crossed])))
    model.compile("sgd", "mse")
    data = np.arange(16, dtype="int32").reshape(8, 2)
    model.fit(data, np.ones(8, "float32"), verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(data, verbose=0), model.predict(data, verbose=0))


def test_crosses_of_scalars_are_those_of_a_batch_of_one():
    layer = layers.HashedCrossing(100)
    scalar = layer((np.array("a"), np.array(3)))
    assert scalar.shape == () and int(scalar) == int(layer((["a"], [3]))[0])


def test_integers_beyond_32_bits_keep_all_bits_on_the_host():
    layer = layers.Hashing(10**6)
    assert layer(np.array([2**40]))[0] != layer(np.array([0]))[0]


def test_count_weights_have_gradients():
    weights = podium.Variable([1.0, 2.0])
    layer = layers.CategoryEncoding(3, output_mode="count")
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(layer(np.array([0, 2]), count_weights=weights) ** 2)
    assert tape.gradient(loss, weights).numpy().tolist() == [2, 4]


def test_discretization_is_adapted_to_batches_and_keeps_its_boundaries(tmp_path):
    values = np.arange(40.0, dtype="float32")
    whole, parts = layers.Discretization(num_bins=4), layers.Discretization(num_bins=4)
    whole.adapt(values)
    parts.adapt(podium.data.Dataset.from_tensor_slices(values).batch(10))
    np.testing.assert_allclose(parts.bin_boundaries, whole.bin_boundaries, atol=1)
    parts.adapt((values[i : i + 10] for i in range(0, 40, 10)), steps=1)
    assert max(parts.bin_boundaries) < 10
    model = podium.Sequential([podium.Input((1,)), whole])
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(values, verbose=0)[:, 0], whole(values))


def test_discretization_warns_if_a_program_keeps_the_old_boundaries():
    layer = layers.Discretization(num_bins=2)
    layer.adapt(np.arange(10.0))
    podium.function(layer)(np.ones(3, "float32"))
    with pytest.warns(UserWarning, match="adapted after a program .* compiled"):
        layer.adapt(np.arange(100.0))


def no_boundaries():
    return layers.Discretization(num_bins=3)(np.ones(2))


ERRORS = [
    (lambda: layers.Discretization(), "either `num_bins` or `bin_boundaries`"),
    (lambda: layers.Discretization([0.0], 2), "Both `num_bins` and `bin_boundaries`"),
    (lambda: layers.Discretization([1.0, 0.0]), "ascending order"),
    (lambda: layers.Discretization([0.0]).adapt(np.ones(3)), "use `num_bins` instead"),
    (lambda: layers.Discretization(num_bins=2).adapt([]), "given no values"),
    (lambda: layers.Discretization(num_bins=2).adapt("text"), "iterable of batches"),
    (lambda: layers.Discretization([0.0], output_mode="hot"), "Unknown `output_mode`"),
    (no_boundaries, "call `adapt"),
    (lambda: layers.CategoryEncoding(), "num_tokens must be set"),
    (lambda: layers.CategoryEncoding(0), "`num_tokens` must be >= 1"),
    (lambda: layers.CategoryEncoding(2, sparse=True), "only dense values"),
    (lambda: layers.CategoryEncoding(2, output_mode="int"), "Unknown arg for output_mode: int"),
    (lambda: layers.CategoryEncoding(2)(np.array([0, 2])), "was given the value 2"),
    (lambda: layers.CategoryEncoding(2)(np.array([-1])), "was given the value -1"),
    (
        lambda: layers.CategoryEncoding(2)(np.array([0]), count_weights=np.ones(1)),
        "`count_weights` is not used",
    ),
    (lambda: layers.Hashing(None), "cannot be `None` or non-positive"),
    (lambda: layers.Hashing(2, salt="s"), "can only be a tuple of size 2"),
    (lambda: layers.Hashing(2, dtype="float32"), "'int32' or 'int64' was expected"),
    (lambda: layers.Hashing(2, mask_value=0)(["a"]), "mask_value=0 and was given text"),
    (lambda: layers.Hashing(2)(["a", 1.5]), "`inputs` holds 1.5"),
    (lambda: layers.Hashing(2)([["a"], ["b", "c"]]), "rows have different lengths"),
    (lambda: layers.HashedCrossing(2)(np.ones(2)), "list or tuple of inputs"),
    (lambda: layers.HashedCrossing(2)([np.ones(2)]), "at least two inputs"),
    (lambda: layers.HashedCrossing(2)([np.ones(2), np.ones(3)]), "integer or string dtype"),
    (lambda: layers.HashedCrossing(2)([["a"], ["b", "c"]]), "should have equal shape"),
    (lambda: layers.HashedCrossing(2)([[["a", "b"]]] * 2), "should have shape"),
    (lambda: podium.function(lambda: layers.Hashing(2)(podium.ops.ones(2, "bool")))(), "booleans"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_mistakes_are_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
