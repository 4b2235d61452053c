"""ObjectGraph: the objects of a checkpoint, and the names under which they refer to one another.

It is stored in the checkpoint as one message, `TrackableObjectGraph`. Which objects of a model the
nodes are is decided by `_object_matching.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from podium.saving.io._errors import InvalidFileError
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.saving.tensorflow_files._wire_format import Message, encode_bytes, encode_int

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE_ATTRIBUTE = "VARIABLE_VALUE"


class SlotVariable(NamedTuple):
    """A slot of an optimizer: the nodes of the variable it belongs to and of the slot."""

    variable: int
    slot_name: str
    slot: int


class GraphNode(NamedTuple):
    """An object: its children by name, the keys of its tensors by attribute, names of the
    variables they are from, and the slots of an optimizer.
    """

    children: dict[str, int]
    keys: dict[str, str]
    full_names: dict[str, str]
    slots: list[SlotVariable]

    @property
    def value_key(self) -> str | None:
        """The key of the value of a variable; None for other objects."""
        return self.keys.get(VALUE_ATTRIBUTE)


def empty_node() -> GraphNode:
    """Return a node that refers to nothing."""
    return GraphNode({}, {}, {}, [])


ObjectGraph = list[GraphNode]  # the first is the root


def read_object_graph(bundle: TensorBundle) -> ObjectGraph | None:
    """Return the objects of a checkpoint, or None if it has names of variables only.

    Raises:
        InvalidFileError: It is damaged.
    """
    if GRAPH_KEY not in bundle.tensors:
        return None
    content = bundle.read_strings(GRAPH_KEY)
    if len(content) != 1:
        raise InvalidFileError("is damaged: its graph of objects is not one string.")
    nodes = parse_object_graph(content[0])
    for node in nodes:
        for key in node.keys.values():
            if key not in bundle.tensors:
                raise InvalidFileError(
                    f"is damaged: its graph of objects has the tensor {key[:200]!r}, and its index "
                    "does not."
                )
    return nodes


def parse_object_graph(content: bytes) -> ObjectGraph:
    """Return the objects of a serialized graph, or raise `InvalidFileError`."""
    shown = "its graph of objects"
    nodes = [_parse_node(node, shown) for node in Message(content, shown).get_messages(1, shown)]
    referenced = [child for node in nodes for child in node.children.values()]
    referenced += [index for node in nodes for slot in node.slots for index in slot[::2]]
    if not nodes or any(not 0 <= index < len(nodes) for index in referenced):
        raise InvalidFileError("is damaged: its graph of objects refers to an absent node.")
    return nodes


def _parse_node(node: Message, shown: str) -> GraphNode:
    children = {ref.get_text(2): ref.get_signed(1) for ref in node.get_messages(1, shown)}
    attributes = node.get_messages(2, shown)
    slots = [
        SlotVariable(slot.get_signed(1), slot.get_text(2), slot.get_signed(3))
        for slot in node.get_messages(3, shown)
    ]
    return GraphNode(
        children,
        {attribute.get_text(1): attribute.get_text(3) for attribute in attributes},
        {attribute.get_text(1): attribute.get_text(2) for attribute in attributes},
        slots,
    )


def encode_object_graph(nodes: ObjectGraph) -> bytes:
    """Return the serialized form of a graph."""
    has_values = _find_nodes_with_values(nodes)
    return b"".join(
        encode_bytes(1, _encode_node(node, index in has_values)) for index, node in enumerate(nodes)
    )


def _encode_node(node: GraphNode, has_values: bool) -> bytes:
    fields = [
        encode_bytes(1, encode_int(1, index) + encode_bytes(2, name))
        for name, index in node.children.items()
    ]
    fields += [
        encode_bytes(
            2, encode_bytes(1, name) + encode_bytes(2, node.full_names[name]) + encode_bytes(3, key)
        )
        for name, key in node.keys.items()
    ]
    fields += [
        encode_bytes(
            3,
            encode_int(1, slot.variable)
            + encode_bytes(2, slot.slot_name)
            + encode_int(3, slot.slot),
        )
        for slot in node.slots
    ]
    return b"".join(fields) + encode_bytes(5, encode_int(1, int(has_values)))


def _find_nodes_with_values(nodes: ObjectGraph) -> set[int]:
    """Return the nodes that have tensors, or from which a node that has them can be reached."""
    parents: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        for child in [*node.children.values(), *(slot.slot for slot in node.slots)]:
            parents.setdefault(child, []).append(index)
    pending = [index for index, node in enumerate(nodes) if node.keys]
    has_values = set(pending)
    while pending:
        for parent in parents.get(pending.pop(), ()):
            if parent not in has_values:
                has_values.add(parent)
                pending.append(parent)
    return has_values
