"""`keras.layers`: the names of `podium.layers`, and those that only Keras 2 has."""

from podium.compat._extended_packages import layers_dir as __dir__
from podium.compat._extended_packages import layers_getattr as __getattr__
from podium.compat.keras.layers import experimental as experimental
from podium.compat.keras.layers._abstract_rnn_cell import AbstractRNNCell as AbstractRNNCell
from podium.compat.keras.layers._locally_connected import LocallyConnected1D as LocallyConnected1D
from podium.compat.keras.layers._locally_connected import LocallyConnected2D as LocallyConnected2D
from podium.compat.keras.layers._thresholded_relu import ThresholdedReLU as ThresholdedReLU
