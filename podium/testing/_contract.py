"""What the checks share: the error they raise, comparison of values, and round trips of configs.

The checks themselves are in the other files of this package, one for each kind of component.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from podium._typing import Config, Tree
from podium.core import convert_to_numpy, tree_leaves


class ContractError(AssertionError):
    """A component breaks the contract of its kind; the message states which part, and the fix.

    Example:
        >>> class Broken(podium.layers.Layer):
        ...     def call(self, inputs):
        ...         return None
        >>> try:
        ...     podium.testing.check_layer(Broken(), np.ones((2, 3), "float32"))
        ... except podium.testing.ContractError as error:
        ...     print("returned None" in str(error))
        True
    """


class Configurable(Protocol):
    """An object that can describe itself by a config and be made from it."""

    def get_config(self) -> Config: ...

    @classmethod
    def from_config(cls, config: Config) -> Any: ...


C = TypeVar("C", bound=Configurable)


class Contract:
    """Raises `ContractError`s that name the component and the property under check.

    Args:
        check: The name of the public function, such as "check_layer".
        component: The component under check, or its class.
    """

    def __init__(self, check: str, component: object):
        cls = component if isinstance(component, type) else type(component)
        self._prefix = f"{check}({cls.__name__})"

    def require(self, condition: bool, problem: str, fix: str) -> None:
        """Raise unless `condition` holds."""
        if not condition:
            raise ContractError(f"{self._prefix}: {problem} {fix}")

    @contextlib.contextmanager
    def succeeds(self, action: str, fix: str) -> Iterator[None]:
        """Raise if the block raises, with the original error as the cause."""
        try:
            yield
        except ContractError:
            raise
        except Exception as error:
            raise ContractError(
                f"{self._prefix}: {action} raised {type(error).__name__}: {error} {fix}"
            ) from error

    def require_equal(
        self, actual: Tree, expected: Tree, problem: str, fix: str, *, rtol: float = 0.0
    ) -> None:
        """Raise unless two structures hold the same values, up to `rtol` of the largest."""
        actual_leaves, expected_leaves = tree_leaves(actual), tree_leaves(expected)
        self.require(
            len(actual_leaves) == len(expected_leaves),
            f"{problem} There are {len(actual_leaves)} values, {len(expected_leaves)} expected.",
            fix,
        )
        for actual_leaf, expected_leaf in zip(actual_leaves, expected_leaves, strict=True):
            difference = _difference(actual_leaf, expected_leaf, rtol)
            self.require(difference is None, f"{problem} {difference}", fix)

    def rebuild(self, component: C) -> C:
        """Return the component rebuilt from its config, which is first converted to JSON."""
        cls = type(component)
        with self.succeeds("get_config()", "Return the arguments of `__init__` as a dictionary."):
            config = component.get_config()
        with self.succeeds(
            f"json.dumps(get_config()) of {config!r}",
            "Return only numbers, strings, lists and dictionaries; serialize objects with "
            "`podium.saving.serialize_keras_object`.",
        ):
            text = json.dumps(config)
        with self.succeeds(
            f"from_config({config!r})",
            "Accept in `__init__` every name that `get_config` returns, base class included, or "
            "override `from_config`.",
        ):
            copy: C = cls.from_config(json.loads(text))
        again = copy.get_config()
        self.require(
            json.dumps(again) == text,
            f"the config of an object made by from_config is {again!r}, not {config!r}.",
            "Keep every argument as an attribute and return it unchanged from `get_config`.",
        )
        return copy


def _difference(actual: Any, expected: Any, rtol: float) -> str | None:
    """Return how two values differ, or None if they do not."""
    array, reference = convert_to_numpy(actual), convert_to_numpy(expected)
    if array.shape != reference.shape:
        return f"The shape is {array.shape}, not {reference.shape}."
    if rtol == 0.0 or not np.issubdtype(reference.dtype, np.floating):
        same = array.tobytes() == reference.astype(array.dtype).tobytes() or np.array_equal(
            array, reference, equal_nan=np.issubdtype(reference.dtype, np.inexact)
        )
    else:
        scale = float(np.max(np.abs(reference), initial=0.0, where=np.isfinite(reference)))
        same = np.allclose(
            array, reference, rtol=rtol, atol=rtol * max(scale, 1e-3), equal_nan=True
        )
    if same:
        return None
    return f"Values differ: {_shorten(array)} instead of {_shorten(reference)}."


def _shorten(array: np.ndarray[Any, Any]) -> str:
    return np.array2string(array.ravel()[:4], precision=6, separator=", ")
