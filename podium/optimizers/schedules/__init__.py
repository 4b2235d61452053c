"""Learning rates that change with the step, under the names of `keras.optimizers.schedules`."""

from podium.optimizers.schedules._cosine import CosineDecay as CosineDecay
from podium.optimizers.schedules._cosine import CosineDecayRestarts as CosineDecayRestarts
from podium.optimizers.schedules._decays import ExponentialDecay as ExponentialDecay
from podium.optimizers.schedules._decays import InverseTimeDecay as InverseTimeDecay
from podium.optimizers.schedules._decays import PiecewiseConstantDecay as PiecewiseConstantDecay
from podium.optimizers.schedules._decays import PolynomialDecay as PolynomialDecay
from podium.optimizers.schedules._registry import deserialize as deserialize
from podium.optimizers.schedules._registry import serialize as serialize
from podium.optimizers.schedules._schedule import LearningRateSchedule as LearningRateSchedule
