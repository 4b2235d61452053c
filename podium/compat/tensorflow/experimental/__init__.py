"""`tf.experimental`."""

from podium.compat._missing_names import experimental as __getattr__
from podium.ops import numpy as numpy
