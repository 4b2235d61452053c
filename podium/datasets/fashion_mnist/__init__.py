"""The dataset `fashion_mnist`."""

from podium.datasets._grayscale_images import load_fashion_mnist as load_data
