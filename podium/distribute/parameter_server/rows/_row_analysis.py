"""find_tables: which Variables a program reads and changes in a few rows only.

Invariant: a program that takes only the rows that it looks up computes what the whole program
computes, for finite values. Why it holds: a table is accepted only if the program uses it row by
row, and if the formula of the rows that are not looked up (`_other_rows.py`) proves that they stay
as they are; whatever is not understood makes the table be moved as a whole. With `lazy`, other rows
are kept even if the program would change them. Guarded by
tests/distribute/parameter_server/test_rows.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from jax.extend.core import JaxprEqn, Literal, Var

from podium.distribute.parameter_server.rows import _row_rules
from podium.distribute.parameter_server.rows._flat_program import Atom, FlatProgram
from podium.distribute.parameter_server.rows._other_rows import OtherRows
from podium.distribute.parameter_server.rows._row_rules import Lookup

_CHANGES_ALL = (
    "the step may change rows that no batch looks up, as weight decay and the slots of most "
    "optimizers (Adam, momentum) do"
)


@dataclasses.dataclass
class RowSet:
    """Variables whose rows are looked up by the same ids, such as a table and its slots.

    Attributes:
        num_rows: The number of rows.
        inputs: The arguments of the program that they are.
        lookups: Where the program looks up rows.
    """

    num_rows: int
    inputs: list[Var]
    lookups: list[Lookup]

    @property
    def capacity(self) -> int:
        """The number of different rows that a call looks up at most."""
        return sum(lookup.num_ids for lookup in self.lookups)


class Tables(NamedTuple):
    """What `find_tables` has found.

    Attributes:
        row_sets: The sets of Variables that are moved by rows.
        row_set_of: The set that each of these values of the program has rows of.
        repeated: Values whose rows are all equal.
        constants: What values have in all rows that are not looked up, where that is a number.
        whole: Other Variables that are looked up by ids, and why they are moved as a whole: for
            each reason the index of the first of them.
    """

    row_sets: list[RowSet]
    row_set_of: dict[Var, RowSet]
    repeated: set[Var]
    constants: dict[Var, Any]
    whole: dict[int, str]


def find_tables(
    program: FlatProgram, num_written: int, num_variables: int, seeds: Collection[int], lazy: bool
) -> Tables:
    """Find the Variables that a program uses by rows.

    Args:
        program: The program. Its first arguments are Variables, and its first results their new
            values.
        num_written: How many Variables it writes; they come first.
        num_variables: How many Variables it uses.
        seeds: Which of them are states of seed generators.
        lazy: Whether rows that are not looked up stay as they are although the program changes
            them.
    """
    inputs = program.inputs
    candidates = [var for i, var in enumerate(inputs[:num_variables]) if i not in seeds]
    written = dict(zip(inputs[:num_written], program.outputs, strict=False))
    excluded: dict[Var, str] = {}
    whole: dict[int, str] = {}
    while True:
        analysis = _Analysis(program, candidates, excluded.keys())
        try:
            analysis.run()
            analysis.check_results(written, program.outputs[num_written:], lazy)
            analysis.check_lookups(set(inputs[num_variables:]))
        except _NotByRowsError as error:
            excluded |= dict.fromkeys(error.values, error.reason)
            indices = [index for index, var in enumerate(inputs) if var in error.values]
            if error.reason and indices:
                whole[indices[0]] = error.reason
            continue
        return analysis.tables(whole)


class _NotByRowsError(Exception):
    """Values are used as a whole; the analysis starts again without their rows.

    Args:
        values: The values that sets of rows start from.
        reason: Why; empty if no user has to know.
    """

    def __init__(self, values: Collection[Var], reason: str):
        super().__init__(reason)
        self.values, self.reason = set(values), reason


class _Analysis:
    """One pass over the equations.

    Args:
        program: The program.
        variables: The arguments that are Variables.
        excluded: Values that are used as a whole.
    """

    def __init__(self, program: FlatProgram, variables: Sequence[Var], excluded: Collection[Var]):
        self._program = program
        self._excluded = excluded
        self._formulas = OtherRows()
        self._sizes = {_shape(e.invars[0])[0] for e in program.equations if _saves_half(e)}
        self._parents: dict[Var, Var] = {}  # of the values that sets of rows start from
        self._lookups: dict[Var, list[Lookup]] = {}  # by those values
        self._rows: dict[Var, tuple[Var, int]] = {}  # where a value's rows come from; their formula
        self._computed: dict[Atom, object] = {}  # keys of values that indices are computed from
        self._repeated: dict[Var, int] = {}  # formulas of values whose rows are all equal
        self._tables = [
            var
            for var in variables
            if var not in excluded and _shape(var)[:1] and _shape(var)[0] in self._sizes
        ]
        for var in self._tables:
            self._start(var, self._formulas.symbol("variable", var))

    def run(self) -> None:
        """Find out which values have the rows of tables."""
        for equation in self._program.equations:
            self._visit(equation)

    def _visit(self, equation: JaxprEqn) -> None:
        inputs = [a for a in equation.invars if isinstance(a, Var) and a in self._rows]
        first = equation.invars[0] if equation.invars else None
        if self._is_lookup(equation, inputs):
            return
        if not inputs:
            if self._size_of(equation) in self._sizes:
                self._visit_repeated(equation)
            return
        if _row_rules.is_elementwise(equation) or (
            inputs == [first] and _row_rules.keeps_rows(equation)
        ):
            formulas = list(map(self._formula, equation.invars))
            root = inputs[0]
            for other in inputs[1:]:
                self._join(root, other)
            source, _ = self._rows[root]
            formula = self._formulas.apply(equation, formulas)
            self._rows.update(dict.fromkeys(equation.outvars, (source, formula)))
            return
        constant = self._formulas.value_of(self._rows[inputs[0]][1])
        if not (inputs == [first] and _row_rules.reduces_rows(equation, constant)):
            self._exclude(inputs, f"the step uses all of it, in `{equation.primitive.name}`")

    def _is_lookup(self, equation: JaxprEqn, inputs: Sequence[Var]) -> bool:
        """Visit an equation that looks up rows; return whether it is one."""
        lookup = _row_rules.find_lookup(equation)
        operand = equation.invars[0] if lookup is not None else None
        if lookup is None or not isinstance(operand, Var):
            return False
        is_table = list(inputs) == [operand]
        if equation.primitive.name == "gather":
            if is_table:
                self._add_lookup(operand, lookup)
            return is_table
        result = equation.outvars[0]
        if not is_table and (inputs or operand not in self._repeated or result in self._excluded):
            return False
        if is_table:
            self._rows[result] = self._rows[operand]
        else:  # such as the gradient of a table: zeros, of which some rows are changed
            self._start(result, self._repeated[operand])
        self._add_lookup(result, lookup)
        return True

    def _visit_repeated(self, equation: JaxprEqn) -> None:
        """Visit an equation whose inputs have no rows of a table."""
        arrays = [a for a in equation.invars if isinstance(a, Var) and _shape(a)]
        formulas = list(map(self._formula, equation.invars))
        if _row_rules.adds_rows(equation):
            self._repeated[equation.outvars[0]] = formulas[0]
        elif (
            arrays
            and all(a in self._repeated for a in arrays)
            and _row_rules.is_elementwise(equation)
        ):
            self._repeated[equation.outvars[0]] = self._formulas.apply(equation, formulas)

    def _formula(self, atom: Atom) -> int:
        """Return the formula of what a value has in rows that are not looked up."""
        if isinstance(atom, Literal):
            return self._formulas.constant(atom.val)
        if atom in self._rows:
            return self._rows[atom][1]
        if atom in self._repeated:
            return self._repeated[atom]
        return self._formulas.symbol("array", atom)

    def _size_of(self, equation: JaxprEqn) -> int | None:
        shape = _shape(equation.outvars[0]) if len(equation.outvars) == 1 else ()
        return shape[0] if shape else None

    # --- sets of rows

    def _start(self, var: Var, formula: int) -> None:
        self._parents[var] = var
        self._lookups[var] = []
        self._rows[var] = (var, formula)

    def _root(self, var: Var) -> Var:
        while self._parents[var] is not var:
            var = self._parents[var]
        return var

    def _join(self, first: Var, other: Var) -> None:
        a, b = (self._root(self._rows[var][0]) for var in (first, other))
        if a is not b:
            self._parents[b] = a
            for lookup in self._lookups.pop(b):
                self._add_lookup(first, lookup)

    def _add_lookup(self, var: Var, lookup: Lookup) -> None:
        """Count a lookup, unless the same ids are looked up already: a gradient computes them
        again.
        """
        lookups = self._lookups[self._root(self._rows[var][0])]
        if self._key(lookup) not in map(self._key, lookups):
            lookups.append(lookup)

    def _key(self, lookup: Lookup) -> tuple[object, ...]:
        """Return a key that is equal for lookups whose indices are computed alike."""
        if lookup.indices not in self._computed:
            for equation in self._program.equations_for([lookup.indices])[0]:
                inputs = [
                    repr(a.val) if isinstance(a, Literal) else self._computed.get(a, a)
                    for a in equation.invars
                ]
                key = self._formulas.equation_key(equation, inputs)
                for index, result in enumerate(equation.outvars):
                    self._computed[result] = self._formulas.symbol("result", index, key)
        indices = self._computed.get(lookup.indices, lookup.indices)
        return indices, lookup.component, lookup.clips

    def _exclude(self, values: Sequence[Var], reason: str) -> NoReturn:
        roots = {self._root(self._rows[value][0]) for value in values}
        sources = [source for source in self._parents if self._root(source) in roots]
        is_looked_up = any(self._lookups[root] for root in roots)
        raise _NotByRowsError(sources, reason if is_looked_up else "")

    # --- the results

    def check_results(
        self, written: Mapping[Var, Atom], results: Sequence[Atom], lazy: bool
    ) -> None:
        """Raise unless the Variables with rows, and no other results, have them at the end."""
        if returned := [a for a in results if isinstance(a, Var) and a in self._rows]:
            self._exclude(returned, "the step returns all of it")
        for var, new in written.items():
            has_rows = isinstance(new, Var) and new in self._rows
            if var not in self._tables:
                if isinstance(new, Var) and has_rows:  # the Variable is moved as a whole
                    self._exclude([new], "")
                continue
            if not isinstance(new, Var) or not has_rows:
                self._exclude([var], _CHANGES_ALL)
            self._join(var, new)
            if not lazy and self._rows[new][1] != self._rows[var][1]:
                self._exclude([var], _CHANGES_ALL)

    def check_lookups(self, arguments: Collection[Var]) -> None:
        """Raise unless the rows of each set are few, and depend on arguments of the step alone."""
        for root, lookups in self._lookups.items():
            row_set = self._row_set(root)
            if not row_set.inputs or not lookups or 2 * row_set.capacity > row_set.num_rows:
                self._exclude([root], "")
            indices = [lookup.indices for lookup in lookups]
            _, inputs = self._program.equations_for(indices)
            if not inputs.issubset(arguments):
                self._exclude([root], "the ids that the step looks up depend on Variables")

    def _row_set(self, root: Var) -> RowSet:
        inputs = [var for var in self._tables if self._root(var) is root]
        return RowSet(_shape(root)[0], inputs, self._lookups[root])

    def tables(self, whole: dict[int, str]) -> Tables:
        """Return what was found."""
        row_sets = {root: self._row_set(root) for root in self._lookups}
        row_set_of = {var: row_sets[self._root(source)] for var, (source, _) in self._rows.items()}
        numbers = {
            var: self._formulas.value_of(formula) for var, (_, formula) in self._rows.items()
        }
        constants = {var: number for var, number in numbers.items() if number is not None}
        return Tables(list(row_sets.values()), row_set_of, set(self._repeated), constants, whole)


def _saves_half(equation: JaxprEqn) -> bool:
    """Return whether an equation looks up at most half as many rows as the table has."""
    lookup = _row_rules.find_lookup(equation)
    return lookup is not None and 2 * lookup.num_ids <= _shape(equation.invars[0])[0]


def _shape(atom: Atom) -> tuple[int, ...]:
    aval: Any = atom.aval
    return tuple(aval.shape)
