"""`keras.dtype_policies`."""

from podium.core import AWQDTypePolicy as AWQDTypePolicy
from podium.core import DTypePolicy as DTypePolicy
from podium.core import DTypePolicy as FloatDTypePolicy
from podium.core import DTypePolicyMap as DTypePolicyMap
from podium.core import GPTQDTypePolicy as GPTQDTypePolicy
from podium.core import Int4DTypePolicy as Int4DTypePolicy
from podium.core import QuantizedDTypePolicy as QuantizedDTypePolicy
from podium.core import QuantizedFloat8DTypePolicy as QuantizedFloat8DTypePolicy
from podium.core import deserialize_dtype_policy as deserialize
from podium.core import get_dtype_policy as get
from podium.core import serialize_dtype_policy as serialize
