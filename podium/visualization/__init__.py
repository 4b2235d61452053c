"""Images with boxes, masks and labels, and galleries of them."""

from podium.visualization._draw_boxes import draw_bounding_boxes as draw_bounding_boxes
from podium.visualization._draw_masks import draw_segmentation_masks as draw_segmentation_masks
from podium.visualization._galleries import plot_bounding_box_gallery as plot_bounding_box_gallery
from podium.visualization._galleries import plot_image_gallery as plot_image_gallery
from podium.visualization._galleries import (
    plot_segmentation_mask_gallery as plot_segmentation_mask_gallery,
)
