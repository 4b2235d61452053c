"""The table that `Model.summary` prints: a row for each layer, and the totals."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from podium.callbacks.internal import write_stdout
from podium.core import (
    Variable,
    is_interactive_logging_enabled,
    tree_leaves,
    unknown_choice,
)
from podium.layers import Layer
from podium.models._graph import Graph

if TYPE_CHECKING:
    import rich.table

    from podium.models._model import Model

_BYTES_UNITS = ("B", "KB", "MB", "GB", "TB")


def print_summary(
    model: Model,
    line_length: int | None,
    print_fn: Callable[[str], None] | None,
    expand_nested: bool,
    show_trainable: bool,
    layer_range: Sequence[str] | None,
) -> None:
    """Print the layers of a model as a table, followed by totals; see `Model.summary`."""
    import rich.console  # imported here: it takes a tenth of the time of `import podium`
    import rich.table

    table = rich.table.Table(
        title=f'Model: "{model.name}"', title_justify="left", title_style="bold", show_lines=True
    )
    table.add_column("Layer (type)", style="bold")
    table.add_column("Output shape")
    table.add_column("Param #", justify="right")
    connected = model._graph is not None and not _is_chain(model._graph)
    if connected:
        table.add_column("Connected to")
    if show_trainable:
        table.add_column("Trainable", justify="center")
    for layer in _select_layers(model, layer_range):
        _add_row(table, model, layer, 0, expand_nested, show_trainable, connected)
    if print_fn is None and not is_interactive_logging_enabled():
        print_fn = write_stdout
    text = io.StringIO()
    width = line_length or (None if print_fn is None else 100)
    console = rich.console.Console(
        file=text if print_fn is not None else None, width=width, highlight=False
    )
    console.print(table)
    for line in _totals(model):
        console.print(line)
    if print_fn is not None:
        print_fn(text.getvalue())


def _select_layers(model: Model, layer_range: Sequence[str] | None) -> list[Layer]:
    layers = (
        model._graph_layers
        if model._graph is not None and not hasattr(model, "add")
        else model.layers
    )
    if layer_range is None:
        return layers
    names = [layer.name for layer in layers]
    for name in layer_range:
        if name not in names:
            raise unknown_choice("layer in layer_range", name, names)
    return layers[names.index(layer_range[0]) : names.index(layer_range[1]) + 1]


def _is_chain(graph: Graph) -> bool:
    nodes = graph.nodes
    return len(graph.flat_inputs) == 1 and all(
        len(node.inputs) == 1 and (index == 0 or node.inputs[0].node is nodes[index - 1])
        for index, node in enumerate(nodes)
    )


def _add_row(
    table: rich.table.Table,
    model: Model,
    layer: Layer,
    depth: int,
    expand: bool,
    trainable: bool,
    connected: bool,
) -> None:
    prefix = "  " * depth + ("└ " if depth else "")
    count = f"{_count_parameters(layer.weights):,}" if layer.built else "0 (unbuilt)"
    row = [f"{prefix}{layer.name} ({type(layer).__name__})", _output_shape(layer), count]
    if connected:
        row.append("" if depth else _connections(model._graph, layer))
    if trainable:
        row.append(
            "Y" if layer.trainable and layer.trainable_weights else "N" if layer.weights else "-"
        )
    table.add_row(*row)
    if expand and hasattr(layer, "layers"):
        for inner in layer.layers:
            _add_row(table, model, inner, depth + 1, expand, trainable, connected)


def _output_shape(layer: Layer) -> str:
    outputs = (
        layer._inbound_nodes[0].outputs if layer._inbound_nodes else getattr(layer, "outputs", None)
    )
    if outputs is not None:
        return (
            ", ".join(
                str(symbol.shape) for symbol in tree_leaves(outputs) if hasattr(symbol, "shape")
            )
            or "?"
        )
    if layer.built_shape is None:
        return "?"
    try:
        return str(layer.compute_output_shape(layer.built_shape))
    except (TypeError, ValueError, NotImplementedError):
        return "?"


def _connections(graph: Graph | None, layer: Layer) -> str:
    """Return the names of the layers whose outputs are inputs of this one."""
    sources: list[str] = []
    for node in graph.nodes if graph is not None else ():
        if node.layer is layer:
            sources.extend(
                symbol.node.name if symbol.node is not None else symbol.name
                for symbol in node.inputs
            )
    return ", ".join(dict.fromkeys(sources)) or "-"


def _count_parameters(weights: list[Variable]) -> int:
    return sum(int(np.prod(variable.shape)) for variable in weights)


def _totals(model: Model) -> list[str]:
    def line(label: str, weights: list[Variable]) -> str:
        size = sum(int(np.prod(weight.shape)) * weight._dtype.itemsize for weight in weights)
        return f" {label}: {_count_parameters(weights):,} ({_format_bytes(size)})"

    return [
        line("Total params", model.weights),
        line("Trainable params", model.trainable_weights),
        line("Non-trainable params", model.non_trainable_weights),
    ]


def _format_bytes(size: float) -> str:
    for unit in _BYTES_UNITS:
        if size < 1024 or unit == _BYTES_UNITS[-1]:
            return f"{size:.2f} {unit}"
        size /= 1024
    return ""
