"""`keras.mixed_precision`: which types layers compute in and keep their weights in."""

from podium.core import DTypePolicy as DTypePolicy
from podium.core import DTypePolicy as Policy
from podium.core import dtype_policy as dtype_policy
from podium.core import dtype_policy as global_policy
from podium.core import set_dtype_policy as set_dtype_policy
from podium.core import set_dtype_policy as set_global_policy
from podium.optimizers import LossScaleOptimizer as LossScaleOptimizer
