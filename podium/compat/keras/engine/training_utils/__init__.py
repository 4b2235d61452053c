"""`keras.engine.training_utils`."""

from podium.compat.keras.engine._model_helpers import (
    RespectCompiledTrainableState as RespectCompiledTrainableState,
)
