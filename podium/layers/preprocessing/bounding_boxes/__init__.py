"""Bounding boxes: formats, geometry, overlaps and deltas. Users find them in
`podium.utils.bounding_boxes`.
"""

from podium.layers.preprocessing.bounding_boxes._box_overlap import compute_ciou as compute_ciou
from podium.layers.preprocessing.bounding_boxes._box_overlap import compute_iou as compute_iou
from podium.layers.preprocessing.bounding_boxes._deltas import (
    decode_deltas_to_boxes as decode_deltas_to_boxes,
)
from podium.layers.preprocessing.bounding_boxes._deltas import (
    encode_box_to_deltas as encode_box_to_deltas,
)
from podium.layers.preprocessing.bounding_boxes._formats import convert_format as convert_format
from podium.layers.preprocessing.bounding_boxes._geometry import (
    affine_transform as affine_transform,
)
from podium.layers.preprocessing.bounding_boxes._geometry import (
    clip_to_image_size as clip_to_image_size,
)
from podium.layers.preprocessing.bounding_boxes._geometry import crop as crop
from podium.layers.preprocessing.bounding_boxes._geometry import pad as pad
