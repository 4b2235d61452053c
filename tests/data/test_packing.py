"""Packing and unpacking of batches, `expand_1d`, `train_validation_split`."""

import numpy as np
import pytest

import podium
from podium.data import (
    Dataset,
    expand_1d,
    get_data_handler,
    pack_x_y_sample_weight,
    train_validation_split,
    unpack_x_y_sample_weight,
)


def test_unpack_reverses_pack():
    for parts in (("x", "y"), ("x", "y", "w")):
        packed = pack_x_y_sample_weight(*parts)
        assert packed == parts and unpack_x_y_sample_weight(packed) == (*parts, None)[:3]
    assert pack_x_y_sample_weight("x") == "x"
    assert unpack_x_y_sample_weight(["x", "y"]) == ("x", "y", None)
    assert unpack_x_y_sample_weight(("x",)) == ("x", None, None)
    with pytest.raises(
        ValueError, match=r"A batch with 4 parts was given: \(array, array, array, array\)"
    ):
        unpack_x_y_sample_weight((1, 2, 3, 4))


def test_expand_1d_works_on_numpy_tensors_and_inside_a_trace():
    data = (np.ones(3), {"a": podium.ops.ones(3), "b": podium.ops.ones((3, 2))}, None)
    x, y, nothing = expand_1d(data)
    assert (x.shape, y["a"].shape, y["b"].shape, nothing) == ((3, 1), (3, 1), (3, 2), None)
    assert podium.function(lambda z: expand_1d((z, None))[0])(np.ones(4, "float32")).shape == (4, 1)


@pytest.mark.parametrize(("split", "trained"), [(0.2, 8), (0.5, 5), (0.25, 7), (0.99, 0.1)])
def test_validation_split_takes_the_last_part(split, trained):
    if trained < 1:
        with pytest.raises(
            ValueError, match=r"validation_split=0\.99 of 10 samples leaves nothing to train on"
        ):
            train_validation_split((np.zeros(10),), split)
        return
    x, y = np.arange(10), {"a": podium.ops.arange(10)}
    (x1, _, w1), (x2, y2, w2) = train_validation_split((x, y, None), split)
    assert x1.tolist() + x2.tolist() == x.tolist() and len(x1) == trained
    assert isinstance(y2["a"], podium.Tensor) and y2["a"].numpy().tolist() == x2.tolist()
    assert w1 is None and w2 is None


@pytest.mark.parametrize(
    ("data", "split", "error", "message"),
    [
        (np.zeros(4), 1.0, ValueError, "validation_split=1.0 was given; a number between 0 and 1"),
        (np.zeros(4), -0.1, ValueError, "validation_split=-0.1 was given"),
        (np.zeros(4), "0.2", TypeError, "validation_split='0.2' was given"),
        (
            iter([]),
            0.2,
            ValueError,
            "with data of type list_iterator.*generator or dataset cannot",
        ),
        (Dataset.range(3), 0.2, ValueError, "data of type Dataset"),
        ((np.zeros(4), np.zeros(3)), 0.2, ValueError, "`x` has 4, `y` has 3"),
    ],
)
def test_sources_that_cannot_be_split_are_refused(data, split, error, message):
    with pytest.raises(error, match=message):
        train_validation_split(data, split)


def test_get_data_handler_returns_a_handler():
    assert get_data_handler(np.zeros((40, 2)), model=object()).inferred_steps == 2
