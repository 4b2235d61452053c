"""`keras.distillation`: students that learn from teachers."""

from podium.models import DistillationLoss as DistillationLoss
from podium.models import Distiller as Distiller
from podium.models import FeatureDistillation as FeatureDistillation
from podium.models import LogitsDistillation as LogitsDistillation
