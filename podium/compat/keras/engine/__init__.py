"""The modules of Keras 2's engine that code outside of Keras imports: `keras.engine`.

Excerpts and forks of `keras/engine/training.py` use the names in them.
"""

from podium.compat.keras.engine import compile_utils as compile_utils
from podium.compat.keras.engine import data_adapter as data_adapter
from podium.compat.keras.engine import tf_utils as tf_utils
from podium.compat.keras.engine import training as training
from podium.compat.keras.engine import training_utils as training_utils
