"""The dataset california_housing."""

from podium.datasets._california_housing import load_data as load_data
