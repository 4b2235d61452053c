"""The dataset cifar100."""

from podium.datasets._cifar100 import load_data as load_data
