"""What functional models accept as inputs: nested structures, None, dtypes, masks."""

import numpy as np
import pytest

import podium
from podium import layers

X = np.arange(4.0, dtype="float32").reshape(4, 1)
Y = np.ones((4, 1))


class Plus(layers.Layer):
    def call(self, x, y=None):
        return x if y is None else x + y


def make_structures():
    """Return structures of the inputs a, b, c, each with the values X, X + 1, X + 2."""
    a, b, c = (podium.Input((1,), name=name) for name in "abc")
    rows = [
        ({"a": a, "more": {"b": b, "c": c}}, {"more": {"c": X + 2, "b": X + 1}, "a": X}),
        ([{"z": a, "y": b}, (c,)], [{"y": X + 1, "z": X}, (X + 2,)]),
        ({"x": [a, b], "w": (c,)}, {"x": [X, X + 1], "w": (X + 2,)}),
        ((a, {"q": (b, c)}), (X, {"q": (X + 1, X + 2)})),
        (([a], [b, c]), ([X], [X + 1, X + 2])),
    ]
    return (a + 2 * b + 3 * c, rows)


@pytest.mark.parametrize("index", range(5))
def test_nested_inputs_are_matched_by_structure(index, tmp_path):
    joined, rows = make_structures()
    structure, value = rows[index]
    model = podium.Model(structure, layers.Dense(1)(joined))
    model.compile("sgd", "mse")
    kernel, bias = model.get_weights()
    expected = (X + 2 * (X + 1) + 3 * (X + 2)) @ kernel + bias
    models = [model, podium.models.clone_model(model), podium.Model.from_config(model.get_config())]
    for copy in models[1:]:
        copy.set_weights([kernel, bias])
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        models.append(podium.saving.load_model(tmp_path / name))
    for copy in models:
        np.testing.assert_allclose(copy(value).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict(value, verbose=0, batch_size=3), expected, rtol=1e-6)
    loss = model.evaluate(value, Y, verbose=0)
    assert model.fit(value, Y, batch_size=4, verbose=0).history["loss"] == pytest.approx([loss])


def test_errors_name_the_place_in_nested_inputs():
    joined, rows = make_structures()
    model = podium.Model(rows[0][0], joined)
    with pytest.raises(ValueError, match=r"needs the input 'c' in inputs\['more'\] and was given"):
        model({"a": X, "more": {"b": X}})
    with pytest.raises(ValueError, match=r"needs the input 'c' in .*Did you mean .* 'C'"):
        model.predict({"a": X, "more": {"b": X, "C": X}}, verbose=0)
    with pytest.raises(ValueError, match=r"given Tensor\(4, 1\) for inputs\['more'\]; \{'b': b"):
        model({"a": X, "more": X})
    with pytest.raises(ValueError, match=r"\{'q': .*\} for inputs\['a'\]; a was expected"):
        model({"a": {"q": X}, "more": {"b": X, "c": X}})
    with pytest.warns(UserWarning, match=r"keys \['d'\] in inputs\['more'\].*ignored.*\['b', 'c'"):
        model({"a": X, "more": {"b": X, "c": X, "d": X}})
    with pytest.raises(ValueError, match=r"which value belongs to which input is not clear"):
        podium.Model(rows[1][0], joined)([X, X, X])


def make_optional():
    a, b = podium.Input((1,), name="a"), podium.Input((1,), name="b", optional=True)
    model = podium.Model([a, b], layers.Dense(1)(Plus()(a, b)))
    model.compile("sgd", "mse")
    return model


def test_none_is_the_value_of_an_optional_input(tmp_path):
    model = make_optional()
    expected = model([X, np.zeros_like(X)]).numpy()
    for inputs in ([X, None], {"a": X, "b": None}):
        np.testing.assert_array_equal(model(inputs).numpy(), expected)
        np.testing.assert_array_equal(model.predict(inputs, verbose=0, batch_size=3), expected)
    model.save(tmp_path / "model.keras")
    with podium.saving.custom_object_scope({"Plus": Plus}):
        loaded = podium.saving.load_model(tmp_path / "model.keras")
        clone = podium.models.clone_model(model)
    np.testing.assert_array_equal(loaded([X, None]).numpy(), expected)
    assert clone([X, None]).shape == (4, 1)
    outer = podium.Model(start := podium.Input((1,)), model([start, None]))
    np.testing.assert_array_equal(outer(X).numpy(), expected)
    loss = model.evaluate([X, None], Y, verbose=0)
    history = model.fit([X, None], Y, batch_size=4, verbose=0)
    assert history.history["loss"] == pytest.approx([loss])
    assert np.isfinite(model.train_on_batch([X, None], Y))
    model.fit([X, None], Y, batch_size=2, validation_split=0.5, verbose=0)


@pytest.mark.parametrize("call", ["__call__", "predict", "fit"])
def test_none_is_rejected_for_other_inputs(call):
    arguments = {"predict": {"verbose": 0}, "fit": {"y": Y, "verbose": 0}}.get(call, {})
    with pytest.raises(ValueError, match=r"None for the input 'a'.*optional=True"):
        getattr(make_optional(), call)([None, X], **arguments)


def test_input_uses_an_existing_symbolic_value():
    x = podium.Input(tensor=podium.KerasTensor((None, 2), dtype="int32", name="x"))
    model = podium.Model(x, x * 2)
    assert model.input_names == ["x"] and model.inputs[0].dtype == np.int32
    copy = podium.Model.from_config(model.get_config())
    assert copy({"x": np.array([[1.7, 2.0]])}).numpy().tolist() == [[2, 4]]
    start = podium.Input((3,))
    hidden = layers.Dense(2)(start)
    out = podium.Input(tensor=hidden) * 2
    assert podium.Model(hidden, out)(np.ones((1, 2))).numpy().tolist() == [[2.0, 2.0]]
    assert podium.Model(start, out)(np.ones((1, 3))).shape == (1, 2)  # what computes it remains


def test_input_rejects_tensors_that_do_not_match():
    symbol = podium.KerasTensor((2, 3))
    assert podium.Input((3,), tensor=symbol, dtype="float32") is symbol
    with pytest.raises(TypeError, match="a KerasTensor was expected"):
        podium.Input(tensor=np.ones(3))
    for arguments in ({"shape": (4,)}, {"batch_size": 3}, {"dtype": "int32"}):
        with pytest.raises(ValueError, match="those of the tensor were expected"):
            podium.Input(tensor=podium.KerasTensor((2, 3)), **arguments)


# The dtype and the values that `Input(dtype=)` makes of [1.7, 300] and int [300, 2] in Keras 3 and
# tf_keras.
CASES = {
    "int32": ([1, 300], [300, 2]),
    "uint8": (None, [44, 2]),
    "bool": ([True, True], [True, True]),
    "float16": ([1.7001953125, 300.0], [300.0, 2.0]),
    "float32": ([1.7000000476837158, 300.0], [300.0, 2.0]),
}


@pytest.mark.parametrize("dtype", CASES)
def test_values_get_the_dtype_of_their_input(dtype):
    x = podium.Input((2,), dtype=dtype)
    model = podium.Model(x, x[..., :])
    nested = podium.Sequential([podium.Input((2,), dtype=dtype), model])
    compiled = podium.function(model)
    arrays = (np.array([[1.7, 300.0]]), np.array([[300, 2]]))
    for values, expected in zip(arrays, CASES[dtype], strict=True):
        if expected is None:
            continue  # a float beyond the range of an integer dtype has no defined value
        for run in (model, nested, compiled, lambda v: model.predict(v, verbose=0)):
            result = np.asarray(run(values))
            assert (result.dtype, result[0].tolist()) == (np.dtype(dtype), expected)


def test_layers_cast_after_the_input_did():
    class Recorded(layers.Layer):
        def call(self, x):
            dtypes.append(x.dtype.name)
            return x

    for policy, dtype, expected in (
        ("mixed_float16", "float32", "float16"),
        ("mixed_float16", "int32", "int32"),
        ("mixed_bfloat16", "float16", "bfloat16"),
        ("float32", "float16", "float32"),
    ):
        dtypes = []
        podium.core.set_dtype_policy(policy)
        try:
            start = podium.Input((2,), dtype=dtype)
            model = podium.Model(start, Recorded()(start))
        finally:
            podium.core.set_dtype_policy("float32")
        dtypes.clear()
        assert model(np.ones((1, 2))).dtype == expected and dtypes == [expected]


def test_ids_are_exact_in_a_sequential_model_without_input():
    podium.core.set_dtype_policy("mixed_float16")
    try:
        model = podium.Sequential([layers.Embedding(5000, 1)])
        ids = np.array([[2049, 4097]])
        first = model(ids).numpy()
    finally:
        podium.core.set_dtype_policy("float32")
    table = model.get_weights()[0].astype("float16")
    np.testing.assert_array_equal(first[0], table[ids[0]])
    copy = podium.Sequential.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy(ids).numpy(), first)


def test_a_sequential_model_passes_a_list_to_its_first_layer(tmp_path):
    model = podium.Sequential([layers.Add(), layers.Dense(1)])
    model.compile("sgd", "mse")
    out = model([X, X + 1]).numpy()
    np.testing.assert_allclose(out, (2 * X + 1) @ model.get_weights()[0], rtol=1e-6)
    np.testing.assert_array_equal(model.predict([X, X + 1], verbose=0), out)
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded([X, X + 1]).numpy(), out)
    model.fit([X, X + 1], Y, verbose=0)


def test_a_config_keeps_tuples_of_inputs_and_outputs():
    a, b = podium.Input((1,)), podium.Input((1,))
    model = podium.Model((a, b), (layers.Add()((a, b)), layers.Dense(1)(a)))
    copy = podium.Model.from_config(model.get_config())
    assert isinstance(copy.input, tuple) and isinstance(copy((X, X)), tuple)
    assert len(podium.models.model_from_json(model.to_json())((X, X))) == 2


MASK = np.array([[True, True, False]])
STEPS = np.arange(6.0, dtype="float32").reshape(1, 3, 2)


def test_the_argument_mask_reaches_the_layers():
    start = podium.Input((3, 2))
    functional = podium.Model(start, layers.GlobalAveragePooling1D()(start))
    stacks = [podium.Sequential([layers.GlobalAveragePooling1D()]) for _ in range(2)]
    stacks[1].build((None, 3, 2))
    for model in (functional, *stacks, podium.function(functional)):
        np.testing.assert_array_equal(np.asarray(model(STEPS, mask=MASK)), [[1.0, 2.0]])
        np.testing.assert_array_equal(np.asarray(model(STEPS)), [[2.0, 3.0]])
    tensor = podium.convert_to_tensor(STEPS)
    functional(tensor, mask=MASK)
    assert tensor._keras_mask is None
    other = podium.Input((3, 2))
    both = podium.Model([start, other], functional(start) + functional(other))
    np.testing.assert_array_equal(both([STEPS, STEPS], mask=[MASK, None]).numpy(), [[3.0, 5.0]])


def test_models_compute_the_masks_of_their_outputs():
    start = podium.Input((3, 2))
    masked = layers.Masking()(start)
    stack = [layers.Masking(), layers.LSTM(1, return_sequences=True)]
    models = [podium.Model(start, stack[1](masked)), podium.Sequential(stack)]
    steps = np.where([[[1], [0], [1]]], STEPS + 1, 0)
    for model in models:
        assert model.compute_mask(steps).numpy().tolist() == [[True, False, True]]
        assert model.compute_mask(inputs=steps, mask=None).numpy().tolist() == [[True, False, True]]


def test_input_rejects_arguments_that_contradict_each_other():
    for arguments, message in (
        ({"shape": (3,), "batch_shape": (2, 3)}, "`batch_shape=.*` and `shape`, which it includes"),
        ({"batch_size": 2, "batch_shape": (2, 3)}, "and `batch_size`, which it includes"),
        ({"shape": (3,), "ragged": True}, "ragged=True; only rectangular"),
    ):
        for create in (podium.Input, layers.InputLayer):
            with pytest.raises(ValueError, match=message):
                create(**arguments)
    assert layers.InputLayer((3,), ragged=False, sparse=False).output.shape == (None, 3)


def test_a_sequential_model_is_not_built_for_another_shape():
    model = podium.Sequential([podium.Input((2,)), layers.Dense(1)])
    model.build((3, 2))
    with pytest.raises(ValueError, match=r"built for the shape \(None, 2\) already.*\(3, 4\)"):
        model.build((3, 4))


def test_a_metric_called_on_a_symbolic_value_says_where_it_belongs():
    with pytest.raises(TypeError, match=r"metric 'm' was called on a symbolic value.*compile"):
        podium.metrics.Mean(name="m")(podium.Input((2,)))
