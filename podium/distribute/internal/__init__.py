"""What other packages may use of `podium.distribute` beyond its public API. Not for users."""

from podium.distribute._launch import main as main
