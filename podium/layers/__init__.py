"""Layers: computations with weights."""

from podium.layers._dense import Dense as Dense
from podium.layers._input import Input as Input
from podium.layers._input import InputLayer as InputLayer
from podium.layers._input_spec import InputSpec as InputSpec
from podium.layers._layer import Layer as Layer
