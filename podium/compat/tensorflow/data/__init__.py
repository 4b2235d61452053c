"""`tf.data`."""

from podium.compat._missing_names import data as __getattr__
from podium.compat.tensorflow.data import experimental as experimental
from podium.data import AUTOTUNE as AUTOTUNE
from podium.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from podium.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from podium.data import Dataset as Dataset
from podium.data import Iterator as Iterator
from podium.data import Options as Options
