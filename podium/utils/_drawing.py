"""Drawing a model as boxes and arrows. Needs matplotlib, from the extra `plot`."""

from __future__ import annotations

import pathlib
from typing import Any

from podium.core import KerasTensor, tree_leaves

_MISSING = "plot_model() needs matplotlib. Install it with `pip install 'podium[plot]'`."


def plot_model(
    model: Any,
    to_file: Any = "model.png",
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
    """Draw a model into a file: one box for each layer, arrows for what flows between them.

    Args:
        model: The model. One without a graph is drawn as a chain of its layers.
        to_file: Where to; the suffix says the format (png, svg, pdf).
        show_shapes: Whether boxes say the shape of what comes out.
        show_dtype: Whether boxes say its type.
        show_layer_names: Whether boxes say the layer's name beside its class.
        rankdir: "TB" from top to bottom, "LR" from left to right.
        expand_nested: Accepted for Keras's signature; a nested model is one box.
        dpi: Dots per inch.
        show_layer_activations: Whether boxes say the activation.
        show_trainable: Whether boxes say which layers are trained.
        **kwargs: Other arguments of Keras, without effect.

    Raises:
        ImportError: matplotlib is missing.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.svg"
        >>> podium.utils.plot_model(podium.Sequential([podium.Input((4,)), podium.layers.Dense(2)]), path, show_shapes=True)
        >>> "dense" in path.read_text().lower()
        True
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(_MISSING) from error

    boxes, arrows = _graph_of(model)
    told = {"shape": show_shapes, "dtype": show_dtype, "name": show_layer_names}
    told |= {"activation": show_layer_activations, "trainable": show_trainable}
    places = _places(len(boxes), arrows)
    deep, wide = max(row for row, _ in places) + 1, max(column for _, column in places) + 1
    figure = Figure(
        figsize=(1 + 3.2 * wide, 0.5 + 1.1 * deep)
        if rankdir == "TB"
        else (1 + 3.4 * deep, 0.5 + 1.2 * wide)
    )
    axes = figure.subplots()
    axes.set_axis_off()
    points = [(column, -row) if rankdir == "TB" else (row, -column) for row, column in places]
    for (x, y), box in zip(points, boxes, strict=True):
        axes.text(
            x,
            y,
            _words(box, told),
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
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text
        figure.savefig(pathlib.Path(to_file), dpi=dpi, bbox_inches="tight")


def _graph_of(model: Any) -> tuple[list[tuple[Any, Any]], list[tuple[int, int]]]:
    """Return boxes as `(layer or operation, outputs)`, and arrows as pairs of box numbers."""
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
    number = {id(symbol): i for i, symbol in enumerate(graph.flat_inputs)}
    arrows = []
    for node in graph.nodes:
        for symbol in dict.fromkeys(node.inputs):
            if id(symbol) in number:
                arrows.append((number[id(symbol)], len(boxes)))
        outputs = [leaf for leaf in tree_leaves(node.outputs) if isinstance(leaf, KerasTensor)]
        number.update({id(symbol): len(boxes) for symbol in outputs})
        boxes.append((node.layer or node, outputs[0] if len(outputs) == 1 else None))
    return boxes, arrows


def _places(count: int, arrows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give each box a row behind all boxes that lead to it, and a column of its own in the row."""
    rows = [0] * count
    for start, end in arrows:  # arrows come in the order of the boxes they lead to
        rows[end] = max(rows[end], rows[start] + 1)
    seen: dict[int, int] = {}
    places = []
    for row in rows:
        places.append((row, seen.get(row, 0)))
        seen[row] = seen.get(row, 0) + 1
    return places


def _words(box: tuple[Any, Any], told: dict[str, bool]) -> str:
    thing, output = box
    kind = "Input" if isinstance(thing, KerasTensor) else type(thing).__name__
    kind = "Operation" if kind == "Node" else kind
    lines = [f"{thing.name} ({kind})" if told["name"] else kind]
    if told["activation"] and getattr(thing, "activation", None) is not None:
        lines.append(f"activation: {getattr(thing.activation, '__name__', thing.activation)}")
    if told["shape"] and output is not None:
        lines.append(f"output: {output.shape}")
    if told["dtype"] and output is not None:
        lines.append(f"dtype: {output.dtype.name}")
    if told["trainable"] and hasattr(thing, "trainable"):
        lines.append("trained" if thing.trainable else "not trained")
    return "\n".join(lines)
