"""`keras.dtype_policies`."""

from podium.core import DTypePolicy as DTypePolicy
from podium.core import get_dtype_policy as get
