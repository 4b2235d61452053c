"""Constraints on weights, under the names of `keras.constraints`."""

from podium.constraints._constraints import Constraint as Constraint
from podium.constraints._constraints import MaxNorm as MaxNorm
from podium.constraints._constraints import MaxNorm as max_norm
from podium.constraints._constraints import MinMaxNorm as MinMaxNorm
from podium.constraints._constraints import MinMaxNorm as min_max_norm
from podium.constraints._constraints import NonNeg as NonNeg
from podium.constraints._constraints import NonNeg as non_neg
from podium.constraints._constraints import UnitNorm as UnitNorm
from podium.constraints._constraints import UnitNorm as unit_norm
from podium.constraints._registry import deserialize as deserialize
from podium.constraints._registry import get as get
from podium.constraints._registry import serialize as serialize
