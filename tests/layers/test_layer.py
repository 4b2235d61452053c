"""The Layer base: building, tracking, weights, losses, masks, training, types, configs, the pure
form.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import layers, ops

X = np.ones((2, 3), "float32")


class Scale(layers.Layer):
    def __init__(self, factor=2.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count")

    def call(self, x):
        self.count.assign_add(1.0)
        return x * self.w * self.factor


def test_weights_are_created_on_the_first_call():
    layer = Scale()
    assert not layer.built and layer.weights == []
    assert layer(X).shape == (2, 3)
    assert layer.built and [w.path for w in layer.weights] == ["scale/w", "scale/count"]
    assert [w.name for w in layer.trainable_weights] == ["w"] and [
        w.name for w in layer.non_trainable_weights
    ] == ["count"]
    assert layer.count_params() == 4
    with pytest.raises(ValueError, match="has no weights yet"):
        Scale().count_params()


def test_sublayers_and_variables_are_found_in_any_container():
    class Block(layers.Layer):
        def __init__(self):
            super().__init__()
            self.by_list = [layers.Dense(1)]
            self.by_dict = {"a": layers.Dense(1), "b": (layers.Dense(1), [layers.Dense(1)])}
            self.alone = podium.Variable(1.0, name="alone")
            self.some = {"v": [podium.Variable(2.0, name="deep")]}
            self.metric = podium.metrics.Mean()
            self.seed = podium.random.SeedGenerator(1)

        def call(self, x):
            inner = [*self.by_list, self.by_dict["a"], self.by_dict["b"][0], *self.by_dict["b"][1]]
            return sum(layer(x) for layer in inner) * self.alone

    block = Block()
    block.by_list.append(layers.Dense(1))  # found although it came later
    block(X)
    assert len(block.weights) == 2 + 5 * 2
    assert [v.name for v in block.weights[:2]] == ["alone", "deep"]
    assert len(block.variables) == 2 + 10 + 1 + 2
    assert block.metrics == [block.metric]


def test_forgetting_super_init_is_explained():
    class Wrong(layers.Layer):
        def __init__(self):
            self.x = 1

    with pytest.raises(RuntimeError, match=r"Wrong was used before `super\(\).__init__\(\)`"):
        Wrong()(X)


def test_trainable_sets_and_resets_all_layers_inside():
    model = podium.Sequential([podium.Input((3,)), layers.Dense(2), Scale()])
    assert len(model.trainable_weights) == 3
    model.trainable = False
    assert model.trainable_weights == [] and len(model.non_trainable_weights) == 4
    with podium.GradientTape() as tape:
        loss = ops.sum(model(X))
    assert tape.gradient(loss, model.weights, unconnected_gradients="zero")[0].numpy().sum() == 0
    model.trainable = True
    assert [w.name for w in model.trainable_weights] == ["kernel", "bias", "w"]
    model.layers[0].trainable = False
    assert [w.name for w in model.trainable_weights] == ["w"]
    late = Scale(trainable=False)
    late(X)
    assert late.trainable_weights == []


def test_set_weights_is_all_or_nothing():
    layer = layers.Dense(2)
    layer(X)
    before = layer.get_weights()
    with pytest.raises(ValueError, match=r"shape \(2,\) and was assigned a value of shape \(3,\)"):
        layer.set_weights([np.ones((3, 2)), np.ones(3)])
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    with pytest.raises(ValueError, match="given 1 arrays; it has 2 weights"):
        layer.set_weights([np.ones((3, 2))])
    with pytest.raises(ValueError, match="has not been built"):
        layers.Dense(2).set_weights([np.ones((3, 2))])
    layer.set_weights([np.ones((3, 2)), np.zeros(2)])
    assert layer(X).numpy().tolist() == [[3.0, 3.0]] * 2


def test_error_for_wrong_shapes_names_layer_shapes_and_fix():
    layer = layers.Dense(2, name="head")
    layer(X)
    with pytest.raises(
        ValueError,
        match=r"Layer 'head' \(Dense\) was called with shape \(2, 4\).*3 was expected.*inputs of "
        r"shape \(2, 3\).*new layer",
    ):
        layer(np.ones((2, 4), "float32"))
    with pytest.raises(
        ValueError,
        match=r"shape \(3,\): at least 2 dimensions were expected, 1 were given.*x\[None\]",
    ):
        layers.Dense(2)(np.ones(3, "float32"))
    with pytest.raises(TypeError, match="array of strings"):
        layers.Dense(2)(np.array([["a"]]))
    with pytest.raises(ValueError, match=r"weight 'kernel' of shape \(None, 2\).*Input"):
        layers.Dense(2)(podium.Input((None,)))


def test_unknown_arguments_and_strings_suggest_the_nearest():
    with pytest.raises(
        TypeError, match=r"Dense does not know the argument 'activatoin'.*Did you mean 'activation'"
    ):
        layers.Dense(2, activatoin="relu")
    with pytest.raises(ValueError, match=r"'rellu'. Did you mean 'relu'\?"):
        layers.Dense(2, activation="rellu")
    with pytest.raises(ValueError, match=r"'glorot_unifrm'. Did you mean 'glorot_uniform'\?"):
        layers.Dense(2, kernel_initializer="glorot_unifrm")
    with pytest.raises(ValueError, match=r"'mixed_float61'.*Did you mean 'mixed_float16'"):
        layers.Dense(2, dtype="mixed_float61")
    with pytest.raises(ValueError, match="units=0"):
        layers.Dense(0)
    with pytest.raises(ValueError, match="without '/'"):
        layers.Dense(1, name="a/b")


def test_training_is_passed_on_and_required_arguments_get_a_default():
    seen = []

    class Recorder(layers.Layer):
        def call(self, x, training):
            seen.append(training)
            return x

    class Outer(podium.Model):
        def __init__(self):
            super().__init__()
            self.recorder = Recorder()
            self.off = Recorder()

        def call(self, x):
            return self.off(self.recorder(x), training=False)

    graph = podium.Sequential([podium.Input((3,)), Recorder()])
    seen.clear()
    graph(X), graph(X, training=True), graph(X, training=False), Recorder()(X)
    assert seen == [False, True, False, False]
    seen.clear()
    wrapped = podium.Sequential([Outer()])
    wrapped(X, training=True)
    assert seen[-2:] == [True, False]


def test_masks_are_carried_by_tensors():
    class Masker(layers.Layer):
        def compute_mask(self, inputs, previous_mask):
            return ops.not_equal(inputs, 0)[..., 0]

        def call(self, x):
            return x

    class Consumer(layers.Layer):
        def call(self, x, mask=None):
            return (
                ops.sum(x * ops.cast(mask, "float32")[..., None], axis=1)
                if mask is not None
                else ops.sum(x, axis=1)
            )

    class Opaque(layers.Layer):
        def call(self, x):
            return x * 1

    x = np.array([[[1.0], [0.0], [5.0]]], "float32")
    masked = Masker()(x)
    np.testing.assert_array_equal(masked._keras_mask, [[True, False, True]])
    assert layers.Dense(2)(masked)._keras_mask is not None
    assert Opaque()(masked)._keras_mask is None
    assert float(Consumer()(masked + 0)[0, 0]) == 6.0
    symbol = podium.Input((3, 1))
    model = podium.Model(
        symbol,
        Consumer()(
            layers.Dense(1, kernel_initializer="ones", bias_initializer="ones")(Masker()(symbol))
        ),
    )
    assert float(model(x)[0, 0]) == 2.0 + 6.0
    with podium.GradientTape() as tape:
        y = model(x)
    assert float(tape.gradient(y, model.layers[2].bias)[0]) == 2.0


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_computes_in_half_and_stores_in_float32(policy):
    short = policy.removeprefix("mixed_")
    layer = layers.Dense(2, dtype=policy)
    y = layer(X)
    assert y.dtype == short and layer.kernel.dtype == np.float32 and layer.compute_dtype == short

    class Seen(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(3,))

        def call(self, x):
            assert x.dtype == short and (x * self.w).dtype == short and self.w.dtype == short
            return x * self.w

    seen = Seen(dtype=policy)
    with podium.GradientTape() as tape:
        y = seen(X)
    assert tape.gradient(y, seen.w).dtype == np.float32
    podium.core.set_dtype_policy(policy)
    assert layers.Dense(1)(X).dtype == short
    assert layers.Dense(1, dtype="float32")(X).dtype == np.float32


def test_losses_are_those_of_the_last_outermost_call():
    class Lossy(layers.Layer):
        def call(self, x):
            self.add_loss(ops.mean(x))
            return x

    model = podium.Sequential([Lossy(), Lossy()])
    model(X), model(2 * X)
    assert [float(loss) for loss in model.losses] == [2.0, 2.0]
    podium.function(lambda x: model(x))(3 * X)
    assert [float(loss) for loss in model.losses] == [
        2.0,
        2.0,
    ]  # a compiled step keeps its own to itself
    total = podium.function(lambda x: (model(x), sum(model.losses))[1])
    assert float(total(3 * X)) == 6.0
    dense = layers.Dense(2, kernel_regularizer="l2", kernel_initializer="ones")
    dense(X)
    np.testing.assert_allclose(float(dense.losses[0]), 0.06, rtol=1e-6)


def test_add_metric_keeps_a_running_mean():
    class Measured(layers.Layer):
        def call(self, x):
            self.add_metric(ops.mean(x), name="level")
            return x

    layer = Measured()
    layer(X), layer(3 * X)
    assert [m.name for m in layer.metrics] == ["level"] and float(layer.metrics[0].result()) == 2.0


def test_configs_recreate_the_layer():
    layer = Scale(3.0, name="mine")
    again = Scale.from_config(layer.get_config())
    assert (again.factor, again.name) == (3.0, "mine")

    class Unplain(layers.Layer):
        def __init__(self, fn):
            super().__init__()

    with pytest.raises(NotImplementedError, match=r"arguments \['fn'\].*get_config"):
        Unplain(print).get_config()
    dense = layers.Dense(3, activation="relu", kernel_regularizer="l2", dtype="mixed_bfloat16")
    again = layers.Dense.from_config(dense.get_config())
    assert again.get_config() == dense.get_config() and again.compute_dtype == "bfloat16"
    with pytest.raises(TypeError, match="cannot be created from the config"):
        layers.Dense.from_config({"unts": 3})


def test_stateless_call_is_pure_and_works_with_jax_grad():
    layer = Scale()
    layer(X)
    trainable, rest = (
        [v.value for v in layer.trainable_variables],
        [v.value for v in layer.non_trainable_variables],
    )

    def loss(trainable):
        outputs, new = layer.stateless_call(trainable, rest, X)
        return jnp.sum(outputs), new

    (value, new), gradients = jax.jit(jax.value_and_grad(loss, has_aux=True))(trainable)
    assert float(value) == 12.0 and float(new[0]) == 2.0 and gradients[0].tolist() == [4.0] * 3
    assert float(layer.count) == 1.0
    with pytest.raises(ValueError, match="given 0 values for 1 Variables"):
        layer.stateless_call([], rest, X)


def test_compute_output_shape_and_spec():
    assert layers.Dense(4).compute_output_shape((None, 7, 3)) == (None, 7, 4)
    assert Scale().compute_output_shape((None, 3)) == (None, 3)
    spec = Scale().compute_output_spec(podium.KerasTensor((5, 3)))
    assert spec.shape == (5, 3) and spec.dtype == np.float32


def test_lists_and_foreign_arrays_are_converted():
    assert layers.Dense(1)([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 1)
    assert layers.Dense(1)(np.ones((2, 3))).dtype == np.float32
    assert layers.Dense(1)(jnp.ones((2, 3))).shape == (2, 1)

    class Foreign:
        dtype, shape = np.dtype("float32"), (2, 3)

        def __array__(self, dtype=None, copy=None):
            return np.ones((2, 3), "float32")

    assert layers.Dense(1)(Foreign()).shape == (2, 1)


def test_build_may_create_variables_directly_also_inside_a_compiled_function():
    class Old(layers.Layer):
        def build(self, shape):
            self.w = podium.Variable(podium.random.normal((shape[-1], 2)), name="w")
            super().build(shape)

        def call(self, x):
            return ops.matmul(x, self.w)

    layer = Old()
    result = podium.function(lambda x: layer(x))(X)
    np.testing.assert_allclose(result.numpy(), X @ layer.w.numpy(), rtol=1e-5)


def test_keras_2_add_weight_takes_the_name_first():
    class Old(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight("w", (shape[-1],))

        def call(self, x):
            return x * self.w

    layer = Old()
    layer(X)
    assert layer.w.path == "old/w" and layer.w.shape == (3,)


def test_error_for_a_layer_without_call():
    class Empty(layers.Layer):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no `call` method"):
        Empty()(X)
    with pytest.raises(TypeError, match=r"Layer 'dense' was called with wrong arguments.*inputs"):
        layers.Dense(1)(X, X, X, X)


class KerasTwoMask(layers.Layer):
    def compute_mask(self, inputs, mask=None):
        return mask


class KerasThreeMask(layers.Layer):
    def compute_mask(self, inputs, previous_mask):
        return previous_mask


class OtherMaskNames(layers.Layer):
    def compute_mask(self, x, of_x):
        return of_x


@pytest.mark.parametrize(
    "layer_class", [KerasTwoMask, KerasThreeMask, OtherMaskNames, layers.Layer]
)
def test_compute_mask_accepts_both_names_of_the_mask(layer_class):
    layer, mask = layer_class(), np.array([True])
    for result in (
        layer.compute_mask(0, mask),
        layer.compute_mask(0, mask=mask),
        layer.compute_mask(0, previous_mask=mask),
        layer.compute_mask(inputs=0, mask=mask),
    ):
        assert result is mask
    assert layer.compute_mask(0) is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'masks'"):
        layer.compute_mask(0, masks=None)
