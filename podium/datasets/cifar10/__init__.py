"""The dataset `cifar10`."""

from podium.datasets._cifar import load_cifar10 as load_data
