"""The dataset `boston_housing`."""

from podium.datasets._housing import load_boston_housing as load_data
