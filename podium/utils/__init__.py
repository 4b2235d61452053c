"""Utilities for data preparation, files, seeds and models."""

from podium.callbacks import Progbar as Progbar
from podium.core import custom_object_scope as CustomObjectScope
from podium.core import custom_object_scope as custom_object_scope
from podium.core import get_custom_objects as get_custom_objects
from podium.core import get_registered_name as get_registered_name
from podium.core import get_registered_object as get_registered_object
from podium.core import register_keras_serializable as register_keras_serializable
from podium.core import set_random_seed as set_random_seed
from podium.data import PyDataset as PyDataset
from podium.data import Sequence as Sequence
from podium.data import pack_x_y_sample_weight as pack_x_y_sample_weight
from podium.data import unpack_x_y_sample_weight as unpack_x_y_sample_weight
from podium.utils._array_preparation import normalize as normalize
from podium.utils._array_preparation import pad_sequences as pad_sequences
from podium.utils._array_preparation import to_categorical as to_categorical
from podium.utils._download import get_file as get_file
from podium.utils._image_dataset import image_dataset_from_directory as image_dataset_from_directory
from podium.utils._image_io import array_to_img as array_to_img
from podium.utils._image_io import img_to_array as img_to_array
from podium.utils._image_io import load_img as load_img
from podium.utils._image_io import save_img as save_img
from podium.utils._plot_model import plot_model as plot_model
from podium.utils._session import clear_session as clear_session
from podium.utils._split_dataset import split_dataset as split_dataset
from podium.utils._text_dataset import text_dataset_from_directory as text_dataset_from_directory
from podium.utils._timeseries import timeseries_dataset_from_array as timeseries_dataset_from_array
