"""`tf.dtypes`."""

from podium.compat._missing_names import dtypes as __getattr__
from podium.compat.tensorflow._array_creation import cast as cast
from podium.compat.tensorflow._array_creation import complex as complex
from podium.compat.tensorflow._array_creation import saturate_cast as saturate_cast
from podium.compat.tensorflow._dtypes import DType as DType
from podium.compat.tensorflow._dtypes import as_dtype as as_dtype
from podium.compat.tensorflow._dtypes import bfloat16 as bfloat16
from podium.compat.tensorflow._dtypes import bool as bool
from podium.compat.tensorflow._dtypes import complex64 as complex64
from podium.compat.tensorflow._dtypes import complex128 as complex128
from podium.compat.tensorflow._dtypes import double as double
from podium.compat.tensorflow._dtypes import float16 as float16
from podium.compat.tensorflow._dtypes import float32 as float32
from podium.compat.tensorflow._dtypes import float64 as float64
from podium.compat.tensorflow._dtypes import half as half
from podium.compat.tensorflow._dtypes import int8 as int8
from podium.compat.tensorflow._dtypes import int16 as int16
from podium.compat.tensorflow._dtypes import int32 as int32
from podium.compat.tensorflow._dtypes import int64 as int64
from podium.compat.tensorflow._dtypes import string as string
from podium.compat.tensorflow._dtypes import uint8 as uint8
from podium.compat.tensorflow._dtypes import uint16 as uint16
from podium.compat.tensorflow._dtypes import uint32 as uint32
from podium.compat.tensorflow._dtypes import uint64 as uint64
