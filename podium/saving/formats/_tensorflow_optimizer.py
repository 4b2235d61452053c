"""The state of optimizers in TensorFlow's checkpoints: those of tf_keras, and its older ones.

tf_keras lists all Variables of an optimizer in `_variables`, and names a slot after the trained
variable: `Adam/m/dense/kernel`. Older optimizers have slots that refer to the trained variable.
Optimizers whose state tf_keras has in another form are neither written nor restored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podium.core import Variable
from podium.optimizers import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Lion,
    Optimizer,
    RMSprop,
)
from podium.saving.tensorflow_files._object_graph import GraphNode, ObjectGraph


class _SlotName(NamedTuple):
    current: str
    older: str


_ADAM = {
    "momentum": _SlotName("m", "m"),
    "velocity": _SlotName("v", "v"),
    "velocity_hat": _SlotName("vhat", "vhat"),
}
_SLOT_NAMES: dict[type[Optimizer], dict[str, _SlotName]] = {
    SGD: {"momentum": _SlotName("m", "momentum")},
    Adam: _ADAM,
    AdamW: _ADAM,
    Adamax: {"momentum": _SlotName("m", "m"), "norm": _SlotName("u", "v")},
    RMSprop: {
        "velocity": _SlotName("velocity", "rms"),
        "momentum": _SlotName("momentum", "momentum"),
        "average_gradient": _SlotName("average_gradient", "mg"),
    },
    Adagrad: {"accumulator": _SlotName("accumulator", "accumulator")},
    Adadelta: {
        "accumulated_grad": _SlotName("accumulated_grad", "accum_grad"),
        "accumulated_delta_var": _SlotName("accumulated_delta_var", "accum_var"),
    },
    Ftrl: {
        "accumulator": _SlotName("accumulator", "accumulator"),
        "linear": _SlotName("linear", "linear"),
    },
    Lion: {"momentum": _SlotName("m", "m")},
}
_AVERAGE = {"average": _SlotName("average", "average")}


class StoredState(NamedTuple):
    """The Variables of an optimizer and their nodes; or why they cannot be restored."""

    pairs: list[tuple[Variable, int]]
    problem: str | None


def is_optimizer_node(node: GraphNode) -> bool:
    """Return whether an object of a checkpoint is an optimizer."""
    return {"_variables", "_iterations"} <= node.children.keys() or "iter" in node.children


def can_write_state(optimizer: Optimizer | None) -> bool:
    """Return whether tf_keras has names for the state of an optimizer, or there is none."""
    return optimizer is None or _slot_names(optimizer) is not None


def state_to_write(optimizer: Optimizer, weights: Sequence[Variable]) -> dict[str, object]:
    """Return the Variables of an optimizer by tf_keras's names; nothing for other optimizers.

    Args:
        optimizer: The optimizer.
        weights: The weights, in the order in which tf_keras trains them.
    """
    if _slot_names(optimizer) is None:
        return {}
    order = {id(weight): position for position, weight in enumerate(weights)}
    trained = sorted(optimizer._slots, key=lambda item: order.get(id(item[0]), len(order)))
    slots = [
        owned[name]
        for group in optimizer._all_slot_groups()
        for _, owned in trained
        for name in group
        if name in owned
    ]
    variables = [optimizer._iterations, *slots]
    rate = optimizer._learning_rate
    named: dict[str, object] = {"_variables": variables, "_iterations": optimizer._iterations}
    return named | ({"_learning_rate": rate} if isinstance(rate, Variable) else {})


def full_names(optimizer: Optimizer, names: Mapping[int, str]) -> dict[int, str]:
    """Return the names of the Variables of an optimizer, by id.

    Args:
        optimizer: The optimizer.
        names: The names of the trained variables, by id.
    """
    slot_names = _slot_names(optimizer) or {}
    result = {id(optimizer._iterations): "iteration", id(optimizer._learning_rate): "learning_rate"}
    for variable, slots in optimizer._slots:
        for name, slot in slots.items():
            kind, trained = slot_names[name].current, names.get(id(variable), variable.path)
            result[id(slot)] = f"{type(optimizer).__name__}/{kind}/{trained}"
    return result


def match_optimizer(
    optimizer: Optimizer, node: GraphNode, nodes: ObjectGraph, trained: Mapping[int, int]
) -> StoredState:
    """Find the nodes of an optimizer's state.

    Args:
        optimizer: An optimizer that is built.
        node: Its node.
        nodes: The objects of the checkpoint.
        trained: The nodes of the model's weights, by the ids of the Variables, in the order in
            which tf_keras trains them.
    """
    slot_names = _slot_names(optimizer)
    if slot_names is None:
        return StoredState([], f"{type(optimizer).__name__} with these options has another state")
    children = node.children
    counter = children.get("_iterations", children.get("iter"))
    rate = children.get("_learning_rate", children.get("learning_rate"))
    pairs = [] if counter is None else [(optimizer._iterations, counter)]
    if isinstance(optimizer._learning_rate, Variable) and rate is not None:
        pairs.append((optimizer._learning_rate, rate))
    stored = _stored_slots(node, nodes, trained)
    if not stored:  # saved before the first step
        return StoredState(pairs, None)
    for variable, slots in optimizer._slots:
        for name, slot in slots.items():
            target = trained.get(id(variable), -1)
            kinds = (slot_names[name].current, slot_names[name].older)
            found = [stored[key] for key in ((kind, target) for kind in kinds) if key in stored]
            if not found:
                return StoredState([], f"the checkpoint has no slot {name!r} of {variable.path!r}")
            pairs.append((slot, found[0]))
    return StoredState(pairs, None)


def _stored_slots(
    node: GraphNode, nodes: ObjectGraph, trained: Mapping[int, int]
) -> dict[tuple[str, int], int]:
    """Return the nodes of slots by the name of the slot and the node of the trained variable."""
    stored = {(slot.slot_name, slot.variable): slot.slot for slot in node.slots}
    by_name: dict[str, list[int]] = {}
    for index in trained.values():
        for name in nodes[index].full_names.values():
            by_name.setdefault(name, []).append(index)
    listed = node.children.get("_variables")
    items = {} if listed is None else nodes[listed].children
    taken: dict[tuple[str, str], int] = {}
    for index in (items[key] for key in sorted(items, key=_position)):
        for full_name in nodes[index].full_names.values():
            _, _, rest = full_name.partition("/")
            kind, _, name = rest.partition("/")
            # Variables of one name have their slots in the order in which they are trained.
            count = taken[kind, name] = taken.get((kind, name), -1) + 1
            if count < len(by_name.get(name, ())):
                stored[kind, by_name[name][count]] = index
    return stored


def _position(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdecimal() and len(key) < 10 else (1 << 40, key)


def _slot_names(optimizer: Optimizer) -> dict[str, _SlotName] | None:
    """Return tf_keras's names of the slots, or None if it has other ones."""
    names = _SLOT_NAMES.get(type(optimizer))
    if names is None:
        return None
    names = names | _AVERAGE
    has_others = any(name not in names for _, slots in optimizer._slots for name in slots)
    return None if has_others else names
