"""Tensors of PyTorch and TensorFlow as inputs: they share memory with NumPy arrays."""

import jax.numpy as jnp
import numpy as np
import pytest

from podium.data import DataHandler
from podium.data._convert_arrays import convert_arrays
from podium.data.columns._framework_tensors import DeviceColumn

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed here; `make test-sources` runs this"
)
tf = pytest.importorskip(
    "tensorflow", reason="TensorFlow is not installed here; `make test-sources` runs this"
)

KINDS = {
    "torch": torch.tensor,
    "torch with gradients": lambda array: (
        torch.tensor(array, requires_grad=array.dtype.kind == "f") * 1
    ),
    "torch parameter": lambda array: torch.nn.Parameter(
        torch.tensor(array), requires_grad=array.dtype.kind == "f"
    ),
    "torch in strides": lambda array: torch.tensor(np.repeat(array, 2, axis=0))[::2],
    "tensorflow": tf.constant,
    "tensorflow variable": tf.Variable,
}


@pytest.mark.parametrize("kind", KINDS)
def test_training_with_tensors_equals_arrays(kind, x, labels, trained, same):
    same(trained(KINDS[kind](x), KINDS[kind](labels)), trained(x, labels))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_tensors(kind, x, labels, batches, same):
    make = KINDS[kind]
    same(
        batches((make(x), make(x[:, 0])), {"y": make(labels)}), batches((x, x[:, 0]), {"y": labels})
    )


def test_memory_is_shared(x):
    tensor = torch.tensor(x, requires_grad=True)
    assert np.shares_memory(convert_arrays(tensor, "x"), tensor.detach().numpy())
    half = torch.tensor(x, dtype=torch.bfloat16)
    assert np.shares_memory(convert_arrays(half, "x"), half.view(torch.int16).numpy())
    constant = tf.constant(x)
    assert np.shares_memory(convert_arrays(constant, "x"), np.asarray(memoryview(constant)))


def test_half_precision_floats_keep_their_dtype(x, batches, same):
    expected = x.astype(jnp.bfloat16)
    same(batches(torch.tensor(x, dtype=torch.bfloat16)), batches(expected))
    same(batches(torch.tensor(x, dtype=torch.bfloat16)[:, ::2]), batches(expected[:, ::2]))
    same(batches(tf.cast(x, "bfloat16")), batches(expected))
    same(batches(torch.tensor(x).half()), batches(x.astype("float16")))
    same(batches(torch.tensor(x).to(torch.float8_e5m2)), batches(x.astype(jnp.float8_e5m2)))
    same(batches(torch.tensor(x) > 0), batches(x > 0))


def test_tensors_on_other_devices_are_copied_by_batch(x):
    column = DeviceColumn("x", torch.tensor(x))  # the host stands in for another device
    np.testing.assert_array_equal(
        column.rows(np.array([5, 1], "int32")), x[[5, 1]].astype("float32")
    )
    np.testing.assert_array_equal(column[4:].rows(slice(2, 4)), x[6:8].astype("float32"))
    assert column.in_memory is None and column.rows(slice(0, 2)).flags.owndata


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda x: torch.tensor(x).to_sparse(),
            TypeError,
            r"`x` is a sparse PyTorch tensor .*`x.to_dense\(\)`",
        ),
        (
            lambda x: torch.empty(3, 2, device="meta"),
            ValueError,
            "device 'meta', which has no values",
        ),
        (lambda x: torch.tensor(x, dtype=torch.complex64), TypeError, "`x` holds complex numbers"),
        (lambda x: torch.full((3,), 2**40), OverflowError, "`x` holds integers"),
        (lambda x: torch.tensor(3.0), ValueError, r"`x` is the single number .* of shape \(\)"),
        (
            lambda x: tf.ragged.constant([[1], [1, 2]]),
            TypeError,
            r"`x` is a TensorFlow RaggedTensor; .*`x.to_tensor\(\)`",
        ),
        (
            lambda x: tf.sparse.from_dense(x),
            TypeError,
            r"`x` is a TensorFlow SparseTensor; .*tf.sparse.to_dense\(x\)",
        ),
        (lambda x: tf.constant(["a", "b"]), TypeError, "`x` is an array of Python objects"),
        (lambda x: {"t": tf.constant(["a", "b"])}, TypeError, r"`x\['t'\]` is an array of"),
    ],
)
def test_tensors_without_dense_numbers_raise(make, error, message, x):
    with pytest.raises(error, match=message):
        DataHandler(make(x))


def test_symbolic_tensor_raises(x):
    def inside(tensor):
        with pytest.raises(TypeError, match="`x` is a symbolic TensorFlow tensor"):
            DataHandler(tensor)
        return tensor

    tf.function(inside, autograph=False)(tf.constant(x))
