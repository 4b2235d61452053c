"""`keras.preprocessing.image`."""

from podium.compat.keras._utils import load_img as load_img
from podium.compat.keras.preprocessing._affine_transform import (
    apply_affine_transform as apply_affine_transform,
)
from podium.compat.keras.preprocessing._affine_transform import random_rotation as random_rotation
from podium.compat.keras.preprocessing._affine_transform import random_shear as random_shear
from podium.compat.keras.preprocessing._affine_transform import random_shift as random_shift
from podium.compat.keras.preprocessing._affine_transform import random_zoom as random_zoom
from podium.compat.keras.preprocessing._file_iterators import DirectoryIterator as DirectoryIterator
from podium.compat.keras.preprocessing._image_data_generator import (
    ImageDataGenerator as ImageDataGenerator,
)
from podium.compat.keras.preprocessing._image_iterator import Iterator as Iterator
from podium.compat.keras.preprocessing._image_iterator import (
    NumpyArrayIterator as NumpyArrayIterator,
)
from podium.compat.keras.preprocessing._pixel_shifts import (
    apply_brightness_shift as apply_brightness_shift,
)
from podium.compat.keras.preprocessing._pixel_shifts import (
    apply_channel_shift as apply_channel_shift,
)
from podium.compat.keras.preprocessing._pixel_shifts import random_brightness as random_brightness
from podium.compat.keras.preprocessing._pixel_shifts import (
    random_channel_shift as random_channel_shift,
)
from podium.utils import array_to_img as array_to_img
from podium.utils import img_to_array as img_to_array
from podium.utils import save_img as save_img
from podium.utils.internal import smart_resize as smart_resize
