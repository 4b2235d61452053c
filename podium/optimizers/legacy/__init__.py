"""Keras 2's `optimizers.legacy`: the same optimizers, which all take `lr=` and `decay=` as Keras 2
did.
"""

from podium.optimizers._adagrad import Adadelta as Adadelta
from podium.optimizers._adagrad import Adagrad as Adagrad
from podium.optimizers._adam import Adam as Adam
from podium.optimizers._adamax import Adamax as Adamax
from podium.optimizers._ftrl import Ftrl as Ftrl
from podium.optimizers._nadam import Nadam as Nadam
from podium.optimizers._optimizer import Optimizer as Optimizer
from podium.optimizers._rmsprop import RMSprop as RMSprop
from podium.optimizers._sgd import SGD as SGD
