"""The global dtype policy, the policies that names and configs mean, and `DTypePolicyMap`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping

from podium._typing import Config, DTypeLike
from podium.core._backend_settings import floatx
from podium.core._errors import unknown_choice
from podium.core.tensor._dtypes import DTypePolicy, GlobalPolicy
from podium.core.tensor._quantized_policies import (
    QUANTIZATION_MODES,
    AWQDTypePolicy,
    GPTQDTypePolicy,
    Int4DTypePolicy,
    QuantizedDTypePolicy,
    QuantizedFloat8DTypePolicy,
)


def dtype_policy() -> DTypePolicy:
    """Return the policy of new layers that are created without one.

    Example:
        >>> podium.core.dtype_policy().name
        'float32'
    """
    # A map without entries counts as False.
    return DTypePolicy(floatx()) if GlobalPolicy.policy is None else GlobalPolicy.policy


def set_dtype_policy(policy: str | DTypePolicy | None) -> None:
    """Set the policy of layers created from now on; None restores the default float dtype.

    Example:
        >>> podium.core.set_dtype_policy("mixed_bfloat16")
        >>> podium.layers.Dense(2).compute_dtype
        'bfloat16'
        >>> podium.core.set_dtype_policy(None)
    """
    GlobalPolicy.policy = None if policy is None else get_dtype_policy(policy)


class DTypePolicyMap(DTypePolicy, MutableMapping[str, DTypePolicy]):
    """Policies by the paths of layers: exact names or regular expressions.

    Args:
        default_policy: The policy of other layers; by default the global one.
        policy_map: The policies by path or pattern.

    Example:
        >>> policies = podium.dtype_policies.DTypePolicyMap("float32", {"dense_.*": "bfloat16"})
        >>> policies["dense_1"].name, policies["conv"].name
        ('bfloat16', 'float32')
        >>> podium.layers.Dense(2, dtype=policies, name="dense_1").compute_dtype
        'bfloat16'
    """

    def __init__(
        self,
        default_policy: DTypeLike | DTypePolicy | Config | None = None,
        policy_map: Mapping[str, DTypeLike | DTypePolicy | Config] | None = None,
    ):
        if isinstance(default_policy, DTypePolicyMap):
            raise ValueError("default_policy is a DTypePolicyMap; a single policy was expected.")
        if policy_map is not None and not isinstance(policy_map, Mapping):
            raise TypeError(
                f"policy_map={policy_map!r} was given; a dictionary of policies was expected."
            )
        self._default = None if default_policy is None else get_dtype_policy(default_policy)
        self._policies = {key: get_dtype_policy(p) for key, p in (policy_map or {}).items()}

    @property
    def default_policy(self) -> DTypePolicy:
        """The policy of layers that the map does not name."""
        return self._default or dtype_policy()

    @property
    def name(self) -> str:
        """The name of the default policy, with the prefix "map_"."""
        return f"map_{self.default_policy.name}"

    @property
    def compute_dtype(self) -> str:
        """That of the default policy."""
        return self.default_policy.compute_dtype

    @property
    def variable_dtype(self) -> str:
        """That of the default policy."""
        return self.default_policy.variable_dtype

    @property
    def quantization_mode(self) -> str | None:
        """That of the default policy."""
        return self.default_policy.quantization_mode

    def for_path(self, path: str) -> DTypePolicy:
        """Return the policy of the layer of this path."""
        return self[path]

    def __getitem__(self, path: str) -> DTypePolicy:
        if path in self._policies:
            return self._policies[path]
        keys = [pattern for pattern in self._policies if re.fullmatch(pattern, path)]
        if len(keys) > 1:
            raise ValueError(
                f"The path {path!r} matches {keys} of the DTypePolicyMap; at most one pattern was "
                "expected to match. Make them exclude each other."
            )
        return self._policies[keys[0]] if keys else self.default_policy

    def __setitem__(self, path: str, policy: DTypeLike | DTypePolicy | Config) -> None:
        if path in self._policies:
            raise ValueError(
                f"The DTypePolicyMap has a policy for {path!r} already, {self._policies[path]!r}. "
                "Delete it first."
            )
        self._policies[path] = get_dtype_policy(policy)

    def __delitem__(self, path: str) -> None:
        del self._policies[path]

    def __contains__(self, path: object) -> bool:
        return path in self._policies

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)

    def get_config(self) -> Config:
        """Return the arguments that recreate this map."""
        policies = {path: serialize_dtype_policy(p) for path, p in self._policies.items()}
        default = None if self._default is None else serialize_dtype_policy(self._default)
        return {"default_policy": default, "policy_map": policies}


_CLASSES: dict[str, type[DTypePolicy]] = {
    cls.__name__: cls
    for cls in (
        AWQDTypePolicy,
        DTypePolicy,
        DTypePolicyMap,
        GPTQDTypePolicy,
        Int4DTypePolicy,
        QuantizedDTypePolicy,
        QuantizedFloat8DTypePolicy,
    )
} | {"FloatDTypePolicy": DTypePolicy}


def find_policy_class(name: str) -> type[DTypePolicy] | None:
    """Return the class of policies of a name, or None."""
    return _CLASSES.get(name)


def serialize_dtype_policy(dtype_policy: DTypePolicy) -> Config:
    """Return a config from which `deserialize` recreates a policy.

    Example:
        >>> podium.dtype_policies.serialize(podium.DTypePolicy("bfloat16"))["config"]
        {'name': 'bfloat16'}
    """
    cls = type(dtype_policy)
    return {
        "module": "keras" if cls is DTypePolicy else "keras.dtype_policies",
        "class_name": cls.__name__,
        "config": dtype_policy.get_config(),
        "registered_name": None,
    }


def deserialize_dtype_policy(
    config: Config, custom_objects: Mapping[str, type[DTypePolicy]] | None = None
) -> DTypePolicy:
    """Create a policy from the result of `serialize`.

    Args:
        config: The config.
        custom_objects: Your own classes by name.

    Example:
        >>> config = podium.dtype_policies.serialize(podium.DTypePolicy("bfloat16"))
        >>> podium.dtype_policies.deserialize(config).name
        'bfloat16'
    """
    classes = _CLASSES | dict(custom_objects or {})
    name = config.get("class_name", "DTypePolicy")
    if name not in classes:
        raise unknown_choice("dtype policy", name, tuple(classes))
    return classes[name].from_config(config.get("config", config))


def get_dtype_policy(identifier: DTypeLike | DTypePolicy | Config | None) -> DTypePolicy:
    """Return the policy that a layer's `dtype` argument means.

    Args:
        identifier: None for the global policy, a name, a dtype, a policy or its config.

    Example:
        >>> podium.core.get_dtype_policy("float16").variable_dtype
        'float16'
        >>> podium.core.get_dtype_policy("int8_from_float32").quantization_mode
        'int8'
    """
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_dtype_policy(identifier)
    if isinstance(identifier, str) and identifier.startswith(QUANTIZATION_MODES):
        mode, separator, source = identifier.partition("_from_")
        if separator:
            return _quantized_policy(mode, source)
    return DTypePolicy(identifier)


def _quantized_policy(mode: str, source_name: str) -> DTypePolicy:
    """Return the policy of a name such as "int4/128_from_float32"."""
    classes: dict[str, type[QuantizedDTypePolicy]] = {
        "float8": QuantizedFloat8DTypePolicy,
        "gptq": GPTQDTypePolicy,
        "awq": AWQDTypePolicy,
    }
    if mode.startswith("int4/"):
        return Int4DTypePolicy(mode, source_name)
    return classes.get(mode.split("/")[0], QuantizedDTypePolicy)(mode, source_name)
