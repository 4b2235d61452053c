"""The standard check of a class of layers, which Keras's tests call `run_layer_test`."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

import podium
from podium.compat.keras import tree
from podium.core import KerasTensor, is_float_dtype, standardize_dtype

Shape = tuple[int | None, ...]


@dataclasses.dataclass
class LayerCheck:
    """Builds, calls, trains and serializes layers of a class, and compares what is expected.

    Args:
        test: The test whose assertions are called.
        layer_class: The class.
        arguments: The arguments of its constructor.

    The other arguments are those of Keras: the input, as shapes and dtypes or as data, further
    arguments of the call, what is expected, and which checks are run.
    """

    test: Any
    layer_class: Any
    arguments: dict[str, Any]
    input_shape: Any = None
    input_dtype: Any = None
    input_sparse: bool = False
    input_ragged: bool = False
    input_data: Any = None
    call_kwargs: Any = None
    expected_output_shape: Any = None
    expected_output_dtype: Any = None
    expected_output_sparse: bool = False
    expected_output_ragged: bool = False
    expected_output: Any = None
    expected_num_trainable_weights: int | None = None
    expected_num_non_trainable_weights: int | None = None
    expected_num_non_trainable_variables: int | None = None
    expected_num_seed_generators: int | None = None
    expected_num_losses: int | None = None
    supports_masking: bool | None = None
    expected_mask_shape: Any = None
    custom_objects: Any = None
    run_training_check: bool = True
    run_mixed_precision_check: bool = True
    assert_built_after_instantiation: bool = False
    tpu_atol: float | None = None
    tpu_rtol: float | None = None

    def run(self) -> None:
        """Run all checks that the arguments ask for."""
        self.call_kwargs = self.call_kwargs or {}
        if self.has_input:
            self._prepare_input()
            self._count_if_not_expected(self._call(self._create(), self.input_data)[0])
        self._check_serialization()
        if not self.has_input:
            return
        self._check_build()
        self._check_symbolic_call()
        if self.assert_built_after_instantiation:
            self._check_built_at_once()
        outputs = self._check_eager_call()
        if self.run_training_check:
            self._train(outputs)
        if self.run_mixed_precision_check:
            self._check_mixed_precision()

    @property
    def has_input(self) -> bool:
        """Whether the test calls the layer."""
        return self.input_shape is not None or self.input_data is not None

    def _create(self, **arguments: Any) -> Any:
        return self.layer_class(**{**self.arguments, **arguments})

    def _call(self, layer: Any, inputs: Any) -> tuple[Any, Any]:
        """Return the layer and its outputs; a dictionary holds the arguments of the call."""
        if isinstance(inputs, dict):
            return layer, layer(**inputs, **self.call_kwargs)
        return layer, layer(inputs, **self.call_kwargs)

    def _prepare_input(self) -> None:
        """Create the data from shapes, or the shapes from data; and symbolic inputs."""
        if self.input_shape is None:
            self.build_shape = tree.map_structure(_shape_of, self.input_data)
            self.symbolic = tree.map_structure(
                lambda x: KerasTensor(_shape_of(x), dtype=standardize_dtype(x.dtype)),
                self.input_data,
            )
            return
        self.build_shape = self.input_shape
        dtype = self.input_dtype
        if dtype is None:
            dtype = map_shapes(lambda _, __: "float32", self.input_shape, None)
        self.input_data = _without_suffix(map_shapes(_random_values, self.input_shape, dtype))
        self.symbolic = _without_suffix(
            map_shapes(lambda s, d: KerasTensor(s, dtype=d), self.input_shape, dtype)
        )

    def _count_if_not_expected(self, layer: Any) -> None:
        for name, count in _counts(layer).items():
            if getattr(self, name) is None:
                setattr(self, name, count)

    def _check_serialization(self) -> None:
        layer = self._create()
        self.test.run_class_serialization_test(layer, self.custom_objects)
        if self.supports_masking is not None:
            self.test.assertEqual(layer.supports_masking, self.supports_masking)

    def _check_build(self) -> None:
        layer = self._create()
        if isinstance(self.build_shape, dict):
            layer.build(**self.build_shape)
        else:
            layer.build(self.build_shape)
        self._assert_built(layer)

    def _check_symbolic_call(self) -> None:
        layer, outputs = self._call(self._create(), self.symbolic)
        self._assert_built(layer)
        self._assert_outputs(outputs)
        if self.expected_mask_shape is not None:
            mask = layer.compute_mask(self.symbolic)
            self.test.assertEqual(self.expected_mask_shape, mask.shape)

    def _check_built_at_once(self) -> None:
        """Check that the layer needs no `build`, unless a subclass defines it."""
        self.test.assertTrue(self._create().built)

        class Modified(self.layer_class):  # type: ignore[name-defined, misc]
            def build(self, *args: Any, **kwargs: Any) -> None:
                pass

        self.test.assertFalse(Modified(**self.arguments).built)

    def _check_eager_call(self) -> Any:
        layer, outputs = self._call(self._create(), self.input_data)
        self._assert_outputs(outputs)
        if self.expected_output is not None:
            pairs = zip(tree.flatten(self.expected_output), tree.flatten(outputs), strict=True)
            for expected, output in pairs:
                self.test.assertAllClose(expected, output, msg="Unexpected output value")
        if self.expected_num_losses is not None:
            self.test.assertLen(layer.losses, self.expected_num_losses)
        return outputs

    def _train(self, outputs: Any) -> None:
        """Train a model of the layer for one step."""

        class LayerModel(podium.Model):
            def __init__(self, layer: Any) -> None:
                super().__init__()
                self.layer = layer

            def call(self, inputs: Any, training: bool = False) -> Any:
                return self.layer(inputs, training=training)

        class SumOfOutputs(podium.losses.Loss):
            def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
                return podium.ops.sum(y_pred)

        def batches() -> Any:
            while True:
                yield self.input_data, outputs

        model = LayerModel(self._create())
        model.compile(optimizer="sgd", loss=SumOfOutputs(), jit_compile="auto")
        model.fit(batches(), steps_per_epoch=1, verbose=0)

    def _check_mixed_precision(self) -> None:
        """Check that outputs have the dtypes that are declared, and weights are float32."""
        layer = self._create(dtype="mixed_float16")

        def cast(spec: Any) -> KerasTensor:
            is_cast = layer.autocast and is_float_dtype(spec.dtype)
            return KerasTensor(spec.shape, dtype=layer.compute_dtype if is_cast else spec.dtype)

        specs = tree.map_structure(cast, self.symbolic)
        _, outputs = self._call(layer, self.input_data)
        arguments = specs if isinstance(specs, dict) else None
        declared = (
            layer.compute_output_spec(specs)
            if arguments is None
            else layer.compute_output_spec(**arguments)
        )
        for output, spec in zip(tree.flatten(outputs), tree.flatten(declared), strict=True):
            self.test.assertEqual(standardize_dtype(output.dtype), standardize_dtype(spec.dtype))
        for weight in layer.weights:
            if is_float_dtype(weight.dtype):
                self.test.assertEqual(standardize_dtype(weight.dtype), "float32")

    def _assert_built(self, layer: Any) -> None:
        self.test.assertTrue(layer.built)
        for name, count in _counts(layer).items():
            expected = getattr(self, name)
            if expected is not None:
                self.test.assertEqual(count, expected, f"{name}: {count} instead of {expected}")

    def _assert_outputs(self, outputs: Any) -> None:
        """Compare shapes and dtypes; a size of None equals any."""
        if self.expected_output_shape is not None:
            expected = self.expected_output_shape
            shapes = tree.map_structure(lambda x: tuple(x.shape), outputs)
            is_equal = tree.map_structure_up_to(
                outputs, lambda output, shape: _fits(tuple(output.shape), shape), outputs, expected
            )
            self.test.assertTrue(all(tree.flatten(is_equal)), f"{shapes} instead of {expected}")
        if self.expected_output_dtype is not None:
            dtypes = tree.map_structure(lambda x: standardize_dtype(x.dtype), outputs)
            self.test.assertEqual(
                tree.flatten(dtypes), list(tree.flatten(self.expected_output_dtype))
            )


def map_shapes(function: Any, shape: Any, dtype: Any) -> Any:
    """Call a function with each shape of a structure and its dtype."""
    if _is_shape(shape):
        return function(tuple(shape), dtype)
    if isinstance(shape, dict):
        return {key: map_shapes(function, inner, _part(dtype, key)) for key, inner in shape.items()}
    return type(shape)(
        map_shapes(function, inner, _part(dtype, index)) for index, inner in enumerate(shape)
    )


def _part(dtype: Any, key: Any) -> Any:
    return None if dtype is None else dtype[key]


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(size, (int, type(None))) for size in value
    )


def _without_suffix(inputs: Any) -> Any:
    """Return inputs whose names are those of arguments: `value` for `value_shape`."""
    if not isinstance(inputs, dict):
        return inputs
    return {name.removesuffix("_shape"): value for name, value in inputs.items()}


def _random_values(shape: tuple[int, ...], dtype: str) -> Any:
    values = podium.random.uniform(shape, dtype="float32") * 3
    return podium.ops.cast(values, dtype)


def _shape_of(value: Any) -> Shape:
    return tuple(np.shape(value) if not hasattr(value, "shape") else value.shape)


def _fits(shape: Shape, expected: Any) -> bool:
    return len(shape) == len(expected) and all(
        size is None or size == actual for actual, size in zip(shape, expected, strict=True)
    )


def _counts(layer: Any) -> dict[str, int]:
    """Return how many weights, variables and seed generators a layer has."""
    seeds = [variable for variable in layer.variables if variable.is_seed]
    return {
        "expected_num_trainable_weights": len(layer.trainable_weights),
        "expected_num_non_trainable_weights": len(layer.non_trainable_weights),
        "expected_num_non_trainable_variables": len(layer.non_trainable_variables),
        "expected_num_seed_generators": len(jax.tree.leaves([id(seed) for seed in seeds])),
    }
