"""`keras.optimizers.experimental`: the optimizers, which had this name in Keras 2.9."""

from podium.optimizers import SGD as SGD
from podium.optimizers import Adadelta as Adadelta
from podium.optimizers import Adagrad as Adagrad
from podium.optimizers import Adam as Adam
from podium.optimizers import Adamax as Adamax
from podium.optimizers import AdamW as AdamW
from podium.optimizers import Ftrl as Ftrl
from podium.optimizers import Nadam as Nadam
from podium.optimizers import Optimizer as Optimizer
from podium.optimizers import RMSprop as RMSprop
