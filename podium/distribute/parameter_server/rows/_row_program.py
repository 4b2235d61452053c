"""RowProgram: a program that takes rows of tables instead of the tables.

The ids of the rows are computed from the arguments of the step by a program of their own, before
the rows are known. Which tables can be moved by rows is decided in `_row_analysis.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.extend.core import JaxprEqn, Literal, Var

from podium.distribute.parameter_server.rows import _row_rules
from podium.distribute.parameter_server.rows._flat_program import (
    Atom,
    Environment,
    FlatProgram,
    bind,
    evaluate,
    read_atom,
)
from podium.distribute.parameter_server.rows._row_analysis import (
    RowSet,
    Tables,
    find_tables,
)


class RowProgram:
    """A step of which some Variables are moved by rows.

    Args:
        program: The step: a pure function of written Variables, read Variables and arrays.
        num_written: How many Variables it writes.
        num_variables: How many Variables it uses.
        seeds: Which of them are states of seed generators.
        lazy: Whether rows that are not looked up stay as they are, whatever the step computes.
    """

    def __init__(
        self,
        program: FlatProgram,
        num_written: int,
        num_variables: int,
        seeds: Collection[int],
        lazy: bool,
    ):
        self._program = program
        self._num_written, self._num_variables = num_written, num_variables
        self._tables = find_tables(program, num_written, num_variables, seeds, lazy)

    @property
    def row_sets(self) -> list[RowSet]:
        """The sets of Variables that are moved by rows; their lookups, and the size of a set."""
        return self._tables.row_sets

    @property
    def whole(self) -> dict[int, str]:
        """Why Variables that are looked up by ids are moved as a whole, by their index."""
        return self._tables.whole

    def row_set_of(self, index: int) -> int | None:
        """Return the number of the set of a Variable that is moved by rows."""
        row_set = self._tables.row_set_of.get(self._program.inputs[index])
        return None if row_set is None else self.row_sets.index(row_set)

    def find_ids(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the ids that a step looks up, of each set; some may be outside of the table."""
        arguments = self._program.inputs[self._num_variables :]
        environment = self._program.constants | dict(zip(arguments, arrays, strict=True))
        indices = [lookup.indices for each in self.row_sets for lookup in each.lookups]
        equations, _ = self._program.equations_for(indices)
        for equation in equations:
            evaluate(environment, equation)
        return [
            jnp.concatenate(
                [
                    lookup.ids(read_atom(environment, lookup.indices), each.num_rows).ravel()
                    for lookup in each.lookups
                ]
            )
            for each in self.row_sets
        ]

    def run(
        self,
        written: Sequence[Array],
        read: Sequence[Array],
        arrays: Sequence[Array],
        ids: Sequence[Array],
    ) -> tuple[list[Array], list[Array]]:
        """Run the step.

        Args:
            written: The values of the Variables that it writes; of those in a set, rows.
            read: The values of the Variables that it only reads.
            arrays: The arrays of the call.
            ids: The ids of the rows of each set, sorted; those that are not used have the number
                of rows.

        Returns:
            The values written, and the arrays of the result.
        """
        evaluation = _Evaluation(self._program, self._tables, ids)
        results = evaluation.run([*written, *read, *arrays])
        return results[: self._num_written], results[self._num_written :]


class _Evaluation:
    """Evaluates a program with rows in place of tables.

    Args:
        program: The program.
        tables: Which of its values have rows.
        ids: The ids of the rows of each set.
    """

    def __init__(self, program: FlatProgram, tables: Tables, ids: Sequence[Array]):
        self._program = program
        self._tables = tables
        self._row_set_of = tables.row_set_of
        self._values: Environment = dict(program.constants)
        self._single: Environment = {}  # one row of values whose rows are all equal
        self._ids = {id(each): array for each, array in zip(tables.row_sets, ids, strict=True)}

    def run(self, inputs: Sequence[Array]) -> list[Any]:
        """Return the results of the program."""
        self._values.update(zip(self._program.inputs, inputs, strict=True))
        for equation in self._program.equations:
            self._evaluate(equation)
        return [read_atom(self._values, atom) for atom in self._program.outputs]

    def _evaluate(self, equation: JaxprEqn) -> None:
        tables = [a for a in equation.invars if isinstance(a, Var) and a in self._row_set_of]
        results = equation.outvars
        has_rows = bool(results) and results[0] in self._row_set_of
        if not tables and not has_rows:
            evaluate(self._values, equation)  # XLA removes what nothing uses
            if results and results[0] in self._tables.repeated:
                inputs = [self._first_row(atom) for atom in equation.invars]
                params = _row_rules.params_for(equation, 1)
                self._single[results[0]] = bind(equation, inputs, **params)[0]
            return
        row_set = self._row_set_of[tables[0] if tables else results[0]]
        if _row_rules.find_lookup(equation) is not None:
            outputs = self._look_up(equation, row_set)
        elif has_rows:
            ids = self._ids[id(row_set)]
            inputs = [self._rows(atom, ids) for atom in equation.invars]
            outputs = bind(equation, inputs, **_row_rules.params_for(equation, len(ids)))
        else:
            outputs = [self._reduce(equation, row_set)]
        self._values.update(zip(results, outputs, strict=True))

    def _look_up(self, equation: JaxprEqn, row_set: RowSet) -> list[Any]:
        """Read or change rows by their positions among those that were pulled."""
        lookup = _row_rules.find_lookup(equation)
        assert lookup is not None
        known = self._ids[id(row_set)]
        indices = read_atom(self._values, lookup.indices)
        ids = lookup.ids(indices, row_set.num_rows)
        is_inside = (ids >= 0) & (ids < row_set.num_rows)
        positions = jnp.where(is_inside, jnp.searchsorted(known, ids), len(known))
        indices = indices.at[..., lookup.component].set(positions.astype(indices.dtype))
        inputs = [read_atom(self._values, atom) for atom in equation.invars]
        inputs[:2] = [self._rows(equation.invars[0], known), indices]
        return bind(equation, inputs, indices_are_sorted=False, unique_indices=False)

    def _reduce(self, equation: JaxprEqn, row_set: RowSet) -> Any:
        """Reduce over rows: those that were pulled, and one that stands for all others."""
        atom = equation.invars[0]
        assert isinstance(atom, Var)
        rows, ids = self._values[atom], self._ids[id(row_set)]
        other = jnp.full((1, *rows.shape[1:]), self._tables.constants[atom], rows.dtype)
        is_used = (ids < row_set.num_rows).reshape(-1, *[1] * (rows.ndim - 1))
        return bind(equation, [jnp.concatenate([jnp.where(is_used, rows, other), other])])[0]

    def _rows(self, atom: Atom, ids: Array) -> Any:
        """Return what an equation takes for a value of which it needs some rows."""
        value = read_atom(self._values, atom)
        if isinstance(atom, Literal) or atom in self._row_set_of or not jnp.shape(value):
            return value
        if atom in self._single:
            single = self._single[atom]
            return jnp.broadcast_to(single, (len(ids), *single.shape[1:]))
        return jnp.take(value, ids, axis=0, mode="clip")

    def _first_row(self, atom: Atom) -> Any:
        """Return one row of a value whose rows are all equal, or a value without rows."""
        if isinstance(atom, Var) and atom in self._single:
            return self._single[atom]
        return read_atom(self._values, atom)
