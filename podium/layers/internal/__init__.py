"""What other packages of Podium may use of `podium.layers` beyond its public API. Not for users."""

from podium.layers._call_context import map_shapes as map_shapes
from podium.layers._layer_state import limited_weights as limited_weights
from podium.layers._tracking import seed_states as seed_states
