"""What other packages of Podium may use of `podium.data` beyond its public API. Not for users."""

from podium.data._convert_arrays import is_array_source as is_array_source
from podium.data._copy_values import record_to_dict as record_to_dict
from podium.data._structure import describe_structure as describe_structure
from podium.data._structure import map_leaves as map_leaves
from podium.data._structure import structure_key as structure_key
from podium.data.columns._lazy_columns import is_memory_mapped as is_memory_mapped
from podium.data.pipelines._batching import BatchPipeline as BatchPipeline
from podium.data.pipelines._pipeline import OneToOnePipeline as OneToOnePipeline
from podium.data.pipelines._pipeline import Pipeline as Pipeline
from podium.data.pipelines._pipeline import select_rows as select_rows
from podium.data.pipelines._sources import SlicesPipeline as SlicesPipeline
from podium.data.pipelines._sources import as_table as as_table
from podium.data.pipelines._sources import freeze_element as freeze_element
