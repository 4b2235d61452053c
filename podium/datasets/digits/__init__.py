"""The dataset `digits`."""

from podium.datasets._grayscale_images import load_digits as load_data
