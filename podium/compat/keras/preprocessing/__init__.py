"""`keras.preprocessing`: the tools of Keras 2 for texts, sequences and images."""

from podium.compat.keras.preprocessing import image as image
from podium.compat.keras.preprocessing import sequence as sequence
from podium.compat.keras.preprocessing import text as text
from podium.utils import image_dataset_from_directory as image_dataset_from_directory
from podium.utils import text_dataset_from_directory as text_dataset_from_directory
from podium.utils import timeseries_dataset_from_array as timeseries_dataset_from_array
