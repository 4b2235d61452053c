"""`tf.experimental`."""

from podium.compat._missing import experimental as __getattr__
from podium.ops import numpy as numpy
