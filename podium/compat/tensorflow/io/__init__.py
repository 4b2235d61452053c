"""`tf.io`."""

from podium.compat._missing_names import io as __getattr__
from podium.compat.tensorflow.io import gfile as gfile
