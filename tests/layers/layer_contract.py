"""What must hold of every layer, whatever it computes. Used by the tests of the layer families."""

import jax
import numpy as np

import podium
from podium import layers


def inputs_of(shapes, dtype="float32"):
    """One array for a shape, a list of them for a list of shapes."""
    if isinstance(shapes, list):
        return [inputs_of(shape, dtype) for shape in shapes]
    numbers = np.random.default_rng(0).normal(size=shapes) * 3
    return numbers.astype(dtype) if dtype == "float32" else (np.abs(numbers) % 3).astype(dtype)


def _map_shapes(fn, shapes):
    return [fn(s) for s in shapes] if isinstance(shapes, list) else fn(shapes)


def check_contract(name, config, shapes, dtype="float32"):
    """Shapes, symbolic calls, compilation, configs and export agree with the plain call."""
    layer, x = getattr(layers, name)(**config), inputs_of(shapes, dtype)
    y = layer(x)
    unknown_batch = _map_shapes(lambda s: (None, *s[1:]), shapes)
    assert tuple(layer.compute_output_shape(shapes)) == y.shape
    assert tuple(layer.compute_output_shape(unknown_batch)) == (None, *y.shape[1:])
    symbolic = getattr(layers, name)(**config)(
        _map_shapes(lambda s: podium.Input(s[1:], dtype=dtype), shapes)
    )
    assert symbolic.shape == (None, *y.shape[1:]) and symbolic.dtype == y.dtype
    podium.testing.check_layer(layer, x)
    _check_export(layer, unknown_batch, dtype)


def _check_export(layer, shapes, dtype):
    """The layer can be traced with a batch size that is a symbol."""
    scope = jax.export.SymbolicScope()

    def spec(shape):
        dims = ", ".join(["b", *map(str, shape[1:])])
        return jax.ShapeDtypeStruct(jax.export.symbolic_shape(f"({dims},)", scope=scope), dtype)

    def pure(x):
        return layer.stateless_call(layer.trainable_variables, layer.non_trainable_variables, x)[0]

    batch = jax.eval_shape(pure, _map_shapes(spec, shapes)).shape[0]
    assert str(batch) == "b"
