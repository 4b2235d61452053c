"""The dataset `imdb`."""

from podium.datasets._imdb import get_word_index as get_word_index
from podium.datasets._imdb import load_data as load_data
