"""The dataset boston_housing."""

from podium.datasets._boston_housing import load_data as load_data
