"""Random numbers, under the names of `keras.random`."""

from podium.core import SeedGenerator as SeedGenerator
from podium.random._draws import beta as beta
from podium.random._draws import binomial as binomial
from podium.random._draws import categorical as categorical
from podium.random._draws import dropout as dropout
from podium.random._draws import gamma as gamma
from podium.random._draws import normal as normal
from podium.random._draws import randint as randint
from podium.random._draws import shuffle as shuffle
from podium.random._draws import truncated_normal as truncated_normal
from podium.random._draws import uniform as uniform
