"""The dataset fashion_mnist."""

from podium.datasets._fashion_mnist import load_data as load_data
