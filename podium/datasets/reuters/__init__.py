"""The dataset `reuters`."""

from podium.datasets._reuters import get_label_names as get_label_names
from podium.datasets._reuters import get_word_index as get_word_index
from podium.datasets._reuters import load_data as load_data
