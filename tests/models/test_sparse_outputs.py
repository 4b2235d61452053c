"""Sparse outputs of `predict_step`: concatenated along the batch to one sparse array."""

import numpy as np
import pytest
from jax.experimental import sparse

import podium
from podium import ops
from podium.compat.tensorflow import SparseTensor

X = np.zeros((7, 4), "float32")
X[:, 1], X[:, 3] = np.arange(7), 1


class Sparse(podium.Model):
    """Returns its inputs as a sparse array: rows, and their sum."""

    n_batch = 0

    def call(self, x):
        return x

    def predict_step(self, data):
        x = podium.data.unpack_x_y_sample_weight(data)[0]
        size = 2 if self.n_batch else 2 * x.shape[0]
        return {"rows": sparse.BCOO.fromdense(x.value, nse=size, n_batch=self.n_batch),
                "nested": [ops.sum(x), x * 2]}  # fmt: skip


@pytest.mark.parametrize("n_batch", [0, 1])
@pytest.mark.parametrize("options", [1, 2, 3, "auto", "eager"])
def test_predict_concatenates_sparse_outputs(options, n_batch):
    model = Sparse()
    model.n_batch = n_batch
    if options == "eager":
        model.compile(run_eagerly=True)
    else:
        model.compile(steps_per_execution=options)
    outputs = model.predict(X, batch_size=3, verbose=0)
    rows = outputs["rows"]
    assert isinstance(rows, sparse.BCOO) and rows.shape == (7, 4)
    np.testing.assert_array_equal(rows.todense(), X)
    np.testing.assert_array_equal(outputs["nested"][0], [X[:3].sum(), X[3:6].sum(), X[6:].sum()])
    np.testing.assert_array_equal(outputs["nested"][1], 2 * X)
    batches = list(model.predict_iter(X, batch_size=3, verbose=0))
    assert [batch["rows"].shape for batch in batches] == [(3, 4), (3, 4), (1, 4)]
    for batch, start in zip(batches, (0, 3, 6), strict=True):
        np.testing.assert_array_equal(batch["rows"].todense(), X[start : start + 3])
    np.testing.assert_array_equal(model.predict_on_batch(X)["rows"].todense(), X)


def test_the_sparse_tensor_of_tensorflow_is_accepted_and_padding_is_left_out():
    class Tagged(podium.Model):
        def predict_step(self, data):
            size = podium.data.unpack_x_y_sample_weight(data)[0].shape[0]
            return SparseTensor(indices=[[0, 0], [2, 1]], values=[1.0, 5.0], dense_shape=(size, 2))

    rows = Tagged().predict(X, batch_size=3, verbose=0)  # the last batch has no row 2
    assert rows.nse == 5
    np.testing.assert_array_equal(
        rows.todense(), [[1, 0], [0, 0], [0, 5], [1, 0], [0, 0], [0, 5], [1, 0]]
    )


def test_sparse_outputs_that_do_not_fit_raise():
    with pytest.raises(TypeError, match=r"an output is sparse.*todense"):
        Sparse().predict(X, out={"rows": X, "nested": [X, X]}, verbose=0)

    class Growing(podium.Model):
        def predict_step(self, data):
            x = podium.data.unpack_x_y_sample_weight(data)[0].value
            return sparse.BCOO.fromdense(x[:, : x.shape[0]], nse=3)

    with pytest.raises(ValueError, match=r"shape \(1, 1\); rows of shape \(3,\) were expected"):
        Growing().predict(X, batch_size=3, verbose=0)
