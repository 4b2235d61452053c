"""`keras.tree`, compared with what Keras 3.15 does."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from podium import tree

Point = namedtuple("Point", ["x", "y"])


def test_traverse_visits_parents_first_or_last():
    structure = [(1, 2), [3], {"a": 4}]
    visited = []
    assert tree.traverse(visited.append, structure) == structure
    assert visited == [structure, (1, 2), 1, 2, [3], 3, {"a": 4}, 4]
    visited.clear()
    assert tree.traverse(visited.append, structure, top_down=False) == structure
    assert visited == [1, 2, (1, 2), 3, [3], 4, {"a": 4}, structure]


def test_traverse_replaces_parts():
    replaced = tree.traverse(lambda part: "t" if isinstance(part, tuple) else None, [(1, 2), 3])
    assert replaced == ["t", 3]


@pytest.mark.parametrize(
    ("structure", "leaves", "paths"),
    [
        ({"b": 1, "a": [2, 3]}, [2, 3, 1], [("a", 0), ("a", 1), ("b",)]),
        (OrderedDict(b=1, a=2), [1, 2], [("b",), ("a",)]),
        (Point(1, [2]), [1, 2], [(0,), (1, 0)]),
        (deque([1, 2]), [1, 2], [(0,), (1,)]),
        (defaultdict(list, b=1, a=2), [2, 1], [("a",), ("b",)]),
        (7, [7], [()]),
        ([], [], []),
    ],
    ids=str,
)
def test_leaves_and_paths(structure, leaves, paths):
    assert tree.flatten(structure) == leaves
    assert tree.flatten_with_path(structure) == list(zip(paths, leaves, strict=True))
    packed = tree.pack_sequence_as(structure, leaves)
    assert packed == structure and type(packed) is type(structure)


@pytest.mark.parametrize("leaves", [[1], [1, 2, 3]])
def test_pack_sequence_refuses_another_number_of_leaves(leaves):
    with pytest.raises(ValueError, match=f"{len(leaves)} leaves were given for a structure of 2"):
        tree.pack_sequence_as([0, 0], leaves)


def test_map_structure_can_leave_none():
    assert tree.map_structure(lambda x: x is None, [None, 1]) == [True, False]
    assert tree.map_structure(lambda x: x + 1, [None, 1], none_is_leaf=False) == [None, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], (1,)),
        ([1], 1),
        (1, [1]),
        ({"a": 1}, {"b": 1}),
        ([1, 2], [1]),
        (Point(1, 2), (1, 2)),
        ([1, [2]], [1, 2]),
        ({"a": 1}, [1]),
        ([1], {0: 1}),
    ],
)
def test_structures_that_differ(one, other):
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        tree.assert_same_structure(one, other)


def test_assert_same_structure_warns_of_check_types():
    with pytest.warns(DeprecationWarning, match="check_types=False has no effect"):
        tree.assert_same_structure([1], [2], check_types=False)


def test_paths_ignore_the_kinds_of_sequences():
    tree.assert_same_paths([0, (1, 2)], Point(3, [4, 5]))
    with pytest.raises(ValueError, match=r"Only in `a`: \[\(1,\)\]"):
        tree.assert_same_paths([0, 1], [0])


def test_map_structure_up_to_keeps_what_is_deeper():
    result = tree.map_structure_up_to([None, [None, None]], str, [[1, 1], [2, 2]])
    assert result == ["[1, 1]", ["2", "2"]]
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        tree.map_structure_up_to([None, [None]], str, [1, 2])


def test_shapes_and_tuples():
    assert tree.map_shape_structure(len, {"a": [None, 3], "b": [(2,), (2, 2)]}) == {
        "a": 2,
        "b": [1, 2],
    }
    assert tree.lists_to_tuples([1, {"a": [2]}]) == (1, {"a": (2,)})
