"""Concatenate, Add, Subtract, Multiply, Average, Maximum, Minimum, Dot, as layers and as functions.
Numbers: `tests/oracle`.
"""

import numpy as np
import pytest
from layer_contract import check_contract, inputs_of

import podium
from podium import layers

PAIR = [(2, 3, 4), (2, 3, 4)]
ELEMENTWISE = {
    "Add": lambda x, y: x + y,
    "Subtract": lambda x, y: x - y,
    "Multiply": lambda x, y: x * y,
    "Average": lambda x, y: (x + y) / 2,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}
CASES = [
    *((name, {}, PAIR) for name in ELEMENTWISE),
    ("Add", {}, [(2, 3, 4), (2, 1, 4), (2, 4)]),
    ("Concatenate", {}, [(2, 3, 4), (2, 3, 1)]),
    ("Concatenate", {"axis": 1}, [(2, 3, 4), (2, 5, 4)]),
    ("Dot", {"axes": 1}, [(2, 4), (2, 4)]),
    ("Dot", {"axes": (2, 1), "normalize": True}, [(2, 3, 4), (2, 4, 5)]),
    ("Dot", {"axes": (-2, -1)}, [(2, 3, 2), (2, 1, 2, 3)]),
]


@pytest.mark.parametrize(("name", "config", "shapes"), CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name, config, shapes):
    check_contract(name, config, shapes)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_layers_and_functions_equal_numpy(name):
    x, y = inputs_of((2, 3, 4)), inputs_of((2, 4)) + 1
    wanted = ELEMENTWISE[name](x, y[:, None])
    np.testing.assert_allclose(getattr(layers, name)()([x, y]), wanted, rtol=1e-6)
    np.testing.assert_allclose(getattr(layers, name.lower())([x, y]), wanted, rtol=1e-6)


def test_concatenate_and_dot_as_functions():
    x, y = inputs_of((2, 3)), inputs_of((2, 3)) + 1
    np.testing.assert_array_equal(layers.concatenate([x, y], axis=0), np.concatenate([x, y], 0))
    np.testing.assert_allclose(layers.dot([x, y], axes=1), (x * y).sum(1, keepdims=True), rtol=1e-5)
    cosine = (
        (x * y).sum(1, keepdims=True)
        / np.linalg.norm(x, axis=1)[:, None]
        / np.linalg.norm(y, axis=1)[:, None]
    )
    np.testing.assert_allclose(layers.dot([x, y], normalize=True), cosine, rtol=1e-5)


def test_integers_and_floats_promote():
    whole, real = np.array([[1, 2]], "int32"), np.array([[0.5, 0.5]], "float32")
    assert layers.Add()([whole, real]).dtype == "float32"
    assert layers.Add()([whole, whole]).dtype == "int32"
    assert layers.Average()([whole, whole * 2]).numpy().tolist() == [[1.5, 3.0]]
    assert layers.Concatenate()([whole, real]).numpy().tolist() == [[1, 2, 0.5, 0.5]]
    symbols = [podium.Input((2,), dtype="int32"), podium.Input((2,), dtype="int32")]
    assert layers.Average()(symbols).dtype == "float32" and layers.Add()(symbols).dtype == "int32"


def test_unknown_sizes_are_not_compared():
    free, fixed = podium.Input((None, 4)), podium.Input((5, 4))
    assert layers.Add()([free, fixed]).shape == (None, None, 4)
    assert layers.Concatenate()([free, fixed]).shape == (None, 5, 8)
    assert layers.Concatenate(axis=1)([free, fixed]).shape == (None, None, 4)
    assert layers.Dot(axes=1)([free, fixed]).shape == (None, 4, 4)
    model = podium.Model([free, fixed], layers.Add()([free, fixed]))
    assert model([inputs_of((2, 5, 4)), inputs_of((2, 5, 4))]).shape == (2, 5, 4)


def test_batch_of_size_one_is_broadcast():
    assert layers.Add()([inputs_of((3, 2)), inputs_of((1, 2))]).shape == (3, 2)


# --- masks


def masked(ids):
    """A Tensor (2, 3, 1) whose values are the ids, masked where they are 0."""
    table = np.arange(9, dtype="float32")[:, None]
    return layers.Embedding(9, 1, mask_zero=True, weights=table)(np.array(ids))


ONE, OTHER = [[1, 0, 0], [2, 3, 0]], [[4, 5, 0], [0, 6, 0]]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Add", [[5, 5, 0], [2, 9, 0]]),
        ("Subtract", [[-3, -5, 0], [2, -3, 0]]),
        ("Average", [[2.5, 2.5, 0], [1, 4.5, 0]]),
        ("Multiply", [[4, 5, 0], [2, 18, 0]]),
        ("Maximum", [[4, 5, 0], [2, 6, 0]]),
        ("Minimum", [[1, 5, 0], [2, 3, 0]]),
    ],
)
def test_output_is_unmasked_where_one_input_is(name, wanted):
    merged = getattr(layers, name)()([masked(ONE), masked(OTHER)])
    assert merged.numpy()[..., 0].tolist() == wanted
    assert merged._keras_mask.numpy().tolist() == [[True, True, False], [True, True, False]]
    plain = getattr(layers, name)()([masked(ONE), podium.convert_to_tensor(masked(OTHER).numpy())])
    assert plain._keras_mask is None


def test_concatenate_concatenates_masks():
    one, other = masked(ONE), masked(OTHER)
    kept = [[True, False, False], [True, True, False]]
    joined = layers.Concatenate(axis=1)([one, other.numpy()])
    assert joined._keras_mask.numpy().tolist() == [row + [True] * 3 for row in kept]
    assert layers.Concatenate()([one, other])._keras_mask.numpy().tolist() == [
        [True, True, False],
        [True, True, False],
    ]
    assert layers.Dot(axes=1)([one, other])._keras_mask is None


@pytest.mark.parametrize("name", ["Add", "Multiply", "Maximum"])
def test_masks_reach_a_merge_under_a_tape_and_compiled(name):
    table = layers.Embedding(9, 1, mask_zero=True, weights=np.arange(9, dtype="float32")[:, None])
    merge = getattr(layers, name)()

    def merged_with_gradient():
        with podium.GradientTape() as tape:
            merged = merge([table(np.array(ONE)), table(np.array(OTHER))])
        return merged, merged._keras_mask, tape.gradient(merged, table.embeddings)

    plain = merge([masked(ONE), masked(OTHER)])
    eager, compiled = merged_with_gradient(), podium.function(merged_with_gradient)()
    np.testing.assert_array_equal(eager[0], plain)
    for one, other in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_mask_must_belong_to_the_inputs():
    x = podium.convert_to_tensor(inputs_of((2, 3)))
    with pytest.raises(
        ValueError, match="a list with one mask or None for every input was expected"
    ):
        layers.Add().compute_mask([x, x], [None])
    assert layers.Add().compute_mask([x, x], [None, None]) is None


# --- errors


@pytest.mark.parametrize(
    ("name", "config", "error", "message"),
    [
        (
            "Concatenate",
            {"axis": 1.0},
            TypeError,
            r"Concatenate was given axis=1.0; an int",
        ),
        ("Dot", {"axes": 0}, ValueError, r"axes=0; dimension 0 is the batch"),
        ("Dot", {"axes": (1, 2, 3)}, ValueError, r"axes=\(1, 2, 3\); an int or a pair"),
        ("Dot", {"axes": "last"}, TypeError, r"axes='last'"),
    ],
)
def test_wrong_arguments_raise_by_the_constructor(name, config, error, message):
    with pytest.raises(error, match=message):
        getattr(layers, name)(**config)


@pytest.mark.parametrize(
    ("name", "config", "shapes", "message"),
    [
        (
            "Add",
            {},
            (2, 3),
            r"Layer 'm' \(Add\) was called with one input of shape \(2, 3\); a list "
            r".*layer\(\[x, y\]\)",
        ),
        (
            "Add",
            {},
            [(2, 3), (2, 4)],
            r"shapes \(2, 3\), \(2, 4\): they differ in dimension 1\. .*Concatenate",
        ),
        (
            "Add",
            {},
            [(2, 5, 3), (2, 4)],
            r"they differ in dimension 2 \(after dimensions of size 1 were added",
        ),
        ("Multiply", {}, [(2, 3), (4, 3)], r"they differ in dimension 0"),
        ("Subtract", {}, [(2, 3)], r"exactly 2 inputs were expected, 1 were given"),
        ("Concatenate", {}, (2, 3), r"a list of inputs was expected"),
        (
            "Concatenate",
            {"axis": 1},
            [(2, 3, 4), (2, 3, 5)],
            r"only in dimension 1 \(axis=1\), and differ in dimension 2",
        ),
        ("Concatenate", {}, [(2, 3), (2, 3, 1)], r"the same number of dimensions"),
        ("Concatenate", {"axis": 3}, [(2, 3), (2, 3)], r"axis=3 is not one of their 2 dimensions"),
        (
            "Dot",
            {"axes": 1},
            [(2, 3), (2, 4)],
            r"\(2, 3\), \(2, 4\): dimension 1 of the first and 1 of the second",
        ),
        ("Dot", {"axes": 2}, [(2, 3), (2, 3)], r"no dimensions axes=2 after the batch"),
    ],
)
def test_wrong_shapes_raise_eagerly_and_symbolically(name, config, shapes, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**config, name="m")(inputs_of(shapes))
    if isinstance(shapes, list):
        with pytest.raises(ValueError, match=r"Layer 'm2' "):
            getattr(layers, name)(**config, name="m2")(
                [podium.Input(batch_shape=shape) for shape in shapes]
            )


def test_shapes_are_checked_at_every_call_and_an_empty_list_is_refused():
    layer = layers.Add()
    layer([inputs_of((2, 3)), inputs_of((2, 3))])
    with pytest.raises(ValueError, match="they differ in dimension 1"):
        layer([inputs_of((2, 3)), inputs_of((2, 4))])
    with pytest.raises(ValueError, match="the list is empty"):
        layers.Concatenate()([])
