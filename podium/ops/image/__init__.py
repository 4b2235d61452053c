"""Operations on images, under the names of `keras.ops.image`."""

from podium.ops.image._color import hsv_to_rgb as hsv_to_rgb
from podium.ops.image._color import rgb_to_grayscale as rgb_to_grayscale
from podium.ops.image._color import rgb_to_hsv as rgb_to_hsv
from podium.ops.image._crop_and_pad import crop_images as crop_images
from podium.ops.image._crop_and_pad import pad_images as pad_images
from podium.ops.image._filters import gaussian_blur as gaussian_blur
from podium.ops.image._filters import sobel_edges as sobel_edges
from podium.ops.image._filters import ssim as ssim
from podium.ops.image._patches import extract_patches as extract_patches
from podium.ops.image._patches import extract_patches_3d as extract_patches_3d
from podium.ops.image._resize import resize as resize
from podium.ops.image._resize import scale_and_translate as scale_and_translate
from podium.ops.image._transform import affine_transform as affine_transform
from podium.ops.image._transform import elastic_transform as elastic_transform
from podium.ops.image._transform import map_coordinates as map_coordinates
from podium.ops.image._transform import perspective_transform as perspective_transform
