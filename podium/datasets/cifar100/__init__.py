"""The dataset `cifar100`."""

from podium.datasets._cifar import load_cifar100 as load_data
