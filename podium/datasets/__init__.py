"""Small public datasets, downloaded once to `~/.keras/datasets`; `digits` needs no download."""

from podium.datasets import boston_housing as boston_housing
from podium.datasets import california_housing as california_housing
from podium.datasets import cifar10 as cifar10
from podium.datasets import cifar100 as cifar100
from podium.datasets import digits as digits
from podium.datasets import fashion_mnist as fashion_mnist
from podium.datasets import imdb as imdb
from podium.datasets import mnist as mnist
from podium.datasets import reuters as reuters
