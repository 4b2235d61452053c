"""What other packages of Podium may use of `podium.ops` beyond its public API. Not for users."""

from podium.ops._convolution import convolve as convolve
from podium.ops._convolution import convolve_transpose as convolve_transpose
from podium.ops._layout import channels_last as channels_last
from podium.ops._layout import restore as restore
from podium.ops._narrow_matmul import product as product
