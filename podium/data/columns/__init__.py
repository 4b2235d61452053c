"""Columns: where the numbers of arrays lie (memory, a file, a sparse matrix), read by batches of rows."""

from podium.data.columns._column import Column as Column
from podium.data.columns._column import MemoryColumn as MemoryColumn
from podium.data.columns._column import as_column as as_column
