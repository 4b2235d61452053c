"""What tests import as `keras.src.testing`: the class of all tests, and what hardware there is."""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
from typing import Any

import jax
import numpy as np
from absl.testing import parameterized

import podium
from keras_tests.global_state import clear_session
from keras_tests.layer_checks import LayerCheck
from podium.core import KerasTensor


def uses_gpu() -> bool:
    """Return whether JAX computes on a GPU."""
    return bool(jax.default_backend() == "gpu")


def uses_tpu() -> bool:
    """Return whether JAX computes on a TPU."""
    return bool(jax.default_backend() == "tpu")


jax_uses_gpu, jax_uses_tpu = uses_gpu, uses_tpu


def tensorflow_uses_gpu() -> bool:
    """Return False: TensorFlow is not the backend."""
    return False


tensorflow_uses_tpu = torch_uses_gpu = tensorflow_uses_gpu


class TestCase(parameterized.TestCase):
    """A test with assertions about arrays, and with the standard checks of objects and layers."""

    maxDiff = None

    def setUp(self) -> None:
        """Start with the default settings and automatic names."""
        clear_session()
        podium.core.disable_traceback_filtering()

    def get_temp_dir(self) -> str:
        """Return a new folder, which is removed after the test."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def convert_to_numpy(self, value: Any) -> np.ndarray:
        """Return an array of NumPy."""
        if isinstance(value, (podium.Tensor, podium.Variable)):
            return podium.core.convert_to_numpy(value)
        return np.asarray(value)

    def assertAllClose(
        self,
        actual: Any,
        desired: Any,
        atol: float = 1e-6,
        rtol: float = 1e-6,
        tpu_atol: float | None = None,
        tpu_rtol: float | None = None,
        msg: str | None = None,
    ) -> None:
        """Assert that arrays have equal shapes and nearly equal elements."""
        if uses_tpu():
            atol, rtol = tpu_atol or atol, tpu_rtol or rtol
        arrays = self.convert_to_numpy(actual), self.convert_to_numpy(desired)
        np.testing.assert_allclose(*arrays, atol=atol, rtol=rtol, err_msg=msg or "")

    def assertNotAllClose(
        self, x1: Any, x2: Any, atol: float = 1e-6, rtol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Assert that `assertAllClose` fails."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertAllClose(x1, x2, atol=atol, rtol=rtol)

    def assertAlmostEqual(
        self,
        actual: Any,
        desired: Any,
        decimal: int = 3,
        tpu_decimal: int | None = None,
        msg: str | None = None,
    ) -> None:
        """Assert that arrays are equal up to a number of decimal places."""
        arrays = self.convert_to_numpy(actual), self.convert_to_numpy(desired)
        decimal = tpu_decimal if uses_tpu() and tpu_decimal is not None else decimal
        np.testing.assert_almost_equal(*arrays, decimal=decimal, err_msg=msg or "")

    def assertAllEqual(self, actual: Any, desired: Any, msg: str | None = None) -> None:
        """Assert that arrays have equal shapes and elements."""
        arrays = self.convert_to_numpy(actual), self.convert_to_numpy(desired)
        np.testing.assert_array_equal(*arrays, err_msg=msg or "")

    def assertLen(self, iterable: Any, expected_len: int, msg: str | None = None) -> None:
        """Assert a length."""
        self.assertEqual(len(iterable), expected_len, msg=msg)

    def assertSparse(self, value: Any, sparse: bool = True) -> None:
        """Assert that a value is, or is not, sparse."""
        self.assertEqual(getattr(value, "sparse", False), sparse)

    def assertRagged(self, value: Any, ragged: bool = True) -> None:
        """Assert that a value is, or is not, ragged."""
        self.assertEqual(getattr(value, "ragged", False), ragged)

    def assertDType(self, value: Any, dtype: Any, msg: str | None = None) -> None:
        """Assert the dtype of a value, which may be a number of Python's."""
        standardize = podium.core.standardize_dtype
        actual = standardize(value.dtype if hasattr(value, "dtype") else type(value))
        self.assertEqual(actual, standardize(dtype), msg or f"{actual} instead of {dtype}")

    def assertFileExists(self, path: Any) -> None:
        """Assert that a file exists."""
        self.assertTrue(pathlib.Path(path).is_file(), f"There is no file {path}.")

    def run_class_serialization_test(self, instance: Any, custom_objects: Any = None) -> Any:
        """Create an object again from its config, and from JSON; return the latter.

        The config must be the same each time, and the attributes have the same names.
        """
        config = _to_json(instance.get_config())
        names = set(dir(instance)) - {"__annotations__"}

        def check(copy: Any) -> Any:
            self.assertEqual(config, _to_json(copy.get_config()))
            self.assertEqual(names, set(dir(copy)) - {"__annotations__"})
            return copy

        with podium.saving.custom_object_scope(custom_objects or {}):
            check(type(instance).from_config(instance.get_config()))
            serialized = _to_json(podium.saving.serialize_keras_object(instance))
            return check(podium.saving.deserialize_keras_object(_from_json(serialized)))

    def run_layer_test(self, layer_cls: Any, init_kwargs: Any, **expectations: Any) -> None:
        """Check a class of layers: `LayerCheck` lists what, and the arguments."""
        LayerCheck(self, layer_cls, init_kwargs or {}, **expectations).run()


def create_keras_tensors(shape: Any, dtype: Any, sparse: bool = False, ragged: bool = False) -> Any:
    """Return symbolic values for a structure of shapes."""
    return podium.compat.keras.tree.map_shape_structure(
        lambda inner: KerasTensor(inner, dtype=dtype), shape
    )


def _to_json(value: Any) -> str:
    """Return JSON in which tuples differ from lists."""

    def mark_tuples(value: Any) -> Any:
        if isinstance(value, tuple):
            return {"__tuple__": [mark_tuples(item) for item in value]}
        if isinstance(value, list):
            return [mark_tuples(item) for item in value]
        if isinstance(value, dict):
            return {key: mark_tuples(item) for key, item in value.items()}
        return value

    return json.dumps(mark_tuples(value), sort_keys=True, indent=1)


def _from_json(text: str) -> Any:
    """Return what `_to_json` was called with."""

    def restore_tuples(value: dict[str, Any]) -> Any:
        return tuple(value["__tuple__"]) if "__tuple__" in value else value

    return json.loads(text, object_hook=restore_tuples)
