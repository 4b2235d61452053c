"""`keras.backend.experimental`: the switch between TensorFlow's two random generators."""

from podium.compat.keras.backend._random import (
    disable_tf_random_generator as disable_tf_random_generator,
)
from podium.compat.keras.backend._random import (
    enable_tf_random_generator as enable_tf_random_generator,
)
from podium.compat.keras.backend._random import (
    is_tf_random_generator_enabled as is_tf_random_generator_enabled,
)
