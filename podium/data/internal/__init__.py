"""What other packages of Podium may use of `podium.data` beyond its public API. Not for users."""

# Whether a source is arrays, which `fit` divides into batches.
from podium.data._convert_arrays import is_array_source as is_array_source

# Converts an instance of a dataclass, or a mapping, to a dictionary.
from podium.data._copy_values import record_to_dict as record_to_dict

# Describes the form of a nested structure in a message.
from podium.data._structure import describe_structure as describe_structure

# Maps the leaves of nested structures; dictionaries keep their order, None stays None.
from podium.data._structure import map_leaves as map_leaves

# A value that is equal for nested structures of the same form.
from podium.data._structure import structure_key as structure_key

# Whether an array is a memory-mapped file, which is not to be read as a whole.
from podium.data.columns._lazy_columns import is_memory_mapped as is_memory_mapped

# The pipeline of `Dataset.batch`.
from podium.data.pipelines._batching import BatchPipeline as BatchPipeline

# Base of pipelines that make one element of each element of their source.
from podium.data.pipelines._pipeline import OneToOnePipeline as OneToOnePipeline

# Base of all pipelines.
from podium.data.pipelines._pipeline import Pipeline as Pipeline

# Selects rows of an array: a view for a range, otherwise a copy.
from podium.data.pipelines._pipeline import select_rows as select_rows

# The pipeline of `Dataset.from_tensor_slices`.
from podium.data.pipelines._sources import SlicesPipeline as SlicesPipeline

# Converts the argument of `from_tensor_slices` to copied arrays of one length.
from podium.data.pipelines._sources import as_table as as_table

# Converts what a user's function returned to an element that only Podium holds.
from podium.data.pipelines._sources import freeze_element as freeze_element
