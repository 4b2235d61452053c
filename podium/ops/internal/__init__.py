"""What other packages of Podium may use of `podium.ops` beyond its public API. Not for users."""

from podium.ops._arguments import from_channels_last as from_channels_last
from podium.ops._arguments import to_channels_last as to_channels_last
from podium.ops.nn._convolution import convolve as convolve
from podium.ops.nn._convolution import convolve_transpose as convolve_transpose
from podium.ops.nn._ctc import _ctc_loss as raw_ctc_loss
from podium.ops.nn._losses import _binary_crossentropy as raw_binary_crossentropy
from podium.ops.nn._losses import _categorical_crossentropy as raw_categorical_crossentropy
from podium.ops.nn._losses import (
    _sparse_categorical_crossentropy as raw_sparse_categorical_crossentropy,
)
from podium.ops.nn._narrow_matmul import narrow_matmul as narrow_matmul
