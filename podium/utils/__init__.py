"""Small tools around training."""

from podium.core import set_random_seed as set_random_seed
