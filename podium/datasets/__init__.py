"""Small public datasets, fetched once into `~/.keras/datasets`."""

from podium.datasets import cifar10 as cifar10
from podium.datasets import cifar100 as cifar100
from podium.datasets import fashion_mnist as fashion_mnist
from podium.datasets import imdb as imdb
from podium.datasets import mnist as mnist
