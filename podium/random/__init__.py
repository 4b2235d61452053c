"""Random numbers, under the names of `keras.random`."""

from podium.core import SeedGenerator as SeedGenerator
from podium.random._distributions import beta as beta
from podium.random._distributions import binomial as binomial
from podium.random._distributions import categorical as categorical
from podium.random._distributions import dropout as dropout
from podium.random._distributions import gamma as gamma
from podium.random._distributions import normal as normal
from podium.random._distributions import randint as randint
from podium.random._distributions import shuffle as shuffle
from podium.random._distributions import truncated_normal as truncated_normal
from podium.random._distributions import uniform as uniform
