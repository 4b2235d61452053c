"""The small rooms of core: names, dtypes and policies, the registry, seeds."""

import numpy as np
import pytest

import podium
from podium import core


def test_automatic_names_count_up_and_paths_nest():
    assert [core.auto_name("dense") for _ in range(3)] == ["dense", "dense_1", "dense_2"]
    assert (
        core.snake_case("MultiHeadAttention") == "multi_head_attention"
        and core.snake_case("LSTM") == "lstm"
    )
    with pytest.raises(ValueError, match="without '/'"), podium.name_scope("a/b"):
        pass


def test_dtypes_have_one_name_each():
    for given, name in (
        (np.float64, "float32"),
        ("int64", "int32"),
        (float, "float32"),
        ("half", "float16"),
        (bool, "bool"),
        (None, "float32"),
    ):
        assert core.standardize_dtype(given) == name
    with pytest.raises(ValueError, match=r"Unknown dtype 'flaot32'. Did you mean 'float32'\?"):
        core.standardize_dtype("flaot32")


def test_policies_split_compute_from_storage():
    policy = core.DTypePolicy("mixed_float16")
    assert (policy.compute_dtype, policy.variable_dtype) == ("float16", "float32")
    assert (
        core.DTypePolicy.from_config(policy.get_config()) == policy != core.DTypePolicy("float32")
    )
    core.set_dtype_policy("mixed_bfloat16")
    assert podium.layers.Dense(1).dtype_policy.name == "mixed_bfloat16"


def test_defaults_are_checked():
    for set_default, wrong in (
        (core.set_floatx, "int32"),
        (core.set_image_data_format, "channels_middle"),
    ):
        with pytest.raises(ValueError, match="Choices"):
            set_default(wrong)
    with pytest.raises(ValueError, match="above zero"):
        core.set_epsilon(0.0)


def test_registered_classes_are_found_by_name_and_nothing_else_is():
    @podium.saving.register_keras_serializable("rooms", name="Mine")
    class Other(podium.layers.Layer):
        def call(self, x):
            return x

    assert podium.saving.get_registered_name(Other) == "rooms>Mine"
    again = podium.layers.deserialize(podium.layers.serialize(Other(name="n")))
    assert type(again) is Other and again.name == "n"
    with pytest.raises(ValueError, match=r"Unknown layer 'os\.system'"):
        podium.layers.deserialize({"class_name": "os.system", "module": "os", "config": {}})
    with pytest.raises(ValueError, match="has no `get_config`"):
        podium.saving.register_keras_serializable()(int)


def test_custom_objects_hold_inside_their_scope_only():
    with podium.saving.custom_object_scope({"thrice": lambda x: 3 * x}):
        assert float(podium.activations.get("thrice")(podium.Tensor(1.0))) == 3.0
    with pytest.raises(ValueError, match="Unknown activation"):
        podium.activations.get("thrice")


def test_seed_generators_count_their_draws():
    generator = podium.random.SeedGenerator(7)
    first = podium.random.normal((3,), seed=generator).numpy()
    second = podium.random.normal((3,), seed=generator).numpy()
    assert not np.array_equal(first, second) and generator.state.numpy().tolist() == [7, 2]
    again = podium.random.SeedGenerator.from_config(generator.get_config())
    np.testing.assert_array_equal(podium.random.normal((3,), seed=again).numpy(), first)
    np.testing.assert_array_equal(
        podium.random.normal((3,), seed=5).numpy(), podium.random.normal((3,), seed=5).numpy()
    )
    for wrong in (1.5, True, "a"):
        with pytest.raises(TypeError, match="an int"):
            podium.random.SeedGenerator(wrong)
        with pytest.raises(TypeError, match="an int"):
            podium.random.normal((3,), seed=wrong)


def test_one_seed_repeats_weights_and_draws():
    def run():
        podium.utils.set_random_seed(11)
        layer = podium.layers.Dense(4)
        return (
            layer(np.ones((2, 3), "float32")).numpy(),
            podium.random.uniform((2,)).numpy(),
            np.random.rand(2),
        )

    for a, b in zip(run(), run(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError, match="an int"):
        podium.utils.set_random_seed(1.5)
