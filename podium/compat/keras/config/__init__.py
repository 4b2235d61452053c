"""`keras.config`: the defaults of the process."""

from podium.compat.keras._backend import backend as backend
from podium.core import dtype_policy as dtype_policy
from podium.core import epsilon as epsilon
from podium.core import floatx as floatx
from podium.core import image_data_format as image_data_format
from podium.core import set_dtype_policy as set_dtype_policy
from podium.core import set_epsilon as set_epsilon
from podium.core import set_floatx as set_floatx
from podium.core import set_image_data_format as set_image_data_format
