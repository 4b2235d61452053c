"""What other packages of Podium may use of `podium.data` beyond its public API. Not for users."""

from podium.data._arrays import is_arrays as is_arrays
from podium.data._structure import describe as describe
from podium.data._structure import map_leaves as map_leaves
from podium.data._structure import outline as outline
from podium.data._values import fields_of as fields_of
from podium.data._words import check_count as check_count
from podium.data.columns._mapped import is_mapped as is_mapped
from podium.data.pipelines._batching import Batched as Batched
from podium.data.pipelines._pipeline import OneToOne as OneToOne
from podium.data.pipelines._pipeline import Pipeline as Pipeline
from podium.data.pipelines._pipeline import take_rows as take_rows
from podium.data.pipelines._sources import Slices as Slices
from podium.data.pipelines._sources import frozen as frozen
from podium.data.pipelines._sources import table_of as table_of
