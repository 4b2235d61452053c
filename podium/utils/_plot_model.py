"""`plot_model`: a model drawn as boxes and arrows. Needs matplotlib, from the extra `plot`."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

from podium._typing import PathLike
from podium.core import KerasTensor, tree_leaves

if TYPE_CHECKING:
    from podium.models import Model

_MISSING_MATPLOTLIB = "plot_model() needs matplotlib. Install it with `pip install 'podium[plot]'`."


def plot_model(
    model: Model,
    to_file: PathLike = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 100,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    **kwargs: Any,
) -> None:
    """Draw a model to a file, with a box for each layer and arrows between connected layers.

    Args:
        model: The model. A model without a graph is drawn as a chain of its layers.
        to_file: The path; the suffix selects the format (png, svg, pdf).
        show_shapes: Whether to show the output shape.
        show_dtype: Whether to show the output dtype.
        show_layer_names: Whether to show the name of the layer next to its class.
        rankdir: "TB" from top to bottom, "LR" from left to right.
        expand_nested: Accepted for Keras's signature; a nested model is one box.
        dpi: Dots per inch.
        show_layer_activations: Whether to show the activation.
        show_trainable: Whether to show which layers are trainable.
        **kwargs: Further arguments of Keras; ignored.

    Raises:
        ImportError: matplotlib is not installed.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.svg"
        >>> model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(2)])
        >>> podium.utils.plot_model(model, path, show_shapes=True)
        >>> "dense" in path.read_text().lower()
        True
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(_MISSING_MATPLOTLIB) from error

    boxes, arrows = _boxes_and_arrows(model)
    shown = {"shape": show_shapes, "dtype": show_dtype, "name": show_layer_names}
    shown |= {"activation": show_layer_activations, "trainable": show_trainable}
    cells = _grid_cells(len(boxes), arrows)
    num_rows = max(row for row, _ in cells) + 1
    num_columns = max(column for _, column in cells) + 1
    figure = Figure(
        figsize=(1 + 3.2 * num_columns, 0.5 + 1.1 * num_rows)
        if rankdir == "TB"
        else (1 + 3.4 * num_rows, 0.5 + 1.2 * num_columns)
    )
    axes = figure.subplots()
    axes.set_axis_off()
    points = [(column, -row) if rankdir == "TB" else (row, -column) for row, column in cells]
    for (x, y), box in zip(points, boxes, strict=True):
        axes.text(
            x,
            y,
            _box_text(box, shown),
            ha="center",
            va="center",
            bbox={"boxstyle": "round", "fc": "white"},
            zorder=2,
        )
    for start, end in arrows:
        line = {"arrowstyle": "->", "shrinkA": 16, "shrinkB": 16}
        axes.annotate("", points[end], points[start], arrowprops=line, zorder=1)
    axes.set_xlim(min(x for x, _ in points) - 0.6, max(x for x, _ in points) + 0.6)
    axes.set_ylim(min(y for _, y in points) - 0.5, max(y for _, y in points) + 0.5)
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text, not as paths
        figure.savefig(pathlib.Path(to_file), dpi=dpi, bbox_inches="tight")


def _boxes_and_arrows(model: Model) -> tuple[list[tuple[Any, Any]], list[tuple[int, int]]]:
    """Return boxes as `(layer or operation, outputs)`, and arrows as pairs of box indices."""
    graph = getattr(model, "_graph", None)
    if graph is None:
        layers = list(model.layers)
        if not layers:
            raise ValueError(
                f"The model {model.name!r} has no layers to draw; build it first by calling it "
                "on data."
            )
        return [(layer, None) for layer in layers], [(i, i + 1) for i in range(len(layers) - 1)]
    boxes: list[tuple[Any, Any]] = [(symbol, symbol) for symbol in graph.flat_inputs]
    box_index = {id(symbol): i for i, symbol in enumerate(graph.flat_inputs)}
    arrows = []
    for node in graph.nodes:
        for symbol in dict.fromkeys(node.inputs):
            if id(symbol) in box_index:
                arrows.append((box_index[id(symbol)], len(boxes)))
        outputs = [leaf for leaf in tree_leaves(node.outputs) if isinstance(leaf, KerasTensor)]
        box_index.update({id(symbol): len(boxes) for symbol in outputs})
        boxes.append((node.layer or node, outputs[0] if len(outputs) == 1 else None))
    return boxes, arrows


def _grid_cells(num_boxes: int, arrows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return row and column of each box; its row is after those of all boxes that lead to it."""
    rows = [0] * num_boxes
    for start, end in arrows:  # arrows are in the order of the boxes they lead to
        rows[end] = max(rows[end], rows[start] + 1)
    row_lengths: dict[int, int] = {}
    cells = []
    for row in rows:
        cells.append((row, row_lengths.get(row, 0)))
        row_lengths[row] = row_lengths.get(row, 0) + 1
    return cells


def _box_text(box: tuple[Any, Any], shown: dict[str, bool]) -> str:
    node, output = box
    kind = "Input" if isinstance(node, KerasTensor) else type(node).__name__
    kind = "Operation" if kind == "Node" else kind
    lines = [f"{node.name} ({kind})" if shown["name"] else kind]
    if shown["activation"] and getattr(node, "activation", None) is not None:
        lines.append(f"activation: {getattr(node.activation, '__name__', node.activation)}")
    if shown["shape"] and output is not None:
        lines.append(f"output: {output.shape}")
    if shown["dtype"] and output is not None:
        lines.append(f"dtype: {output.dtype.name}")
    if shown["trainable"] and hasattr(node, "trainable"):
        lines.append("trained" if node.trainable else "not trained")
    return "\n".join(lines)
