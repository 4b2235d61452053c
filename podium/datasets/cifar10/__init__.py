"""The dataset cifar10."""

from podium.datasets._cifar10 import load_data as load_data
