"""`keras.utils.tf_utils`."""

from podium.compat.keras.engine._model_helpers import get_tensor_spec as get_tensor_spec
from podium.compat.keras.engine._model_helpers import (
    sync_to_numpy_or_python_type as sync_to_numpy_or_python_type,
)
from podium.core import is_tensor as is_tensor_or_variable
