"""Dtype policies of quantized layers, and maps from layers to policies."""

import pytest

import podium
from podium import dtype_policies


def test_quantized_policies_check_their_mode():
    with pytest.raises(ValueError, match="Unknown quantization mode 'int7'"):
        dtype_policies.QuantizedDTypePolicy("int7")
    with pytest.raises(ValueError, match="exceed the range of float16"):
        dtype_policies.QuantizedDTypePolicy("int8", "float16")
    with pytest.raises(ValueError, match="the form 'gptq/<weight_bits>/<group_size>' was expected"):
        dtype_policies.GPTQDTypePolicy("gptq/4")
    with pytest.raises(ValueError, match="Unknown weight_bits 5"):
        dtype_policies.GPTQDTypePolicy("gptq/5/128")
    with pytest.raises(ValueError, match="integers were expected"):
        dtype_policies.Int4DTypePolicy("int4/many")
    with pytest.raises(ValueError, match=r"a positive int, or -1"):
        dtype_policies.Int4DTypePolicy("int4/0")


def test_map_finds_one_policy_for_a_layer():
    policies = dtype_policies.DTypePolicyMap("float32", {"dense": "bfloat16", "conv.*": "float16"})
    assert podium.layers.Dense(2, name="dense", dtype=policies).compute_dtype == "bfloat16"
    assert podium.layers.Dense(2, name="conv_1", dtype=policies).variable_dtype == "float16"
    assert podium.layers.Dense(2, name="other", dtype=policies).compute_dtype == "float32"
    policies["co.*"] = "float32"
    with pytest.raises(ValueError, match=r"'conv_1' matches \['conv.*', 'co.*'\]"):
        policies["conv_1"]
    with pytest.raises(ValueError, match="has a policy for 'dense' already"):
        policies["dense"] = "float32"
    del policies["dense"]
    assert "dense" not in policies
    assert sorted(policies) == ["co.*", "conv.*"]


def test_map_survives_the_config_of_a_layer():
    policies = dtype_policies.DTypePolicyMap("float32", {"dense": "bfloat16"})
    layer = podium.layers.Dense(2, name="dense", dtype=policies)
    restored = podium.saving.deserialize_keras_object(podium.saving.serialize_keras_object(layer))
    assert restored.dtype_policy == policies
    assert restored.compute_dtype == "bfloat16"
    restored.dtype_policy = "float16"
    assert restored.compute_dtype == "float16"


def test_map_checks_its_arguments():
    with pytest.raises(ValueError, match="a single policy was expected"):
        dtype_policies.DTypePolicyMap(dtype_policies.DTypePolicyMap())
    with pytest.raises(TypeError, match="a dictionary of policies was expected"):
        dtype_policies.DTypePolicyMap("float32", ["bfloat16"])


def test_unknown_policies_are_refused():
    with pytest.raises(ValueError, match="Unknown dtype policy 'Policy'"):
        dtype_policies.deserialize({"class_name": "Policy", "config": {}})


def test_policy_map_is_a_dictionary():
    policies = podium.dtype_policies.DTypePolicyMap(policy_map={"a": "bfloat16", "b": "float16"})
    assert list(policies.keys()) == ["a", "b"]
    assert [policy.name for policy in policies.values()] == ["bfloat16", "float16"]
    assert policies.pop("a").name == "bfloat16" and list(policies) == ["b"]
    policies.update({"c": "float32"})
    assert [key for key, _ in policies.items()] == ["b", "c"]
    policies.clear()
    assert len(policies) == 0


def test_policy_without_a_name_is_the_global_one():
    podium.core.set_dtype_policy("mixed_bfloat16")
    assert podium.DTypePolicy() == podium.DTypePolicy("mixed_bfloat16")
    quantized = dtype_policies.QuantizedDTypePolicy("int8")
    assert quantized.name == "int8_from_mixed_bfloat16"
    assert repr(quantized) == '<QuantizedDTypePolicy "int8_from_mixed_bfloat16">'
    podium.core.set_dtype_policy(dtype_policies.DTypePolicyMap("bfloat16"))  # without entries
    assert podium.layers.Dense(2).compute_dtype == "bfloat16"
    podium.core.set_dtype_policy(None)
    assert podium.DTypePolicy().name == "float32"
