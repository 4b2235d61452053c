"""Penalties on weights and activations, under the names of `keras.regularizers`."""

from podium.regularizers._orthogonal_regularizer import (
    OrthogonalRegularizer as OrthogonalRegularizer,
)
from podium.regularizers._orthogonal_regularizer import (
    OrthogonalRegularizer as orthogonal_regularizer,
)
from podium.regularizers._registry import deserialize as deserialize
from podium.regularizers._registry import get as get
from podium.regularizers._registry import serialize as serialize
from podium.regularizers._regularizers import L1 as L1
from podium.regularizers._regularizers import L1 as l1
from podium.regularizers._regularizers import L1L2 as L1L2
from podium.regularizers._regularizers import L1L2 as l1_l2
from podium.regularizers._regularizers import L2 as L2
from podium.regularizers._regularizers import L2 as l2
from podium.regularizers._regularizers import Regularizer as Regularizer
