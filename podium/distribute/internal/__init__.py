"""What other packages may use of `podium.distribute` beyond its public API. Not for users."""

# The command `podium launch`.
from podium.distribute._launch import main as main
