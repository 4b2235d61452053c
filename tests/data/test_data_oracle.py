"""Datasets and handler equal tf.data and tf_keras on every case of `data_cases.py`. Needs neither:
see `record_data.py`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import podium

ORACLE = Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

from data_cases import HANDLER_CASES, PIPELINES, read_handler  # noqa: E402

FOUND = json.loads((ORACLE / "fixtures" / "data.json").read_text())
UNKNOWN = podium.data.UNKNOWN_CARDINALITY
# TensorFlow traces a function on any length; Podium looks at samples and knows more or less than
# that.
OTHER_SHAPES = {"padded_batch", "padded_batch_to_shape"}


class Podium(podium.data.Dataset):
    """Dataset with the helper that the cases use."""

    ones = staticmethod(lambda n: podium.ops.ones((int(n),)))


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return (
        [plain(part) for part in value] if isinstance(value, tuple) else np.asarray(value).tolist()
    )


def shapes(spec):
    if isinstance(spec, dict):
        return {key: shapes(part) for key, part in spec.items()}
    return (
        [shapes(part) for part in spec] if isinstance(spec, tuple) else {"shape": list(spec.shape)}
    )


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_equal_tf_data(name):
    dataset, expected = PIPELINES[name](Podium), FOUND["pipelines"][name]
    assert [plain(element) for element in dataset.take(40).as_numpy_iterator()] == expected[
        "elements"
    ]
    assert expected["cardinality"] in (
        dataset.cardinality(),
        UNKNOWN,
    )  # Podium may know where tf.data does not
    if name not in OTHER_SHAPES:
        assert shapes(dataset.element_spec) == expected["shapes"]


def test_handler_reads_arrays_as_tf_keras_does():
    for case, expected in zip(HANDLER_CASES, FOUND["walks"], strict=True):
        samples, batch_size, k, epochs, steps = case
        holder = podium.data.StepsPerExecution(k)
        handler = podium.data.DataHandler(
            np.arange(float(samples)),
            batch_size=batch_size,
            epochs=epochs,
            steps_per_epoch=steps,
            steps_per_execution=holder,
        )

        def read(_, iterator, holder=holder):
            return [float(batch[0]) for batch in iterator.next_group(int(holder))]

        assert read_handler(handler, read) == expected, case
        assert holder.value() == k
