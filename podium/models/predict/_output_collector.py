"""OutputCollector: concatenates the outputs of `predict` to one array for each output.

Rows are copied once, to their final position: see `_output_rows.py`. How the outputs of fused steps
are split into batches is here too.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.experimental import sparse
from numpy.typing import NDArray

from podium._typing import Shape, Tree
from podium.core import Tensor, convert_to_tensor, warn_user
from podium.core.internal import available_memory, preserve_key_order
from podium.data import DataHandler
from podium.execution import StepValues
from podium.models.predict._output_rows import NewRows, OutRows
from podium.models.predict._sparse_rows import SparseRows, is_sparse, sparse_batches
from podium.telemetry.internal import DeviceWait

# Results that stay on the device, so that the next execution is not delayed by copying them.
_MAX_STEPS_IN_FLIGHT = 4  # of single steps
_MAX_STACKS_IN_FLIGHT = 1  # of executions of fused steps
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class OutputCollector:
    """The outputs of a run, in any structure.

    Args:
        data: Determines the number of samples, if it is known.
        out: What to fill, in the structure of the outputs; new arrays by default.
    """

    def __init__(self, data: DataHandler | None = None, out: Tree = None):
        self._data = data
        self._out = out
        self._structure: Any = None
        self._rows: list[NewRows | OutRows | SparseRows] = []  # for each output
        self._pending: deque[Any] = deque()  # values of executions that are not copied yet

    def allocate(self, outputs: Tree) -> None:
        """Allocate memory for all outputs, from the shapes and dtypes of those of the first batch.

        Raises:
            ValueError: `out` does not match them.
        """
        leaves, self._structure = _flatten_outputs(outputs)
        if any(is_sparse(leaf) for leaf in leaves):
            self._allocate_with_sparse(leaves)
            return
        counts = [self._expected_rows(leaf.shape) for leaf in leaves]
        specs = [(tuple(leaf.shape[1:]), np.dtype(leaf.dtype)) for leaf in leaves]
        if self._out is None:
            _warn_if_too_large(
                sum(
                    (count or 0) * math.prod(row_shape) * dtype.itemsize
                    for (row_shape, dtype), (count, _) in zip(specs, counts, strict=True)
                )
            )
            self._rows = [NewRows(*spec, *count) for spec, count in zip(specs, counts, strict=True)]
        else:
            self._rows = [
                OutRows(out, *spec, count if exact else None)
                for out, spec, (count, exact) in zip(self._flat_out(), specs, counts, strict=True)
            ]

    def _allocate_with_sparse(self, leaves: list[Any]) -> None:
        """Create the rows of outputs of which some are sparse; their size is not known before."""
        if self._out is not None:
            raise TypeError(
                "`out` was given, and an output is sparse, which cannot be written into an array. "
                "Omit `out`, or let `predict_step` return a dense output: `x.todense()`."
            )
        self._rows = [
            SparseRows(tuple(leaf.shape[1:]))
            if is_sparse(leaf)
            else NewRows(tuple(leaf.shape[1:]), leaf.dtype, *self._expected_rows(leaf.shape))
            for leaf in leaves
        ]

    def add(self, values: Any) -> None:
        """Add the outputs of an execution. They are copied after some more have been started."""
        if self._structure is None:
            outputs = values.each()[0] if isinstance(values, StepValues) else values
            self.allocate(jax.tree.map(np.asarray, preserve_key_order(outputs), is_leaf=_is_tensor))
        self._pending.append(values)
        is_stack = isinstance(values, StepValues) and values.count > 1
        max_in_flight = _MAX_STACKS_IN_FLIGHT if is_stack else _MAX_STEPS_IN_FLIGHT
        while len(self._pending) > max_in_flight:
            self._copy_oldest()

    def result(self) -> Tree:
        """Return all rows in the structure of the outputs of one batch."""
        while self._pending:
            self._copy_oldest()
        arrays = [rows.result() for rows in self._rows]
        return jax.tree.unflatten(self._structure, arrays) if self._out is None else self._out

    @property
    def num_bytes(self) -> int:
        """The size of the rows that were added so far."""
        return sum(rows.num_bytes for rows in self._rows)

    def _copy_oldest(self) -> None:
        """Copy the oldest pending outputs to their rows; the host waits for them here."""
        for outputs, num_steps in _blocks(self._pending.popleft()):
            leaves, structure = _flatten_outputs(outputs)
            with DeviceWait():
                jax.block_until_ready([leaf for leaf in leaves if isinstance(leaf, jax.Array)])
            if structure != self._structure:
                raise ValueError(
                    f"`predict_step` returned {structure} after {self._structure}. It must return "
                    "the same structure for every batch, so that the batches can be put together."
                )
            for rows, leaf in zip(self._rows, leaves, strict=True):
                if isinstance(rows, SparseRows):
                    for batch in sparse_batches(leaf, num_steps):
                        rows.add(batch)
                else:
                    rows.add(_to_rows(leaf, num_steps))

    def _expected_rows(self, shape: Shape) -> tuple[int | None, bool]:
        """Return how many rows an output will have, if that can be estimated, and whether the
        number is exact.
        """
        data = self._data
        if data is None:
            return None, False
        num_samples, batch_size = data.samples, data.adapter.batch_size()
        if num_samples is not None and batch_size is not None:
            size_of_first = min(num_samples, batch_size)
            if shape[:1] == (size_of_first,):
                return num_samples, True
        steps = data.inferred_steps
        return (None if steps is None else steps * (shape[0] if shape else 1)), False

    def _flat_out(self) -> list[Any]:
        """Return what is to be filled, in the order of the outputs."""
        try:
            flat: list[Any] = self._structure.flatten_up_to(preserve_key_order(self._out))
        except (ValueError, TypeError):
            structure = jax.tree.structure(preserve_key_order(self._out))
            raise ValueError(
                f"`out` is {structure}, and the outputs are {self._structure}. Pass `out` in the "
                "structure of the outputs."
            ) from None
        return flat


def concatenate_outputs(values: Any) -> Tree:
    """Return the outputs of one execution, those of fused steps concatenated."""
    blocks = _blocks(values)
    if len(blocks) == 1 and blocks[0][1] is None:
        return blocks[0][0]
    collector = OutputCollector()
    collector.add(values)
    return collector.result()


def concatenate_tensors(values: Any) -> Tree:
    """Return the outputs of one execution as Tensors, for callers of a `predict_function`."""

    def to_tensor(leaf: Any) -> Any:
        return convert_to_tensor(leaf) if isinstance(leaf, (jax.Array, np.ndarray)) else leaf

    outputs = preserve_key_order(concatenate_outputs(values))
    return jax.tree.map(to_tensor, outputs, is_leaf=_is_sparse_array)


def split_batches(values: Any) -> Iterator[Tree]:
    """Yield the outputs of an execution batch by batch, as new NumPy arrays."""
    for outputs, num_steps in _blocks(values):
        leaves, structure = _flatten_outputs(outputs)
        columns = [
            sparse_batches(leaf, num_steps)
            if is_sparse(leaf)
            else _dense_batches(np.asarray(leaf), num_steps)
            for leaf in leaves
        ]
        for row in zip(*columns, strict=True):
            yield jax.tree.unflatten(structure, row)


def _dense_batches(array: NDArray[Any], num_steps: int | None) -> list[NDArray[Any]]:
    """Return copies of the batches that an array holds: one, or those of fused steps."""
    if num_steps is None:
        return [np.array(array)]
    return [np.array(array[step]) for step in range(num_steps)]


def number_to_tensor(leaf: object) -> object:
    """Return a number or array that `predict_step` returns as a Tensor, and other leaves as they
    are.
    """
    if isinstance(leaf, (bool, int, float, np.generic, np.ndarray)):
        return convert_to_tensor(leaf)
    return leaf


def _blocks(values: Any) -> list[tuple[Tree, int | None]]:
    return values.blocks() if isinstance(values, StepValues) else [(values, None)]


def _to_rows(leaf: Any, num_steps: int | None) -> NDArray[Any]:
    """Return the rows of one batch, or of the stacked batches of fused steps; a scalar is one row.

    On CPU nothing is copied.
    """
    array = np.asarray(leaf)
    if num_steps is None:
        return array[None] if array.ndim == 0 else array
    array = array[:num_steps]
    if array.ndim == 1:
        return array
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])


def _flatten_outputs(outputs: Tree) -> tuple[list[Any], Any]:
    return jax.tree.flatten(preserve_key_order(outputs), is_leaf=_is_output)


def _is_sparse_array(leaf: object) -> bool:
    return isinstance(leaf, sparse.JAXSparse)


def _is_tensor(leaf: object) -> bool:
    return isinstance(leaf, Tensor)


def _is_output(leaf: object) -> bool:
    return isinstance(leaf, Tensor) or is_sparse(leaf)


def _warn_if_too_large(num_bytes: int) -> None:
    """Warn of outputs of this size if less memory is available."""
    available = available_memory()
    if available is not None and num_bytes > available:
        warn_user(
            f"The outputs of `predict` will take {_format_bytes(num_bytes)}, and "
            f"{_format_bytes(available)} of memory are available. Process them batch by batch, "
            "`for outputs in model.predict_iter(x)`, or have them written to a file as they are "
            "computed, `model.predict(x, out=np.memmap(...))`."
        )


def _format_bytes(num_bytes: int) -> str:
    """Return a number of bytes with a readable unit."""
    power = min(len(_UNITS) - 1, max(0, num_bytes.bit_length() - 1) // 10)
    return f"{num_bytes / 1024**power:.{min(power, 1)}f} {_UNITS[power]}"
