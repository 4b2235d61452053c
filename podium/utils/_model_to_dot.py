"""`model_to_dot`: the graph of a model in Graphviz's language.

The graph is made with pydot, as in Keras, or with the package `graphviz` where only that is
installed. Neither needs Graphviz's programs until an image is rendered. `_plot_model.py` draws
without either.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from podium._typing import Tree
from podium.core import KerasTensor, Node, map_structure
from podium.layers import InputLayer, Layer
from podium.models import Model, Sequential


def model_to_dot(
    model: Model,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    subgraph: bool = False,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
    **kwargs: Any,
) -> Any:
    """Return the graph of a model, with a node for each layer, in Graphviz's language.

    Args:
        model: The model, built. A model without a graph is one node.
        show_shapes: Whether to show the shapes of inputs and outputs.
        show_dtype: Whether to show the dtype of the output.
        show_layer_names: Whether to show the name of the layer next to its class.
        rankdir: "TB" from top to bottom, "LR" from left to right.
        expand_nested: Whether a nested model is a cluster of its layers instead of one node.
        dpi: Dots per inch of a rendered image.
        subgraph: Whether to return a cluster, to be a part of another graph.
        show_layer_activations: Whether to show the activation.
        show_trainable: Whether to show which layers are trainable.
        splines: How edges are drawn: "ortho", "curved", "polyline", "spline" or "line".
        **kwargs: Arguments of other versions of Keras; they raise.

    Returns:
        A `pydot.Dot` (a `pydot.Cluster` if `subgraph` is True); without pydot, a
        `graphviz.Digraph`.

    Raises:
        ImportError: Neither pydot nor graphviz is installed.
        ValueError: The model is not built.

    Example:
        >>> model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(2, name="head")])
        >>> "<b>head</b> (Dense)" in str(podium.utils.model_to_dot(model))
        True
    """
    if kwargs:
        raise ValueError(
            f"model_to_dot() was given {sorted(kwargs)}, which it does not have. Remove them; "
            "`layer_range` belonged to Keras 2."
        )
    if not model.built:
        raise ValueError(
            f"The model {model.name!r} is not built, so its layers are unknown. Call it on a batch "
            "of data first, or `model.build(input_shape)`."
        )
    shown = _Shown(
        show_layer_names, show_shapes, show_dtype, show_layer_activations, show_trainable
    )
    make_drawing = _import_drawing()
    attributes = {"rankdir": rankdir, "concentrate": "true", "dpi": str(dpi), "splines": splines}
    drawing = make_drawing(model.name, subgraph, {} if subgraph else attributes)
    _draw_model(drawing, model, shown, expand_nested)
    return drawing.graph


class _Shown(NamedTuple):
    names: bool
    shapes: bool
    dtype: bool
    activations: bool
    trainable: bool


class _PydotDrawing:
    """A graph made with pydot."""

    def __init__(self, name: str, is_cluster: bool, attributes: dict[str, str]):
        pydot = importlib.import_module("pydot")
        self._pydot = pydot
        self.graph: Any
        if is_cluster:
            self.graph = pydot.Cluster(graph_name=name, style="dashed", label=name, labeljust="l")
        else:
            self.graph = pydot.Dot(graph_type="digraph", **attributes)
            self.graph.set_node_defaults(shape="record")

    def add_node(self, key: str, label: str) -> None:
        """Add a box."""
        options: dict[str, Any] = {"label": label, "fontname": "Helvetica"}
        options |= {"border": "0", "margin": "0"}
        self.graph.add_node(self._pydot.Node(key, **options))

    def add_edge(self, start: str, end: str) -> None:
        """Connect two boxes, once."""
        if not self.graph.get_edge(start, end):
            self.graph.add_edge(self._pydot.Edge(start, end, penwidth="2"))

    def add_cluster(self, name: str, draw: Callable[[Any], None]) -> None:
        """Add a cluster, and draw into it."""
        cluster = _PydotDrawing(name, True, {})
        draw(cluster)
        self.graph.add_subgraph(cluster.graph)


class _GraphvizDrawing:
    """A graph made with the package graphviz."""

    def __init__(self, name: str, is_cluster: bool, attributes: dict[str, str]):
        graphviz = importlib.import_module("graphviz")
        self._edges: set[tuple[str, str]] = set()
        if is_cluster:
            options = {"style": "dashed", "label": name, "labeljust": "l"}
            self.graph = graphviz.Digraph(f"cluster_{name}", graph_attr=options)
        else:
            self.graph = graphviz.Digraph(graph_attr=attributes, node_attr={"shape": "record"})

    def add_node(self, key: str, label: str) -> None:
        """Add a box."""
        self.graph.node(key, label, fontname="Helvetica", border="0", margin="0")

    def add_edge(self, start: str, end: str) -> None:
        """Connect two boxes, once."""
        if (start, end) not in self._edges:
            self._edges.add((start, end))
            self.graph.edge(start, end, penwidth="2")

    def add_cluster(self, name: str, draw: Callable[[Any], None]) -> None:
        """Add a cluster, and draw into it."""
        cluster = _GraphvizDrawing(name, True, {})
        draw(cluster)
        self.graph.subgraph(cluster.graph)


def _import_drawing() -> type[_PydotDrawing] | type[_GraphvizDrawing]:
    """Return the class that draws with the package that is installed."""
    try:
        importlib.import_module("pydot")
    except ImportError:
        pass
    else:
        return _PydotDrawing
    try:
        importlib.import_module("graphviz")
    except ImportError as error:
        raise ImportError(
            "model_to_dot() needs pydot, or graphviz. Install them with `pip install pydot` or "
            "`pip install 'podium[plot]'`; `plot_model` draws with matplotlib alone."
        ) from error
    return _GraphvizDrawing


def _draw_model(drawing: Any, model: Any, shown: _Shown, expand: bool) -> None:
    graph = getattr(model, "_graph", None)
    if graph is None:
        drawing.add_node(_box_key(model), _box_label(model, None, shown))
        return
    hides_inputs = isinstance(model, Sequential)
    first_uses: dict[int, Node] = {}
    for node in graph.nodes:
        first_uses.setdefault(id(_box_of(node)), node)
    for step in graph.steps:
        if hides_inputs and isinstance(step, InputLayer):
            continue
        if expand and _has_graph(step):
            drawing.add_cluster(
                step.name, lambda cluster, step=step: _draw_model(cluster, step, shown, True)
            )
            continue
        drawing.add_node(_box_key(step), _box_label(step, first_uses.get(id(step)), shown))
    for node in graph.nodes:
        for position, symbol in enumerate(node.inputs):
            source: Layer | Node | None = _producer(symbol)
            target: Layer | Node | None = _box_of(node)
            if hides_inputs and isinstance(source, InputLayer):
                continue
            if expand:
                source, target = _end_of(source, symbol.index), _start_of(target, position)
            if source is not None and target is not None:
                drawing.add_edge(_box_key(source), _box_key(target))


def _has_graph(step: Any) -> bool:
    return getattr(step, "_graph", None) is not None


def _box_of(node: Node) -> Layer | Node:
    if node.layer is None:
        return node
    layer: Layer = node.layer
    return layer


def _producer(symbol: KerasTensor) -> Layer | Node | None:
    return None if symbol.node is None else _box_of(symbol.node)


def _end_of(step: Any, index: int) -> Layer | Node | None:
    """Return the layer inside of nested models that computes an output of `step`."""
    while _has_graph(step):
        symbol = step._graph.flat_outputs[index]
        step, index = _producer(symbol), symbol.index
    box: Layer | Node | None = step
    return box


def _start_of(step: Any, position: int) -> Layer | Node | None:
    """Return the layer inside of nested models that receives an input of `step`."""
    while _has_graph(step):
        graph = step._graph
        symbol = graph.flat_inputs[min(position, len(graph.flat_inputs) - 1)]
        if not isinstance(step, Sequential):
            return _producer(symbol)
        node = next(node for node in graph.nodes if any(leaf is symbol for leaf in node.inputs))
        step, position = _box_of(node), [leaf is symbol for leaf in node.inputs].index(True)
    box: Layer | Node = step
    return box


def _box_key(step: Any) -> str:
    return str(id(step))


def _box_label(step: Any, node: Node | None, shown: _Shown) -> str:
    """Return the label of a box: a table in Graphviz's subset of HTML."""
    kind = _box_kind(step)
    title = f"<b>{html.escape(step.name)}</b> ({kind})" if shown.names else f"<b>{kind}</b>"
    facts = _box_facts(step, node, shown)
    columns = max(1, len(facts))
    header = f'<tr><td colspan="{columns}" bgcolor="black">{_font(title, 16, "white")}</td></tr>'
    rows = [header]
    activation = getattr(step, "activation", None)
    if shown.activations and activation is not None:
        name = getattr(activation, "name", getattr(activation, "__name__", str(activation)))
        text = _font(f"Activation: <b>{html.escape(name)}</b>", 14)
        rows.append(f'<tr><td colspan="{columns}" bgcolor="white">{text}</td></tr>')
    if facts:
        cells = [f'<td bgcolor="{color}">{text}</td>' for color, text in facts]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    options = 'border="0" cellborder="1" bgcolor="black" cellpadding="10"'
    return f"<<table {options}>{''.join(rows)}</table>>"


def _box_kind(step: Any) -> str:
    if isinstance(step, Node):
        return "Operation"
    return "Functional" if type(step) is Model and _has_graph(step) else type(step).__name__


def _box_facts(step: Any, node: Node | None, shown: _Shown) -> list[tuple[str, str]]:
    """Return the cells of the last row, as background and text."""
    facts = []
    inputs, outputs = _specs(step, node)
    if shown.shapes:
        if not isinstance(step, InputLayer):
            facts.append(
                ("white", _font(f"Input shape: <b>{_format_symbols(inputs, 'shape')}</b>", 14))
            )
        facts.append(
            ("white", _font(f"Output shape: <b>{_format_symbols(outputs, 'shape')}</b>", 14))
        )
    if shown.dtype:
        facts.append(
            ("white", _font(f"Output dtype: <b>{_format_symbols(outputs, 'dtype')}</b>", 14))
        )
    if shown.trainable and getattr(step, "weights", None):
        color, word = (
            ("forestgreen", "Trainable") if step.trainable else ("firebrick", "Non-trainable")
        )
        facts.append((color, _font(f"<b>{word}</b>", 14, "white")))
    return facts


def _specs(step: Any, node: Node | None) -> tuple[Tree, Tree]:
    """Return the symbolic inputs and outputs, of the first use; None if they are unknown."""
    if node is not None:
        inputs = node.inputs[0] if len(node.inputs) == 1 else node.inputs
        return inputs, node.outputs
    return (None, step.output) if isinstance(step, InputLayer) else (None, None)


def _format_symbols(symbols: Tree, attribute: str) -> str:
    if symbols is None:
        return "?"
    values = map_structure(lambda symbol: _Text(str(getattr(symbol, attribute))), symbols)
    if isinstance(values, dict):
        return html.escape(", ".join(f"{name}: {value!r}" for name, value in values.items()))
    return html.escape(repr(values))


class _Text(str):
    """A string that shows itself without quotes inside of a list."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _font(text: str, size: int, color: str | None = None) -> str:
    chosen = "" if color is None else f' color="{color}"'
    return f'<font point-size="{size}"{chosen}>{text}</font>'
