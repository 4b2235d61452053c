"""`keras.engine.data_adapter`: what `fit` makes of its data."""

from podium.compat.keras.engine._data_handler import (
    ClusterCoordinatorDataHandler as _ClusterCoordinatorDataHandler,
)
from podium.compat.keras.engine._data_handler import DataHandler as DataHandler
from podium.compat.keras.engine._data_handler import get_data_handler as get_data_handler
from podium.compat.keras.engine._data_handler import single_batch_iterator as single_batch_iterator
from podium.compat.keras.engine._model_helpers import unpack as unpack
from podium.data import DataAdapter as DataAdapter
from podium.data import expand_1d as expand_1d
from podium.data import pack_x_y_sample_weight as pack_x_y_sample_weight
from podium.data import train_validation_split as train_validation_split
from podium.data import unpack_x_y_sample_weight as unpack_x_y_sample_weight
