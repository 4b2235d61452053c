"""Adapters: one file for each kind of source of batches, and the registry that chooses among them."""

from podium.data.adapters._adapter import DataAdapter as DataAdapter
from podium.data.adapters._array_adapter import ArrayAdapter as ArrayAdapter
from podium.data.adapters._batch_reader import BatchReader as BatchReader
from podium.data.adapters._choice import choose_adapter as choose_adapter
from podium.data.adapters._choice import register_adapter as register_adapter
from podium.data.adapters._dataset_adapter import DatasetAdapter as DatasetAdapter
from podium.data.adapters._generator_adapter import GeneratorAdapter as GeneratorAdapter
from podium.data.adapters._generator_adapter import never_ends as never_ends
