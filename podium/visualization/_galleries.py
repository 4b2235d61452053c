"""Galleries: images in rows and columns, with labels, boxes or masks. Needs matplotlib, from the
extra `plot`, which is imported when a gallery is drawn.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._typing import PathLike, TensorLike
from podium.core.internal import check_int
from podium.visualization._draw_boxes import draw_bounding_boxes
from podium.visualization._draw_masks import draw_segmentation_masks
from podium.visualization._image_batches import (
    Array,
    as_images,
    check_data_format,
    scale_to_uint8,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_image_gallery(
    images: TensorLike,
    y_true: TensorLike | None = None,
    y_pred: TensorLike | None = None,
    label_map: Mapping[int, str] | None = None,
    rows: int | None = None,
    cols: int | None = None,
    value_range: tuple[float, float] = (0, 255),
    scale: float = 2,
    path: PathLike | None = None,
    show: bool | None = None,
    transparent: bool = True,
    dpi: int = 60,
    legend_handles: Sequence[Any] | None = None,
    data_format: str | None = None,
) -> None:
    """Show images in rows and columns, or save the picture to a file.

    Args:
        images: Images `(batch, height, width, channels)`.
        y_true: Class numbers, one for each image, that are written above it.
        y_pred: Predicted class numbers, likewise.
        label_map: The names of classes by their number; needed with `y_true` or `y_pred`.
        rows: The number of rows; None for about as many as columns.
        cols: The number of columns; None for as many as all images need.
        value_range: The lowest and the highest value of the images.
        scale: The size of an image in inches.
        path: Where to save the picture; None to show it.
        show: Whether to show the picture. False leaves it as the current figure of matplotlib.
        transparent: Whether the background of a saved picture is transparent.
        dpi: Dots per inch of a saved picture.
        legend_handles: Patches of matplotlib for a legend.
        data_format: "channels_last" or "channels_first".

    Raises:
        ImportError: matplotlib is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "gallery.png"
        >>> podium.visualization.plot_image_gallery(np.zeros((3, 8, 8, 3)), path=path)
        >>> path.read_bytes()[1:4]
        b'PNG'
    """
    if path is not None and show:
        raise ValueError(
            f"plot_image_gallery() was given path={path!r} and show=True; one of them was "
            "expected. Call it twice for both."
        )
    if (y_true is not None or y_pred is not None) and label_map is None:
        raise ValueError(
            "plot_image_gallery() was given class numbers without label_map; the names of the "
            "classes were expected, such as label_map={0: 'cat', 1: 'dog'}."
        )
    data_format = check_data_format(data_format)
    pixels = scale_to_uint8(as_images("plot_image_gallery", images, data_format), value_range)
    rows, cols = _grid(len(pixels), rows, cols)
    titles = [_title(index, y_true, y_pred, label_map or {}) for index in range(len(pixels))]
    figure = _new_figure((cols * scale, rows * scale), saved=path is not None)
    grid = figure.subplots(rows, cols, squeeze=False, sharex="row", sharey="col").ravel()
    figure.subplots_adjust(wspace=0, hspace=0)
    if legend_handles is not None:
        figure.legend(handles=legend_handles, loc="lower center")
    for axes in grid:
        axes.margins(x=0, y=0)
        axes.axis("off")
    for axes, image, title in zip(grid, pixels, titles, strict=False):
        axes.imshow(image[..., 0] if image.shape[-1] == 1 else image, cmap="gray", vmin=0, vmax=255)
        axes.set_title(title, fontsize=8)
    if path is not None:
        figure.savefig(path, pad_inches=0, bbox_inches="tight", transparent=transparent, dpi=dpi)
    elif show is None or show:
        plt = _import_matplotlib("pyplot")
        plt.show()
        plt.close(figure)


def plot_bounding_box_gallery(
    images: TensorLike,
    bounding_box_format: str,
    y_true: Mapping[str, TensorLike] | None = None,
    y_pred: Mapping[str, TensorLike] | None = None,
    value_range: tuple[float, float] = (0, 255),
    true_color: Sequence[int] = (0, 188, 212),
    pred_color: Sequence[int] = (255, 235, 59),
    line_thickness: int = 2,
    font_scale: float = 1.0,
    text_thickness: int | None = None,
    class_mapping: Mapping[int, str] | None = None,
    ground_truth_mapping: Mapping[int, str] | None = None,
    prediction_mapping: Mapping[int, str] | None = None,
    legend: bool = False,
    legend_handles: Sequence[Any] | None = None,
    rows: int | None = None,
    cols: int | None = None,
    data_format: str | None = None,
    **kwargs: Any,
) -> None:
    """Show images with bounding boxes in rows and columns, or save the picture to a file.

    Args:
        images: Images `(batch, height, width, channels)`.
        bounding_box_format: The format of the boxes, as in `draw_bounding_boxes`.
        y_true: True boxes, a dictionary as `draw_bounding_boxes` takes it.
        y_pred: Predicted boxes, likewise.
        value_range: The lowest and the highest value of the images.
        true_color: The color of true boxes.
        pred_color: The color of predicted boxes.
        line_thickness: The width of the lines in pixels.
        font_scale: The size of the texts.
        text_thickness: The width of the strokes of texts; None for `line_thickness`.
        class_mapping: The names of classes by their number.
        ground_truth_mapping: The names for true boxes; None for `class_mapping`.
        prediction_mapping: The names for predicted boxes; None for `class_mapping`.
        legend: Whether to add a legend of the two colors.
        legend_handles: Patches of matplotlib for another legend.
        rows: The number of rows.
        cols: The number of columns.
        data_format: "channels_last" or "channels_first".
        **kwargs: Further arguments of `plot_image_gallery`, such as `path`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "boxes.png"
        >>> boxes = {"boxes": np.array([[[2, 2, 6, 6]]]), "labels": np.array([[0]])}
        >>> podium.visualization.plot_bounding_box_gallery(
        ...     np.zeros((1, 8, 8, 3)), "xyxy", y_true=boxes, path=path)
        >>> path.read_bytes()[1:4]
        b'PNG'
    """
    if legend and legend_handles:
        raise ValueError(
            "plot_bounding_box_gallery() was given legend=True and legend_handles; one of them was "
            "expected."
        )
    data_format = check_data_format(data_format)
    batch = as_images("plot_bounding_box_gallery", images, data_format)
    pixels = scale_to_uint8(batch, value_range)
    for boxes, color, names in (
        (y_true, true_color, ground_truth_mapping or class_mapping),
        (y_pred, pred_color, prediction_mapping or class_mapping),
    ):
        if boxes is not None:
            pixels = draw_bounding_boxes(
                pixels,
                boxes,
                bounding_box_format,
                names,
                color,
                line_thickness,
                text_thickness,
                font_scale,
                data_format="channels_last",
            )
    if legend:
        patch = _import_matplotlib("patches").Patch
        legend_handles = [
            patch(color=np.asarray(color) / 255, label=label)
            for color, label in ((true_color, "Ground Truth"), (pred_color, "Prediction"))
        ]
    plot_image_gallery(
        pixels,
        legend_handles=legend_handles,
        rows=rows,
        cols=cols,
        data_format="channels_last",
        **kwargs,
    )


def plot_segmentation_mask_gallery(
    images: TensorLike,
    num_classes: int | None,
    value_range: tuple[float, float] = (0, 255),
    y_true: TensorLike | None = None,
    y_pred: TensorLike | None = None,
    color_mapping: Mapping[int, Sequence[int]] | None = None,
    blend: bool = True,
    alpha: float = 0.8,
    ignore_index: int = -1,
    data_format: str | None = None,
    **kwargs: Any,
) -> None:
    """Show each image beside its true and its predicted mask, or save the picture to a file.

    Args:
        images: Images `(batch, height, width, channels)`; a row of the gallery for each.
        num_classes: The number of classes, as in `draw_segmentation_masks`.
        value_range: The lowest and the highest value of the images.
        y_true: True masks: class numbers `(batch, height, width)`, or with one channel.
        y_pred: Predicted masks, likewise.
        color_mapping: The RGB colors by class number; None for generated ones.
        blend: Whether to blend masks and images.
        alpha: The opacity of the masks.
        ignore_index: The class number whose pixels stay as they are.
        data_format: "channels_last" or "channels_first", of images and masks.
        **kwargs: Further arguments of `plot_image_gallery`, such as `path`.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "masks.png"
        >>> podium.visualization.plot_segmentation_mask_gallery(
        ...     np.zeros((1, 8, 8, 3)), 2, y_true=np.ones((1, 8, 8), "int32"), path=path)
        >>> path.read_bytes()[1:4]
        b'PNG'
    """
    data_format = check_data_format(data_format)
    batch = as_images("plot_segmentation_mask_gallery", images, data_format)
    pixels = scale_to_uint8(batch, value_range)
    columns = [pixels]
    for masks in (y_true, y_pred):
        if masks is not None:
            numbers = np.asarray(masks).astype("int32")
            if data_format == "channels_first" and numbers.ndim == 4:
                numbers = np.moveaxis(numbers, 1, -1)
            drawn = draw_segmentation_masks(
                pixels,
                numbers,
                num_classes,
                color_mapping,
                alpha,
                blend,
                ignore_index,
                data_format="channels_last",
            )
            columns.append(drawn.astype("uint8"))
    cells = np.stack(columns, axis=1).reshape(-1, *pixels.shape[1:])
    plot_image_gallery(
        cells, rows=len(pixels), cols=len(columns), data_format="channels_last", **kwargs
    )


def _grid(num_images: int, rows: int | None, cols: int | None) -> tuple[int, int]:
    """Return rows and columns: those of the caller, or as many as all images need."""
    if num_images < 1:
        raise ValueError("The gallery was given no images; at least one was expected.")
    if rows is not None:
        check_int("rows", rows, 1)
    if cols is not None:
        check_int("cols", cols, 1)
    if rows is None:
        rows = math.ceil(math.sqrt(num_images) if cols is None else num_images / cols)
    return rows, math.ceil(num_images / rows) if cols is None else cols


def _title(
    index: int, y_true: TensorLike | None, y_pred: TensorLike | None, names: Mapping[int, str]
) -> str:
    parts = []
    for word, numbers in (("Label", y_true), ("Pred", y_pred)):
        values: Array = np.asarray([] if numbers is None else numbers).ravel()
        if index < len(values):
            parts.append(f"{word}: {names.get(values[index].item(), 'Unknown')}")
    return "  ".join(parts)


def _new_figure(size: tuple[float, float], saved: bool) -> Figure:
    """Return a figure; one that is only saved is unknown to pyplot, so that it needs no display."""
    options: dict[str, Any] = {"figsize": size, "frameon": False, "layout": "tight"}
    make = _import_matplotlib("figure").Figure if saved else _import_matplotlib("pyplot").figure
    figure: Figure = make(**options)
    return figure


def _import_matplotlib(module: str) -> ModuleType:
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "Galleries need matplotlib. Install it with `pip install matplotlib` or "
            "`pip install 'podium[plot]'`."
        ) from error
