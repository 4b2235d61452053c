"""`tf.nest`."""

from podium.compat._missing_names import nest as __getattr__
from podium.compat._nest import assert_same_structure as assert_same_structure
from podium.compat._nest import flatten as flatten
from podium.compat._nest import is_nested as is_nested
from podium.compat._nest import map_structure as map_structure
from podium.compat._nest import pack_sequence_as as pack_sequence_as
