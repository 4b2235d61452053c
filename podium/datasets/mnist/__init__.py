"""The dataset `mnist`."""

from podium.datasets._grayscale_images import load_mnist as load_data
