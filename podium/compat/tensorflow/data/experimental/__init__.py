"""`tf.data.experimental`."""

from podium.compat._missing_names import data_experimental as __getattr__
from podium.compat.tensorflow.data.experimental._cardinality import (
    assert_cardinality as assert_cardinality,
)
from podium.compat.tensorflow.data.experimental._cardinality import cardinality as cardinality
from podium.data import AUTOTUNE as AUTOTUNE
from podium.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from podium.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
