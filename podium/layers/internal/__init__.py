"""What other packages of Podium may use of `podium.layers` beyond its public API. Not for users."""

from podium.layers._call_context import map_shapes as map_shapes

# Raises for indices outside the table of an Embedding.
from podium.layers.core._embedding import check_indices as check_indices
