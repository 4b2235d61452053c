"""`keras.tree`: structures of lists, tuples and dictionaries."""

from podium.compat.keras._tree import MAP_TO_NONE as MAP_TO_NONE
from podium.compat.keras._tree import assert_same_paths as assert_same_paths
from podium.compat.keras._tree import assert_same_structure as assert_same_structure
from podium.compat.keras._tree import flatten as flatten
from podium.compat.keras._tree import flatten_with_path as flatten_with_path
from podium.compat.keras._tree import is_nested as is_nested
from podium.compat.keras._tree import lists_to_tuples as lists_to_tuples
from podium.compat.keras._tree import map_shape_structure as map_shape_structure
from podium.compat.keras._tree import map_structure as map_structure
from podium.compat.keras._tree import map_structure_up_to as map_structure_up_to
from podium.compat.keras._tree import pack_sequence_as as pack_sequence_as
from podium.compat.keras._tree import traverse as traverse
