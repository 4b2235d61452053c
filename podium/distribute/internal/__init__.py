"""What other packages may use of `podium.distribute` beyond its public API. Not for users."""

# The number of replicas whose step is being traced; 1 outside of `Strategy.run`.
from podium.distribute._current_strategy import num_traced_replicas as num_traced_replicas

# The command `podium launch`.
from podium.distribute._launch import main as main
