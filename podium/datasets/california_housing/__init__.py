"""The dataset `california_housing`."""

from podium.datasets._housing import load_california_housing as load_data
