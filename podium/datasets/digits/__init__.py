"""The dataset digits."""

from podium.datasets._digits import load_data as load_data
