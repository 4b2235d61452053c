"""`tf.random`."""

from podium.compat._missing_names import random as __getattr__
from podium.compat.tensorflow.random._random import Generator as Generator
from podium.compat.tensorflow.random._random import categorical as categorical
from podium.compat.tensorflow.random._random import gamma as gamma
from podium.compat.tensorflow.random._random import normal as normal
from podium.compat.tensorflow.random._random import poisson as poisson
from podium.compat.tensorflow.random._random import set_seed as set_seed
from podium.compat.tensorflow.random._random import shuffle as shuffle
from podium.compat.tensorflow.random._random import stateless_normal as stateless_normal
from podium.compat.tensorflow.random._random import stateless_uniform as stateless_uniform
from podium.compat.tensorflow.random._random import truncated_normal as truncated_normal
from podium.compat.tensorflow.random._random import uniform as uniform
