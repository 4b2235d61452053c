"""check_adapter: the contract of every data adapter."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from podium._typing import Tree
from podium.core import convert_to_numpy, map_structure, tree_leaves
from podium.data import DataAdapter
from podium.testing._contract import Contract

_FOREIGN_SOURCES = (None, 3, "text", object())
_MAX_BATCHES = 10_000


def check_adapter(
    adapter: type[DataAdapter], make_source: Callable[[], Any], **options: Any
) -> None:
    """Check that a data adapter keeps the contract of adapters.

    Checked are: that `can_handle` accepts the source, rejects others, and reads nothing; that
    iterating yields batches whose number and sizes are as the adapter reports; that a second pass
    yields the same; and, if it is `seekable`, that a pass can start at any batch and that positions
    are JSON-compatible.

    Args:
        adapter: The class.
        make_source: Returns a new source with the same data at every call.
        **options: Further arguments of the adapter, such as `batch_size=`.

    Raises:
        ContractError: The adapter breaks the contract; the message states how.

    Example:
        >>> class Blocks(list):
        ...     pass
        >>> class BlocksAdapter(podium.data.DataAdapter):
        ...     kind = "blocks"
        ...     seekable = True
        ...     @staticmethod
        ...     def can_handle(x):
        ...         return isinstance(x, Blocks)
        ...     def iterate(self, epoch, start=0):
        ...         return iter(self.source[start:])
        ...     def get_size(self):
        ...         return len(self.source)
        >>> podium.testing.check_adapter(BlocksAdapter, lambda: Blocks([np.ones(2), np.zeros(2)]))
    """
    contract = Contract("check_adapter", adapter)
    contract.require(
        isinstance(adapter, type) and issubclass(adapter, DataAdapter),
        f"{adapter!r} is not a class of adapters.",
        "Pass a subclass of `podium.data.DataAdapter`.",
    )
    _check_can_handle(contract, adapter, make_source)

    def make() -> DataAdapter:
        return adapter(make_source(), **options)

    with contract.succeeds("making the adapter", "Take `steps=` and what its attributes promise."):
        instance = make()
    batches = _read(contract, instance)
    _check_counts(contract, instance, batches)
    if not instance.one_shot:
        contract.require_equal(
            _read(contract, make()),
            batches,
            "a second pass over the same data yields other batches.",
            "Draw the order from the epoch, not from a global generator.",
        )
    if instance.seekable:
        _check_seeking(contract, make, batches)
    with contract.succeeds("close()", "It must be possible to close an adapter that is idle."):
        instance.close()


def _check_can_handle(
    contract: Contract, adapter: type[DataAdapter], make_source: Callable[[], Any]
) -> None:
    fix = "Return True for the adapter's own kind of source only, and never raise."
    with contract.succeeds("can_handle(source)", fix):
        contract.require(
            adapter.can_handle(make_source()) is True,
            "can_handle(source) did not return True for the example source.",
            fix,
        )
    for foreign in _FOREIGN_SOURCES:
        with contract.succeeds(f"can_handle({foreign!r})", fix):
            contract.require(
                adapter.can_handle(foreign) is False,
                f"can_handle({foreign!r}) did not return False.",
                fix,
            )


def _read(contract: Contract, adapter: DataAdapter, start: Any = 0) -> list[Tree]:
    with contract.succeeds(
        f"iterate(0, start={start!r})",
        "Return batches: x, (x, y) or (x, y, weight).",
    ):
        return [
            map_structure(convert_to_numpy, _arrays_of(batch))
            for batch in itertools.islice(iter(adapter.iterate(0, start)), _MAX_BATCHES)
        ]


def _arrays_of(batch: Any) -> Tree:
    """Return the arrays of a batch; an adapter may yield the rows of a table by name."""
    return batch.batch() if hasattr(batch, "batch") else batch


def _check_counts(contract: Contract, adapter: DataAdapter, batches: list[Tree]) -> None:
    contract.require(len(batches) > 0, "there is no batch.", "Pass a source that is not empty.")
    size = adapter.get_size()
    contract.require(
        size is None or size == len(batches) or len(batches) == _MAX_BATCHES,
        f"get_size() returned {size}, and a pass has {len(batches)} batches.",
        "Return the number of batches in one pass, or None if it is not known.",
    )
    sizes = [len(tree_leaves(batch)[0]) for batch in batches]
    full = adapter.batch_size()
    contract.require(
        full is None or all(size == full for size in sizes[:-1]),
        f"batch_size() returned {full}, and batches have {sorted(set(sizes))} samples.",
        "Return the number of samples in a full batch, or None if it is not known.",
    )
    if adapter.has_partial_batch():
        contract.require(
            adapter.partial_batch_size() in (None, sizes[-1]),
            f"partial_batch_size() returned {adapter.partial_batch_size()}, and the last batch has "
            f"{sizes[-1]} samples.",
            "Return the number of samples in the last batch, or None if it is not known.",
        )


def _check_seeking(
    contract: Contract, make: Callable[[], DataAdapter], batches: list[Tree]
) -> None:
    fix = "`iterate(epoch, start)` skips the batches before `start`; or set `seekable = False`."
    for num_read in {0, len(batches) // 2, len(batches) - 1}:
        adapter = make()
        iterator = iter(adapter.iterate(0, 0))
        for _ in range(num_read):
            next(iterator)
        with contract.succeeds("position()", fix):
            position = json.loads(json.dumps(adapter.position(num_read)))
        contract.require_equal(
            _read(contract, make(), position),
            batches[num_read:],
            f"a pass started at {position!r}, after {num_read} batches, does not yield the rest.",
            fix,
        )
