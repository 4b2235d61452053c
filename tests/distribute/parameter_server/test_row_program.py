"""A program that takes rows computes what the whole program computes, or takes whole tables."""

import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.distribute.parameter_server._variable_transfer import RowIds
from podium.distribute.parameter_server.rows._flat_program import FlatProgram
from podium.distribute.parameter_server.rows._row_program import RowProgram

NUM_ROWS, SIZE = 50, 3
IDS = np.int32([[4, 7, 4], [0, 49, 7]])


def table(seed=0, dtype="float32"):
    values = np.random.default_rng(seed).uniform(0.5, 2, size=(NUM_ROWS, SIZE))
    return jnp.asarray(values.astype(dtype))


def compare(step, written, read=(), arrays=(IDS,), lazy=False, seeds=()):
    """Compare a step with one that takes rows; return which Variables it takes by rows."""
    written, read, arrays = (list(map(jnp.asarray, part)) for part in (written, read, arrays))
    variables = [*written, *read]
    flat = FlatProgram.trace(step, written, read, arrays)
    program = RowProgram(flat, len(written), len(variables), seeds, lazy)
    state, outputs = step(written, read, arrays)
    ids = [
        RowIds.of(np.asarray(found), each.num_rows, each.capacity)
        for found, each in zip(program.find_ids(arrays), program.row_sets, strict=True)
    ]
    sets = [program.row_set_of(index) for index in range(len(variables))]
    taken = [
        value if row_set is None else with_rows(value, ids[row_set])
        for value, row_set in zip(variables, sets, strict=True)
    ]
    padded = [jnp.asarray(each.padded) for each in ids]
    count = len(written)
    new_state, new_outputs = program.run(taken[:count], taken[count:], arrays, padded)
    for new, expected in zip(new_outputs, outputs, strict=True):
        np.testing.assert_allclose(new, expected, rtol=1e-5, atol=1e-6)
    for old, new, expected, row_set in zip(written, new_state, state, sets, strict=False):
        if row_set is not None:
            rows = ids[row_set].used
            new = old.at[rows].set(new[: len(rows)])
            if lazy:
                old, new, expected = (value[rows] for value in (old, new, expected))
        np.testing.assert_allclose(
            np.asarray(new, "float32"), np.asarray(expected, "float32"), rtol=1e-5, atol=1e-6
        )
    return [index for index, row_set in enumerate(sets) if row_set is not None], program.whole


def with_rows(value, ids):
    """Return the rows of a table, and NaN where none is needed: nothing may depend on it."""
    rows = jnp.full((len(ids.padded), *value.shape[1:]), jnp.nan).astype(value.dtype)
    return rows.at[: len(ids.used)].set(value[ids.used])


def gradient(values, ids):
    return jax.grad(lambda v: jnp.sum(jnp.sin(jnp.take(v, ids, axis=0))))(values)


def sgd(written, read, arrays):
    (values,), (rate,) = written, read
    return [values - rate.astype(values.dtype) * gradient(values, arrays[0])], []


def adagrad(written, read, arrays):
    (values, slot), (rate,) = written, read
    change = gradient(values, arrays[0])
    slot = slot + change**2
    return [values - rate * change / jnp.sqrt(slot + 1e-7), slot], [jnp.max(change)]


def clipped(written, read, arrays):
    (values,), (rate,) = written, read
    change = gradient(values, arrays[0])
    norm = jnp.sqrt(jnp.sum(change**2))
    return [values - rate * change / jnp.maximum(norm, 1.0)], [norm, jnp.all(change == change)]


def skip_if_not_finite(written, read, arrays):
    (values,), (rate,) = written, read
    change = gradient(values, arrays[0]) * rate
    is_finite = jnp.all(jnp.isfinite(change))
    return [jnp.where(is_finite, values - change, values)], [is_finite]


def several_steps(written, read, arrays):
    (values,), (rate,) = written, read
    for ids in arrays:
        values = values - rate * gradient(values, ids)
    return [values], []


def two_lookups(written, read, arrays):
    (values,), (rate,) = written, read
    ids, others = arrays

    def loss(v):
        return jnp.vdot(v[ids[0]], jnp.take(v, others, axis=0, mode="clip"))

    return [values - rate * jax.grad(loss)(values)], [loss(values)]


def normalized_rows(written, read, arrays):
    (values,) = written
    ids, new = arrays
    norms = jnp.linalg.norm(values, axis=1, keepdims=True)
    return [values.at[ids].set(new)], [(values / norms)[ids]]


def computed_ids(written, read, arrays):
    (values,), (rate,) = written, read
    ids = jnp.abs(arrays[0].astype("float32") * 3.0).astype("int32") % NUM_ROWS
    return [values - rate * gradient(values, ids)], []


RATE = [np.float32(0.1)]


@pytest.mark.parametrize(
    ("step", "written", "read", "arrays"),
    [
        (sgd, [table()], RATE, [IDS]),
        (sgd, [table()], RATE, [np.int32([3, 50, -1, -60, 100])]),  # outside of the table
        (adagrad, [table(), table(1)], RATE, [IDS]),
        (clipped, [table()], RATE, [IDS]),
        (skip_if_not_finite, [table()], RATE, [IDS]),
        (several_steps, [table()], RATE, [IDS[0], IDS[1], np.int32([8, 9])]),
        (two_lookups, [table()], RATE, [IDS, np.int32([60, -70, 5])]),
        (normalized_rows, [table()], [], [np.int32([3, 5]), np.ones((2, SIZE), "float32")]),
        (computed_ids, [table()], RATE, [IDS]),
        (sgd, [table(dtype=ml_dtypes.bfloat16)], RATE, [IDS]),
    ],
)
def test_step_that_changes_looked_up_rows_takes_rows(step, written, read, arrays):
    by_rows, whole = compare(step, written, read, arrays)
    assert by_rows == list(range(len(written)))
    assert whole == {}


def test_step_in_a_wider_dtype_takes_rows():
    def step(written, read, arrays):
        (values,), (rate,) = written, read
        wide = values.astype("float32")
        return [(wide - rate * gradient(wide, arrays[0])).astype(values.dtype)], []

    assert compare(step, [table(dtype="float16")], RATE) == ([0], {})


def test_table_that_is_only_read_takes_rows():
    def step(written, read, arrays):
        return [], [jnp.take(read[0], arrays[0], axis=0)]

    assert compare(step, [], [table()]) == ([0], {})


def test_tables_have_their_own_ids():
    def step(written, read, arrays):
        first, second = written
        return [first.at[arrays[0]].add(1.0), second.at[arrays[1]].mul(2.0)], []

    ids = [np.int32([1, 2, 2]), np.int32([3])]
    assert compare(step, [table(), table(1)], [], ids) == ([0, 1], {})


def momentum(written, read, arrays):
    values, slot = written
    slot = 0.9 * slot - 0.1 * gradient(values, arrays[0])
    return [values + slot, slot], []


def weight_decay(written, read, arrays):
    return [written[0] * 0.99 - gradient(written[0], arrays[0])], []


def regularized(written, read, arrays):
    def loss(values):
        return jnp.sum(values[arrays[0]]) + jnp.sum(values**2)

    return [written[0] - 0.1 * jax.grad(loss)(written[0])], [loss(written[0])]


def tied(written, read, arrays):
    def loss(values):
        return jnp.sum(jnp.tanh(values[arrays[0]] @ values.T))

    return [written[0] - 0.1 * jax.grad(loss)(written[0])], []


def returned(written, read, arrays):
    new = written[0] - gradient(written[0], arrays[0])
    return [new], [new]


def ids_of_a_variable(written, read, arrays):
    return [written[0].at[read[0] + arrays[0]].add(1.0)], []


def swapped(written, read, arrays):
    first, second = written
    return [second.at[arrays[0]].add(1.0), first.at[arrays[0]].add(1.0)], []


def replaced(written, read, arrays):
    return [jnp.ones_like(written[0]) * jnp.sum(written[0][arrays[0]])], []


def counted(written, read, arrays):
    """A product of all rows: the other rows have no neutral value."""
    return [written[0].at[arrays[0]].add(1.0)], [jnp.prod(written[0].at[arrays[0]].set(2.0))]


CHANGES = "may change rows that no batch looks up"


@pytest.mark.parametrize(
    ("step", "written", "read", "reason"),
    [
        (momentum, [table(), table(1)], [], CHANGES),
        (weight_decay, [table()], [], CHANGES),
        (regularized, [table()], [], "uses all of it, in `reduce_sum`"),
        (tied, [table()], [], "uses all of it, in `transpose`|in `dot_general`"),
        (returned, [table()], [], "the step returns all of it"),
        (ids_of_a_variable, [table()], [np.int32(3)], "depend on Variables"),
        (swapped, [table(), table(1)], [], CHANGES),
        (replaced, [table()], [], CHANGES),
        (counted, [table()], [], "uses all of it, in `reduce_prod`"),
    ],
)
def test_other_steps_take_whole_tables(step, written, read, reason):
    by_rows, whole = compare(step, written, read)
    assert by_rows == []
    assert list(whole) == [0]
    assert re.search(reason, whole[0])


def test_slot_is_not_taken_by_rows_if_its_table_is_not():
    def step(written, read, arrays):
        values, slot = written
        change = gradient(values, arrays[0])
        slot = slot + change**2
        return [values * 0.9 - change / slot, slot], [jnp.sum(values)]

    by_rows, whole = compare(step, [table(), table(1)])
    assert by_rows == []
    assert "reduce_sum" in whole[0]


def test_lazy_steps_change_looked_up_rows_as_whole_steps_do():
    assert compare(momentum, [table(), table(1)], lazy=True) == ([0, 1], {})
    assert compare(weight_decay, [table()], lazy=True) == ([0], {})
    assert compare(regularized, [table()], lazy=True)[0] == []


def test_ids_that_are_more_than_half_of_the_rows_take_the_table():
    assert compare(sgd, [table()], RATE, [np.arange(25, dtype="int32")]) == ([0], {})
    assert compare(sgd, [table()], RATE, [np.arange(26, dtype="int32")]) == ([], {})


def test_other_variables_of_the_size_are_taken_whole():
    def step(written, read, arrays):
        values, kernel = written
        return [values.at[arrays[0]].add(1.0), kernel + arrays[1] @ kernel], []

    square = np.ones((NUM_ROWS, NUM_ROWS), "float32")
    assert compare(step, [table(), table(1)], [], [IDS, square]) == ([0], {})


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(-60, 60), min_size=1, max_size=12),
    st.sampled_from([sgd, clipped, skip_if_not_finite]),
)
def test_any_ids(ids, step):
    by_rows, _ = compare(step, [table()], RATE, [np.int32(ids)])
    assert by_rows == [0]
