"""Operations on images, under the names of `keras.ops.image`."""

from podium.ops._image_color import gaussian_blur as gaussian_blur
from podium.ops._image_color import hsv_to_rgb as hsv_to_rgb
from podium.ops._image_color import rgb_to_grayscale as rgb_to_grayscale
from podium.ops._image_color import rgb_to_hsv as rgb_to_hsv
from podium.ops._image_color import sobel_edges as sobel_edges
from podium.ops._image_color import ssim as ssim
from podium.ops._image_resize import crop_images as crop_images
from podium.ops._image_resize import extract_patches as extract_patches
from podium.ops._image_resize import extract_patches_3d as extract_patches_3d
from podium.ops._image_resize import pad_images as pad_images
from podium.ops._image_resize import resize as resize
from podium.ops._image_resize import scale_and_translate as scale_and_translate
from podium.ops._image_warp import affine_transform as affine_transform
from podium.ops._image_warp import elastic_transform as elastic_transform
from podium.ops._image_warp import map_coordinates as map_coordinates
from podium.ops._image_warp import perspective_transform as perspective_transform
