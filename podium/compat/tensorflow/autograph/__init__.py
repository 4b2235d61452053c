"""`tf.autograph`."""

from podium.compat._missing_names import autograph as __getattr__
from podium.compat.tensorflow.autograph import experimental as experimental
