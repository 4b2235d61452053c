"""`tf.config.optimizer`."""

from podium.compat.tensorflow._config import set_jit as set_jit
