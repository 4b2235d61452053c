"""`keras.engine.compile_utils`: what `compile` makes of losses and metrics."""

from podium.models.internal import CompiledLoss as LossesContainer
from podium.models.internal import CompiledMetrics as MetricsContainer
