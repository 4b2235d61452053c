"""`keras.preprocessing.image`."""

from podium.utils import array_to_img as array_to_img
from podium.utils import img_to_array as img_to_array
from podium.utils import load_img as load_img
from podium.utils import save_img as save_img
from podium.utils.internal import smart_resize as smart_resize
