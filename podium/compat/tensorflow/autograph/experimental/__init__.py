"""`tf.autograph.experimental`."""

from podium.compat._missing_names import autograph_experimental as __getattr__
from podium.compat.tensorflow._autograph import do_not_convert as do_not_convert
from podium.compat.tensorflow._autograph import set_loop_options as set_loop_options
