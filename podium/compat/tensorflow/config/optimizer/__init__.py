"""`tf.config.optimizer`."""

from podium.compat.tensorflow.config._devices import set_jit as set_jit
