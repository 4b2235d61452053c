"""Adapters: one file for each kind of source of batches, and the registry that chooses among
them.
"""

from podium.data.adapters._adapter import DataAdapter as DataAdapter
from podium.data.adapters._choose_adapter import register_adapter as register_adapter
