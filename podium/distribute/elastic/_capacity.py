"""How many more workers fit on the nodes of a Ray cluster now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


def count_workers_that_fit(
    available: Mapping[str, Mapping[str, float]],
    resources: Mapping[str, float],
    one_per_node: bool = False,
    used_nodes: Collection[str] = (),
) -> int:
    """Return the number of workers for which nodes have resources left.

    Args:
        available: The resources that are not reserved, by the IDs of nodes.
        resources: What a worker needs.
        one_per_node: Whether a node takes one worker at most.
        used_nodes: The nodes that have a worker already.
    """
    total = 0
    for node, amounts in available.items():
        # Amounts are multiples of 1/10,000, in floating point.
        count = min(
            int(amounts.get(name, 0.0) / amount + 1e-6) for name, amount in resources.items()
        )
        if one_per_node:
            count = 0 if node in used_nodes else min(count, 1)
        total += count
    return total


def count_free_workers(
    ray: Any,
    resources: Mapping[str, float],
    one_per_node: bool = False,
    used_nodes: Collection[str] = (),
) -> int:
    """Return how many more workers fit on the cluster that `ray` is connected to."""
    return count_workers_that_fit(_available_resources(ray), resources, one_per_node, used_nodes)


def _available_resources(ray: Any) -> dict[str, dict[str, float]]:
    """Return the resources of each node that runs which are not reserved."""
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    return {
        node: dict(amounts)
        for node, amounts in ray._private.state.available_resources_per_node().items()
        if node in alive
    }
