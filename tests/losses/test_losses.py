"""Losses: shapes, labels, weights, masks, reductions, dtypes, gradients, configs and errors."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import losses, ops
from podium.core import GradientTape, Tensor, Variable, convert_to_tensor
from podium.core.internal import set_tensorflow_mode

TRUE = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "float32")
PRED = np.array([[1.0, 1.0], [0.0, 3.0], [4.0, 8.0]], "float32")
PER_SAMPLE = np.array([0.5, 2.0, 4.5], "float32")  # the mean squared errors of the rows
LABELS = np.array([0, 2, 1])
LOGITS = np.array([[1.0, 0.0, -1.0], [0.5, 0.5, 2.0], [0.0, 1.0, 0.0]], "float32")


def masked(values, mask):
    values = convert_to_tensor(values)
    values._keras_mask = convert_to_tensor(mask)
    return values


# --- shapes are never broadcast

ELEMENTWISE = [
    "mean_squared_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_logarithmic_error",
    "huber",
    "log_cosh",
    "cosine_similarity",
    "hinge",
    "squared_hinge",
    "categorical_hinge",
    "kl_divergence",
    "poisson",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "dice",
    "tversky",
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_targets_of_another_shape_raise(name):
    function = getattr(losses, name)
    as_object = losses.LossFunctionWrapper(function)
    for shapes in [
        ((6, 3), (6, 1)),
        ((6, 1), (6, 3)),
        ((6,), (6, 3)),
        ((3,), (6, 3)),
        ((), (6, 3)),
        ((6, 3, 3), (6, 3)),
    ]:
        for loss in (function, as_object):
            expected = (
                f"{name} was given y_true of shape {shapes[0]} and y_pred of shape {shapes[1]}; "
                "the same shape"
            )
            with pytest.raises(ValueError, match=re.escape(expected)):
                loss(np.zeros(shapes[0]), np.zeros(shapes[1]))


def test_scripts_of_tensorflow_broadcast_targets_with_a_warning():
    y_true, y_pred = np.ones((4, 3)), np.zeros((4, 1))
    with pytest.raises(ValueError, match="targets are never broadcast"):
        losses.mean_absolute_error(y_true, y_pred)
    with pytest.raises(ValueError, match="targets are never broadcast"):
        losses.mean_absolute_error(y_true, np.zeros((4, 2)))
    set_tensorflow_mode(True)
    try:
        with pytest.warns(UserWarning, match="which are broadcast, as Keras does"):
            values = losses.mean_absolute_error(y_true, y_pred)
        with pytest.raises(ValueError, match="targets are never broadcast"):
            losses.mean_absolute_error(y_true, np.zeros((4, 2)))
        with pytest.raises(ValueError, match="categorical_crossentropy was given"):
            losses.categorical_crossentropy(y_pred, y_true)  # which Keras refuses, too
    finally:
        set_tensorflow_mode(False)
    np.testing.assert_array_equal(values, np.ones(4))


def test_one_hot_targets_of_a_sparse_loss_raise_and_name_the_right_loss():
    for loss in (losses.sparse_categorical_crossentropy, losses.SparseCategoricalCrossentropy()):
        with pytest.raises(
            ValueError,
            match=r"y_true of shape \(32, 3\) and y_pred of shape \(32, 3\).*use categorical_cross",
        ):
            loss(np.zeros((32, 3)), np.ones((32, 3)))
        with pytest.raises(ValueError, match=r"class indices of shape \(32,\) were expected\.$"):
            loss(np.zeros((31,)), np.ones((32, 3)))
    with pytest.raises(ValueError, match="sparse_categorical_crossentropy"):
        losses.categorical_crossentropy(np.zeros(32), np.ones((32, 3)))
    with pytest.raises(ValueError, match=r"no axis 2 for the classes"):
        losses.sparse_categorical_crossentropy(np.zeros(3), np.ones((3, 2)), axis=2)


@pytest.mark.parametrize("name", ["mean_squared_error", "binary_crossentropy", "hinge", "dice"])
def test_a_last_axis_of_size_one_is_matched(name):
    column, flat = np.array([[1.0], [0.0], [1.0]]), np.array([0.25, 0.5, 0.75])
    function = getattr(losses, name)
    expected = function(column, flat[:, None]).numpy()
    np.testing.assert_array_equal(function(column, flat).numpy(), expected)
    np.testing.assert_array_equal(function(column[:, 0], flat[:, None]).numpy(), expected)
    loss = losses.LossFunctionWrapper(function)
    assert float(loss(column[:, 0], flat[:, None])) == float(loss(column, flat[:, None]))
    deep = losses.mean_squared_error(np.zeros((2, 3, 1)), np.ones((2, 3)))
    assert deep.shape == (2,)


def test_a_single_class_warns_at_the_line_of_the_caller():
    with pytest.warns(SyntaxWarning, match="binary_crossentropy") as caught:
        losses.CategoricalCrossentropy()(np.ones((2, 1)), np.ones((2, 1)))
        losses.sparse_categorical_crossentropy(np.zeros(2), np.ones((2, 1)))
    assert [warning.filename for warning in caught] == [__file__] * 2


# --- labels outside of the classes


@pytest.mark.parametrize("from_logits", [True, False])
def test_labels_outside_of_the_classes_produce_nan(from_logits):
    pred = LOGITS if from_logits else jax.nn.softmax(LOGITS)
    for bad in (-1, 3, 1000):
        labels = np.array([0, bad, 1])
        values = losses.sparse_categorical_crossentropy(
            labels, pred, from_logits=from_logits
        ).numpy()
        assert np.isnan(values).tolist() == [False, True, False]
        assert np.isnan(
            float(losses.SparseCategoricalCrossentropy(from_logits=from_logits)(labels, pred))
        )
        ignoring = losses.SparseCategoricalCrossentropy(from_logits=from_logits, ignore_class=bad)
        np.testing.assert_allclose(float(ignoring(labels, pred)), values[[0, 2]].mean(), rtol=1e-6)
    assert np.isnan(
        losses.sparse_categorical_crossentropy(np.array([0.0, np.nan, 1.0]), pred).numpy()[1]
    )
    assert np.isnan(
        losses.categorical_generalized_cross_entropy([3], pred[:1], q=0.5).numpy()
    ).all()


def test_invalid_labels_with_zero_weight_or_masked_are_ignored():
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = (
        losses.sparse_categorical_crossentropy(LABELS[:2], LOGITS[:2], from_logits=True)
        .numpy()
        .sum()
    )
    labels = np.array([0, 2, -1])
    logits = Variable(LOGITS)
    with GradientTape() as tape:
        value = loss(labels, logits, sample_weight=np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(float(value), expected / 3, rtol=1e-6)
    assert np.isfinite(tape.gradient(value, logits).numpy()).all()
    np.testing.assert_allclose(
        float(loss(labels, masked(LOGITS, [True, True, False]))), expected / 2, rtol=1e-6
    )


def test_sparse_labels_of_several_dtypes_and_axes():
    expected = losses.sparse_categorical_crossentropy(LABELS, LOGITS, from_logits=True).numpy()
    for dtype in ("uint8", "int8", "int64", "float32", "float64"):
        values = losses.sparse_categorical_crossentropy(
            LABELS.astype(dtype), LOGITS, from_logits=True
        )
        np.testing.assert_array_equal(values.numpy(), expected)
    values = losses.SparseCategoricalCrossentropy(from_logits=True, axis=0, reduction="none")(
        LABELS, LOGITS.T
    )
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-6)
    # bfloat16 cannot represent all of these class indices.
    many_classes = losses.SparseCategoricalCrossentropy(from_logits=True, dtype="bfloat16")
    logits = np.zeros((1, 1000), "float32")
    logits[0, 511] = 100.0
    assert float(many_classes([511], logits)) == 0.0


# --- weights, masks, reductions


def test_reductions_reduce_the_values_per_sample():
    values = {
        r: losses.MeanSquaredError(reduction=r)(TRUE, PRED).numpy() for r in losses.Reduction.all()
    }
    np.testing.assert_allclose(values["none"], PER_SAMPLE)
    assert values["sum"] == PER_SAMPLE.sum() and values["auto"] == values[
        "sum_over_batch_size"
    ] == PER_SAMPLE.mean(dtype="f4")
    np.testing.assert_allclose(
        losses.MeanSquaredError(reduction=None)(TRUE, PRED).numpy(), PER_SAMPLE
    )
    weights = np.array([1.0, 0.0, 3.0])
    mean = losses.MeanSquaredError(reduction="mean_with_sample_weight")
    np.testing.assert_allclose(
        float(mean(TRUE, PRED, weights)), (PER_SAMPLE * weights).sum() / 4, rtol=1e-6
    )
    assert float(mean(TRUE, PRED, np.zeros(3))) == 0.0
    losses.Reduction.validate("auto")
    with pytest.raises(ValueError, match=r"Unknown reduction 'summ'. Did you mean 'sum'\?"):
        losses.MeanSquaredError(reduction="summ")


VALUES = np.arange(24.0).reshape(2, 3, 4).astype("float32")


@pytest.mark.parametrize(
    "shape", [(), (1,), (2,), (2, 1), (2, 3), (1, 3), (2, 3, 1), (2, 3, 4), (2, 1, 4), (1, 1, 4)]
)
def test_sample_weights_broadcast_from_the_first_axis(shape):
    weight = (np.arange(np.prod(shape)) + 1.0).reshape(shape).astype("float32")
    full = np.broadcast_to(weight.reshape(shape + (1,) * (3 - len(shape))), VALUES.shape)

    class PassThrough(losses.Loss):
        def call(self, y_true, y_pred):
            return y_pred

    for reduction, expected in {
        "none": VALUES * full,
        "sum": (VALUES * full).sum(),
        "mean": (VALUES * full).mean(),
        "mean_with_sample_weight": (VALUES * full).sum() / full.sum(),
    }.items():
        np.testing.assert_allclose(
            PassThrough(reduction=reduction)(0.0, VALUES, weight).numpy(), expected, rtol=1e-6
        )


def test_sample_weights_of_another_shape_raise():
    loss = losses.MeanSquaredError()
    with pytest.raises(
        ValueError,
        match=r"sample_weight of shape \(2,\) was given for losses of shape \(3,\); one weight",
    ):
        loss(TRUE, PRED, [1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"sample_weight of shape \(4,\) was given for losses of shape \(3, 4\)"
    ):
        loss(np.zeros((3, 4, 2)), np.zeros((3, 4, 2)), np.ones(4))
    with pytest.raises(
        ValueError, match=r"sample_weight of shape \(3, 5\) .* losses of shape \(3,\)"
    ):
        loss(TRUE, PRED, np.ones((3, 5)))
    with pytest.raises(
        ValueError,
        match=r"sample_weight of shape \(2,\) does not match the mask of y_pred, of shape \(3,\)",
    ):
        loss(TRUE, masked(PRED, [True, False, True]), [1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"sample_weight and mask of shape \(3, 2\) .* losses of shape \(3,\)"
    ):
        loss(TRUE, masked(PRED, np.ones((3, 2), bool)))


def test_masked_values_are_excluded_from_the_mean():
    mask = np.array([True, False, True])
    loss = losses.MeanSquaredError()
    np.testing.assert_allclose(float(loss(TRUE, masked(PRED, mask))), PER_SAMPLE[mask].mean())
    np.testing.assert_allclose(
        float(loss(TRUE, masked(PRED, mask), [2.0, 9.0, 0.0])), 2 * PER_SAMPLE[0] / 2
    )
    total = losses.MeanSquaredError(reduction="sum")(TRUE, masked(PRED, mask))
    np.testing.assert_allclose(float(total), PER_SAMPLE[mask].sum())
    assert float(loss(TRUE, masked(PRED, [False] * 3))) == 0.0
    bad = PRED.copy()
    bad[1] = np.nan
    np.testing.assert_allclose(float(loss(TRUE, masked(bad, mask))), PER_SAMPLE[mask].mean())
    # One weight for each sample, together with a mask for each step.
    samples = np.ones((2, 3, 2), "float32")
    steps = masked(samples * 2, np.array([[True, True, False], [True, False, False]]))
    np.testing.assert_allclose(float(loss(samples, steps, [1.0, 4.0])), (1 + 1 + 4) / 3, rtol=1e-6)


def test_masks_of_layers_and_of_ignored_classes_are_combined():
    x = podium.layers.Masking()(
        convert_to_tensor(np.array([[[1.0, 2.0], [0.0, 0.0], [3.0, 0.5]]], "float32"))
    )
    values = losses.sparse_categorical_crossentropy([[0, 0, 1]], x, from_logits=True).numpy()
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    np.testing.assert_allclose(float(loss([[0, 0, 1]], x)), values[0, [0, 2]].mean(), rtol=1e-6)
    ignoring = losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1)
    np.testing.assert_allclose(float(ignoring([[0, 0, 1]], x)), values[0, 0], rtol=1e-6)
    unreduced = losses.sparse_categorical_crossentropy(
        [[0, 0, 1]], x, from_logits=True, ignore_class=1
    )
    assert unreduced._keras_mask.numpy().tolist() == [[True, True, False]]


def test_the_loss_of_an_empty_batch_is_zero():
    assert float(losses.MeanSquaredError()(np.zeros((0, 2)), np.zeros((0, 2)))) == 0.0


# --- dtypes


def test_targets_and_predictions_of_different_dtypes():
    values = losses.mean_squared_error(TRUE.astype("int32"), PRED.astype("float64"))
    np.testing.assert_allclose(values.numpy(), PER_SAMPLE)
    # Targets are not truncated to the int dtype of the predictions.
    np.testing.assert_allclose(losses.mean_squared_error([[0.5]], [[1]]).numpy(), [0.25])
    bfloat16_pred = ops.cast(PRED, "bfloat16")
    assert losses.mean_squared_error(TRUE, bfloat16_pred).dtype == jnp.bfloat16
    assert losses.MeanSquaredError()(TRUE, bfloat16_pred).dtype == jnp.float32
    assert losses.MeanSquaredError(dtype="bfloat16")(TRUE, PRED).dtype == jnp.bfloat16
    assert losses.MeanSquaredError(dtype=podium.DTypePolicy("mixed_float16")).dtype == "float16"
    podium.core.set_dtype_policy("mixed_bfloat16")
    assert losses.MeanSquaredError().dtype == "float32"
    assert float(
        losses.BinaryCrossentropy()(np.array([True, False]), np.array([0.5, 0.5]))
    ) == pytest.approx(np.log(2))
    with pytest.raises(TypeError, match="array of strings"):
        losses.mean_squared_error(np.array(["a"]), np.array([1.0]))


# --- gradients

GRADIENTS = [
    (losses.MeanSquaredError(), TRUE, lambda p: jnp.mean((p - TRUE) ** 2)),
    (
        losses.MeanAbsoluteError(reduction="sum"),
        TRUE + 0.5,
        lambda p: jnp.sum(jnp.mean(jnp.abs(p - TRUE - 0.5), axis=-1)),
    ),
    (losses.Huber(delta=1.5), TRUE, lambda p: jnp.mean(_huber(p - TRUE))),
    (
        losses.BinaryCrossentropy(from_logits=True),
        TRUE / 5,
        lambda p: jnp.mean(jax.nn.softplus(p) - p * TRUE / 5),
    ),
    (
        losses.SparseCategoricalCrossentropy(from_logits=True),
        LABELS % 2,
        lambda p: -jnp.mean(_values_of_labels(jax.nn.log_softmax(p))),
    ),
    (
        losses.SparseCategoricalCrossentropy(),
        LABELS % 2,
        lambda p: -jnp.mean(_values_of_labels(jnp.log(p / p.sum(-1, keepdims=True)))),
    ),
]


def _huber(error):
    return jnp.where(jnp.abs(error) <= 1.5, error**2 / 2, 1.5 * jnp.abs(error) - 1.125)


def _values_of_labels(logs):
    return logs[jnp.arange(3), LABELS % 2]


@pytest.mark.parametrize(
    ("loss", "y_true", "reference"), GRADIENTS, ids=lambda value: getattr(value, "name", "")
)
def test_gradients_equal_those_of_jax_eagerly_and_compiled(loss, y_true, reference):
    pred = PRED + 0.25
    weight = Variable(pred)

    def step():
        with GradientTape() as tape:
            value = loss(y_true, weight)
        return value, tape.gradient(value, weight)

    expected = jax.value_and_grad(reference)(jnp.asarray(pred))
    for value, gradient in (step(), podium.function(step)()):
        np.testing.assert_allclose(value.numpy(), expected[0], rtol=1e-6)
        np.testing.assert_allclose(gradient.numpy(), expected[1], rtol=2e-6, atol=1e-7)


def test_a_loss_is_one_entry_on_the_tape():
    pred = Variable(PRED)
    for call in (
        lambda: losses.MeanSquaredError()(TRUE, pred, [1.0, 2.0, 3.0]),
        lambda: losses.SparseCategoricalCrossentropy(ignore_class=1)(LABELS % 2, pred),
        lambda: losses.LossFunctionWrapper(losses.huber)(TRUE, pred),
        lambda: losses.log_cosh(TRUE, pred),
    ):
        with GradientTape() as tape:
            call()
        assert len(tape.entries) == 1


def test_sample_weights_and_targets_have_gradients():
    weight, target = Variable(np.zeros(3, "float32")), Variable(TRUE)
    with GradientTape() as tape:
        value = losses.MeanSquaredError(reduction="sum")(target, PRED, weight)
    weight_gradient, target_gradient = tape.gradient(value, [weight, target])
    np.testing.assert_allclose(weight_gradient.numpy(), PER_SAMPLE)  # also where a weight is 0
    np.testing.assert_allclose(target_gradient.numpy(), np.zeros_like(TRUE))


@pytest.mark.parametrize(
    ("loss", "y_true", "y_pred"),
    [
        (losses.CosineSimilarity(), np.zeros((2, 3)), np.zeros((2, 3))),
        (losses.Circle(), [0, 1, 2], np.eye(3)),
        (losses.Circle(), [0, 0, 0], np.eye(3)),
        (
            losses.SparseCategoricalCrossentropy(ignore_class=0),
            [0, 1],
            np.array([[0.0, 0.0], [0.5, 0.5]]),
        ),
        (losses.BinaryCrossentropy(), [[0.0, 1.0]], np.array([[1.0, 0.0]])),
        (losses.BinaryFocalCrossentropy(), [[0.0, 1.0]], np.array([[0.0, 1.0]])),
        (losses.KLDivergence(), [[0.0, 1.0]], np.array([[1.0, 0.0]])),
        (losses.MeanAbsolutePercentageError(), [[0.0]], np.array([[0.0]])),
    ],
)
def test_gradients_are_finite_for_extreme_values(loss, y_true, y_pred):
    pred = Variable(np.asarray(y_pred, "float32"))
    with GradientTape() as tape:
        value = loss(y_true, pred)
    assert np.isfinite(float(value)) and np.isfinite(tape.gradient(value, pred).numpy()).all()


def test_losses_of_symbolic_values_are_part_of_the_graph():
    x = podium.Input((2,))
    value = losses.mean_squared_error(x, x + 1.0)
    assert value.shape == (None,)
    np.testing.assert_allclose(
        podium.Model(x, value)(convert_to_tensor(TRUE)).numpy(), [1.0, 1.0, 1.0]
    )


# --- custom losses


def test_a_custom_loss_receives_tensors_of_its_dtype_and_is_reduced():
    calls = []

    class Squared(losses.Loss):
        def call(self, y_true, y_pred):
            calls.append((type(y_true), y_true.dtype, y_pred.dtype))
            return ops.mean((y_true - y_pred) ** 2, axis=-1)

    loss = Squared()
    assert loss.name == "squared" and Squared().name == "squared_1"
    assert float(loss(TRUE.astype("int32"), PRED, [1.0, 0.0, 0.0])) == pytest.approx(0.5 / 3)
    assert calls == [(Tensor, np.float32, np.float32)]
    assert Squared.from_config(loss.get_config()).name == "squared"
    with pytest.raises(NotImplementedError, match="Bare has no `call"):
        type("Bare", (losses.Loss,), {})()(TRUE, PRED)


def test_a_subclass_of_a_built_in_loss_can_override_call():
    class Twice(losses.MeanSquaredError):
        def call(self, y_true, y_pred):
            return 2 * super().call(y_true, y_pred)

    np.testing.assert_allclose(Twice(reduction="none")(TRUE, PRED).numpy(), 2 * PER_SAMPLE)


def test_a_loss_that_returns_none_raises():
    def without_return(y_true, y_pred):
        ops.mean(y_true - y_pred)

    with pytest.raises(
        ValueError,
        match=r"The loss without_return returned None; one value for each sample was expected\.",
    ):
        losses.LossFunctionWrapper(without_return)(TRUE, PRED)

    class WithoutReturn(losses.Loss):
        def call(self, y_true, y_pred):
            pass

    with pytest.raises(
        ValueError, match=r"The loss WithoutReturn \(named 'custom'\) returned None"
    ):
        WithoutReturn(name="custom")(TRUE, PRED)


def test_wrapped_functions_receive_matching_ranks_scalars_and_structures():
    shapes = []

    def record_shapes(y_true, y_pred):
        shapes.append((y_true.shape, y_pred.shape))
        return ops.sum(y_true - y_pred)

    loss = losses.LossFunctionWrapper(record_shapes)
    assert float(loss(np.ones(3), np.zeros((3, 1)))) == 3.0
    assert shapes == [((3, 1), (3, 1))]

    def sum_of_errors(y_true, y_pred):
        return losses.mean_squared_error(y_true["a"], y_pred["a"]) + losses.mean_squared_error(
            y_true["b"], y_pred["b"]
        )

    both = losses.LossFunctionWrapper(sum_of_errors)
    assert float(
        both({"b": TRUE, "a": np.ones(3)}, {"a": np.zeros((3, 1)), "b": PRED})
    ) == pytest.approx(1 + PER_SAMPLE.mean())
    ratio = losses.LossFunctionWrapper(
        lambda y_true, y_pred: ops.mean(y_pred[0] / y_pred[1] - y_true, axis=-1)
    )
    assert float(ratio(TRUE, [TRUE * 2, np.full((3, 2), 2.0)])) == 0.0


def test_gradients_of_custom_losses_reach_variables():
    weight = Variable(2.0)
    loss = losses.LossFunctionWrapper(
        lambda y_true, y_pred: ops.mean(ops.square(y_true - y_pred), axis=-1)
    )
    with GradientTape() as tape:
        value = loss(np.ones((4, 1)), weight * np.ones((4, 1), "float32"))
    assert float(tape.gradient(value, weight)) == 2.0


# --- names and configs

ALIASES = {
    "mse": "mean_squared_error",
    "MSE": "mean_squared_error",
    "mae": "mean_absolute_error",
    "MAE": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "MAPE": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "MSLE": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "BCE": "binary_crossentropy",
    "kld": "kl_divergence",
    "KLD": "kl_divergence",
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
}


def test_get_returns_functions_for_names_and_instances_for_class_names():
    functions = [name for name, value in vars(losses).items() if hasattr(value, "raw")]
    assert (
        set(functions) - set(ALIASES) >= set(ELEMENTWISE)
        and len(set(functions) - set(ALIASES)) == 22
    )
    for name in functions:
        assert losses.get(name) is getattr(losses, name) is getattr(losses, ALIASES.get(name, name))
        assert losses.deserialize(losses.serialize(losses.get(name))) is losses.get(name)
    assert losses.get("huber_loss") is losses.huber
    assert isinstance(losses.get("KLDivergence"), losses.KLDivergence)
    assert isinstance(losses.get(losses.MeanSquaredError), losses.MeanSquaredError)
    instance = losses.Huber()
    assert losses.get(instance) is instance and losses.get(None) is None and losses.get(max) is max
    with pytest.raises(
        ValueError,
        match=r"Unknown loss 'binary_cross_entropy'. Did you mean 'binary_crossentropy'\?",
    ):
        losses.get("binary_cross_entropy")
    with pytest.raises(TypeError, match="3 was given as loss"):
        losses.get(3)


def test_configs_restore_the_same_loss():
    for loss in (
        losses.Huber(delta=0.3, reduction="sum", name="custom"),
        losses.CosineSimilarity(axis=0),
        losses.SparseCategoricalCrossentropy(ignore_class=-1, axis=1),
        losses.MeanSquaredError(dtype="bfloat16", reduction=None),
        losses.Tversky(alpha=0.1),
        losses.LossFunctionWrapper(losses.huber, name="wrapped", delta=0.7),
    ):
        again = losses.deserialize(losses.serialize(loss))
        assert (
            type(again) is type(loss)
            and again.get_config() == loss.get_config()
            and again.dtype == loss.dtype
        )
    assert (
        losses.get(
            {"class_name": "BinaryCrossentropy", "config": {"from_logits": True}}
        ).from_logits
        is True
    )
    written_by_keras = {
        "module": "builtins",
        "class_name": "function",
        "config": "mean_squared_error",
        "registered_name": "x",
    }
    assert losses.deserialize(written_by_keras) is losses.mean_squared_error
    with pytest.raises(ValueError, match=r"q=1\.5 was given"):
        losses.CategoricalGeneralizedCrossEntropy(q=1.5)


def test_custom_objects_are_looked_up_by_name():
    def custom(y_true, y_pred):
        return y_pred

    class Custom(losses.Loss):
        pass

    assert losses.deserialize("custom", custom_objects={"custom": custom}) is custom
    wrapped = losses.LossFunctionWrapper(custom).get_config()
    with podium.saving.custom_object_scope({"custom": custom, "Custom": Custom}):
        assert losses.get("custom") is custom and isinstance(losses.get("Custom"), Custom)
        assert losses.LossFunctionWrapper.from_config(wrapped).fn is custom
        assert isinstance(losses.deserialize(losses.serialize(Custom())), Custom)


def test_invalid_shapes_and_axes_of_other_losses_raise():
    with pytest.raises(ValueError, match=r"ctc was given y_true of shape \(2,\)"):
        losses.ctc([1, 2], np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"circle was given labels of shape \(3, 3\)"):
        losses.Circle()(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match="axis=True was given to categorical_crossentropy"):
        losses.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]], axis=True)


def test_missing_targets_raise():
    with pytest.raises(
        ValueError, match="mean_squared_error was given y_true=None; it compares targets"
    ):
        losses.MeanSquaredError()(None, PRED)


def test_operations_can_be_losses():
    loss = losses.LossFunctionWrapper(ops.binary_crossentropy)
    assert float(loss(np.array([0, 1]), np.array([[0.5], [0.5]]))) == pytest.approx(np.log(2))


def test_circle_loss_with_reference_embeddings():
    embeddings, references = np.eye(3)[:2], np.eye(3)
    values = losses.circle(
        [0, 1],
        embeddings,
        ref_labels=[0, 1, 1],
        ref_embeddings=references,
        remove_diagonal=False,
        gamma=1.0,
    )
    expected = losses.circle([0, 1, 1], references, remove_diagonal=False, gamma=1.0)
    np.testing.assert_allclose(values.numpy(), expected.numpy()[:2], rtol=1e-6)
