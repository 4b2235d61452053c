"""`tf.compat`."""

from podium.compat._missing_names import compat as __getattr__
from podium.compat.tensorflow.io._gfile import as_bytes as as_bytes
from podium.compat.tensorflow.io._gfile import as_str as as_str
from podium.compat.tensorflow.io._gfile import as_str as as_text
