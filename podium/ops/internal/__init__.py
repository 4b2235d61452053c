"""What other packages of Podium may use of `podium.ops` beyond its public API. Not for users.

Functions named `raw_...` are operations on arrays, without dispatch.
"""

# Moves the channels of an array from the end, for `channels_first`.
from podium.ops._arguments import from_channels_last as from_channels_last

# Returns a valid data format; None means the default one.
from podium.ops._arguments import resolve_data_format as resolve_data_format

# Moves the channels of an array to the end, for `channels_first`.
from podium.ops._arguments import to_channels_last as to_channels_last

# Returns the name of the dtype of an operation on values.
from podium.ops._promotion import result_type as result_type

# Casts an array of integers or booleans to the default float dtype.
from podium.ops._promotion import to_float as to_float

# `ops.image.elastic_transform` on arrays, with an amount that may be computed.
from podium.ops.image._transform import displace_pixels as displace_pixels

# Returns the perspective transform that maps four points to four others.
from podium.ops.image._transform import solve_homography as solve_homography

# Convolution of channels-last arrays.
from podium.ops.nn._convolution import convolve as convolve

# Transposed convolution of channels-last arrays.
from podium.ops.nn._convolution import convolve_transpose as convolve_transpose

# `ops.ctc_loss` on arrays.
from podium.ops.nn._ctc import _ctc_loss as raw_ctc_loss

# `ops.binary_crossentropy` on arrays.
from podium.ops.nn._losses import _binary_crossentropy as raw_binary_crossentropy

# `ops.categorical_crossentropy` on arrays.
from podium.ops.nn._losses import _categorical_crossentropy as raw_categorical_crossentropy

# `ops.sparse_categorical_crossentropy` on arrays.
from podium.ops.nn._losses import (
    _sparse_categorical_crossentropy as raw_sparse_categorical_crossentropy,
)

# Matrix product of arrays with a fast gradient for kernels with few columns.
from podium.ops.nn._narrow_matmul import narrow_matmul as narrow_matmul

# Returns the logits behind the output of a softmax or sigmoid, for crossentropies.
from podium.ops.nn._probability_logits import prefer_logits as prefer_logits

# Stores with the output of a softmax or sigmoid what it was applied to.
from podium.ops.nn._probability_logits import store_logits as store_logits
