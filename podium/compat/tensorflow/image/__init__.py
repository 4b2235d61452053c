"""`tf.image`."""

from podium.compat._missing_names import image as __getattr__
from podium.compat.tensorflow.image._color import adjust_brightness as adjust_brightness
from podium.compat.tensorflow.image._color import adjust_contrast as adjust_contrast
from podium.compat.tensorflow.image._color import adjust_hue as adjust_hue
from podium.compat.tensorflow.image._color import adjust_saturation as adjust_saturation
from podium.compat.tensorflow.image._color import convert_image_dtype as convert_image_dtype
from podium.compat.tensorflow.image._color import grayscale_to_rgb as grayscale_to_rgb
from podium.compat.tensorflow.image._color import hsv_to_rgb as hsv_to_rgb
from podium.compat.tensorflow.image._color import random_brightness as random_brightness
from podium.compat.tensorflow.image._color import random_contrast as random_contrast
from podium.compat.tensorflow.image._color import random_hue as random_hue
from podium.compat.tensorflow.image._color import random_saturation as random_saturation
from podium.compat.tensorflow.image._color import rgb_to_grayscale as rgb_to_grayscale
from podium.compat.tensorflow.image._color import rgb_to_hsv as rgb_to_hsv
from podium.compat.tensorflow.image._color import rgb_to_yuv as rgb_to_yuv
from podium.compat.tensorflow.image._color import yuv_to_rgb as yuv_to_rgb
from podium.compat.tensorflow.image._geometry import ResizeMethod as ResizeMethod
from podium.compat.tensorflow.image._geometry import central_crop as central_crop
from podium.compat.tensorflow.image._geometry import crop_and_resize as crop_and_resize
from podium.compat.tensorflow.image._geometry import crop_to_bounding_box as crop_to_bounding_box
from podium.compat.tensorflow.image._geometry import extract_patches as extract_patches
from podium.compat.tensorflow.image._geometry import flip_left_right as flip_left_right
from podium.compat.tensorflow.image._geometry import flip_up_down as flip_up_down
from podium.compat.tensorflow.image._geometry import pad_to_bounding_box as pad_to_bounding_box
from podium.compat.tensorflow.image._geometry import random_crop as random_crop
from podium.compat.tensorflow.image._geometry import (
    random_flip_left_right as random_flip_left_right,
)
from podium.compat.tensorflow.image._geometry import random_flip_up_down as random_flip_up_down
from podium.compat.tensorflow.image._geometry import resize as resize
from podium.compat.tensorflow.image._geometry import (
    resize_with_crop_or_pad as resize_with_crop_or_pad,
)
from podium.compat.tensorflow.image._geometry import resize_with_pad as resize_with_pad
from podium.compat.tensorflow.image._geometry import rot90 as rot90
from podium.compat.tensorflow.image._geometry import transpose as transpose
from podium.compat.tensorflow.image._measures import image_gradients as image_gradients
from podium.compat.tensorflow.image._measures import (
    per_image_standardization as per_image_standardization,
)
from podium.compat.tensorflow.image._measures import psnr as psnr
from podium.compat.tensorflow.image._measures import sobel_edges as sobel_edges
from podium.compat.tensorflow.image._measures import ssim as ssim
from podium.compat.tensorflow.image._measures import total_variation as total_variation
