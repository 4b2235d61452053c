"""Optimizers: how weights follow their gradients, under the names of `keras.optimizers`; and any
optax transformation.
"""

from podium.optimizers import legacy as legacy
from podium.optimizers import schedules as schedules
from podium.optimizers._adafactor import Adafactor as Adafactor
from podium.optimizers._adagrad import Adadelta as Adadelta
from podium.optimizers._adagrad import Adagrad as Adagrad
from podium.optimizers._adam import Adam as Adam
from podium.optimizers._adam import AdamW as AdamW
from podium.optimizers._adamax import Adamax as Adamax
from podium.optimizers._ftrl import Ftrl as Ftrl
from podium.optimizers._lamb import Lamb as Lamb
from podium.optimizers._lion import Lion as Lion
from podium.optimizers._loss_scale import LossScaleOptimizer as LossScaleOptimizer
from podium.optimizers._multi import MultiOptimizer as MultiOptimizer
from podium.optimizers._multi import OptimizerMap as OptimizerMap
from podium.optimizers._muon import Muon as Muon
from podium.optimizers._nadam import Nadam as Nadam
from podium.optimizers._optax import OptaxOptimizer as OptaxOptimizer
from podium.optimizers._optax import from_optax as from_optax
from podium.optimizers._optimizer import Optimizer as Optimizer
from podium.optimizers._registry import deserialize as deserialize
from podium.optimizers._registry import get as get
from podium.optimizers._registry import serialize as serialize
from podium.optimizers._rmsprop import RMSprop as RMSprop
from podium.optimizers._schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from podium.optimizers._sgd import SGD as SGD
