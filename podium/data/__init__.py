"""Data: datasets, adapters for every kind of source, and the handler that counts epochs and
steps.
"""

from podium.data._data_handler import DataHandler as DataHandler
from podium.data._data_handler import get_data_handler as get_data_handler
from podium.data._dataset import AUTOTUNE as AUTOTUNE
from podium.data._dataset import Dataset as Dataset
from podium.data._dataset import Options as Options
from podium.data._device_budget import device_budget as device_budget
from podium.data._device_budget import set_device_budget as set_device_budget
from podium.data._iterator import Iterator as Iterator
from podium.data._packing import expand_1d as expand_1d
from podium.data._packing import pack_x_y_sample_weight as pack_x_y_sample_weight
from podium.data._packing import train_validation_split as train_validation_split
from podium.data._packing import unpack_x_y_sample_weight as unpack_x_y_sample_weight
from podium.data._py_dataset import PyDataset as PyDataset
from podium.data._py_dataset import Sequence as Sequence
from podium.data._retrying import Retrying as Retrying
from podium.data._steps_per_execution import StepsPerExecution as StepsPerExecution
from podium.data.adapters import DataAdapter as DataAdapter
from podium.data.adapters import register_adapter as register_adapter
from podium.data.pipelines._pipeline import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from podium.data.pipelines._pipeline import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
