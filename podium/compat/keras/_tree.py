"""The functions of `keras.tree`: nested lists, tuples, dictionaries, named tuples and deques.

Unlike `tf.nest`, an `OrderedDict` keeps the order of its keys; those of other dictionaries are
sorted. None is a leaf.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from podium._typing import Tree

_Path = tuple[Any, ...]


class MAP_TO_NONE:
    """What the function given to `traverse` returns to put None in place of a part.

    Example:
        >>> from podium import tree
        >>> tree.traverse(lambda part: tree.MAP_TO_NONE if part == 2 else None, [1, 2])
        [1, None]
    """


def is_nested(structure: Tree) -> bool:
    """Return whether a value is a list, tuple, dictionary, named tuple or deque.

    Example:
        >>> from podium import tree
        >>> tree.is_nested({"a": 42}), tree.is_nested(42)
        (True, False)
    """
    return isinstance(structure, (list, tuple, dict, deque))


def flatten(structure: Tree) -> list[Any]:
    """List the leaves; those of dictionaries in the order of sorted keys.

    Example:
        >>> from podium import tree
        >>> tree.flatten({"b": 1, "a": [2, None]})
        [2, None, 1]
    """
    if not is_nested(structure):
        return [structure]
    return [leaf for _, part in _items(structure) for leaf in flatten(part)]


def flatten_with_path(structure: Tree) -> list[tuple[_Path, Any]]:
    """List the leaves with the keys and indices that lead to them.

    Example:
        >>> from podium import tree
        >>> tree.flatten_with_path([{"a": 42}])
        [((0, 'a'), 42)]
    """
    if not is_nested(structure):
        return [((), structure)]
    return [
        ((key, *path), leaf)
        for key, part in _items(structure)
        for path, leaf in flatten_with_path(part)
    ]


def map_structure(func: Callable[..., Any], *structures: Tree, none_is_leaf: bool = True) -> Tree:
    """Apply a function to the leaves of one structure, or of several of the same form.

    Args:
        func: The function of one leaf of each structure.
        *structures: The structures.
        none_is_leaf: Whether `func` is called for None; otherwise None stays where it is.

    Raises:
        ValueError: The structures differ.

    Example:
        >>> from podium import tree
        >>> tree.map_structure(lambda x, y: x + y, {"a": 1}, {"a": 2})
        {'a': 3}
    """
    if not callable(func):
        raise TypeError(f"func={func!r} was given; a function was expected.")
    if not structures:
        raise ValueError("map_structure was given no structure; at least one was expected.")
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    rows = zip(*map(flatten, structures), strict=True)
    results = [
        None if not none_is_leaf and all(leaf is None for leaf in row) else func(*row)
        for row in rows
    ]
    return pack_sequence_as(structures[0], results)


def map_structure_up_to(
    shallow_structure: Tree, func: Callable[..., Any], *structures: Tree
) -> Tree:
    """Apply a function to the parts of structures that are at the leaves of a shallower one.

    Raises:
        ValueError: One of the structures lacks a part of `shallow_structure`.

    Example:
        >>> from podium import tree
        >>> tree.map_structure_up_to([None, None], len, [[1, 1], [2, 2, 2]])
        [2, 3]
    """
    if not structures:
        raise ValueError("map_structure_up_to was given no structure; at least one was expected.")
    if not is_nested(shallow_structure):
        return func(*structures)
    for other in structures:
        _check_same_node(shallow_structure, other)
    keys = [key for key, _ in _items(shallow_structure)]
    parts = [
        map_structure_up_to(part, func, *(other[key] for other in structures))
        for key, part in zip(keys, (part for _, part in _items(shallow_structure)), strict=True)
    ]
    return _rebuild(shallow_structure, keys, parts)


def traverse(func: Callable[[Any], Any], structure: Tree, top_down: bool = True) -> Tree:
    """Call a function with a structure and each of its parts, depth first.

    Args:
        func: Returns None to continue (top down: into the part), another value to put in the part's
            place, or `MAP_TO_NONE` to put None there.
        structure: The structure.
        top_down: Whether a part is visited before what it contains, or after it.

    Returns:
        The structure with the parts that `func` replaced.

    Example:
        >>> from podium import tree
        >>> visited = []
        >>> tree.traverse(visited.append, [(1, 2), 3])
        [(1, 2), 3]
        >>> visited
        [[(1, 2), 3], (1, 2), 1, 2, 3]
    """
    if not callable(func):
        raise TypeError(f"func={func!r} was given; a function was expected.")

    def children(part: Tree) -> Tree:
        if not is_nested(part):
            return part
        items = _items(part)
        parts = [traverse(func, child, top_down) for _, child in items]
        return _rebuild(part, [key for key, _ in items], parts)

    visited = structure if top_down else children(structure)
    result = func(visited)
    if result is None:
        return children(structure) if top_down else visited
    return None if result is MAP_TO_NONE else result


def assert_same_structure(a: Tree, b: Tree, check_types: bool | None = None) -> None:
    """Raise ValueError unless two structures have the same form.

    Args:
        a: A structure.
        b: Another one.
        check_types: Without effect, with a warning, as in Keras; see `assert_same_paths`.

    Example:
        >>> from podium import tree
        >>> tree.assert_same_structure([(0, 1)], [(2, 3)])
    """
    if check_types is not None:
        warnings.warn(
            f"check_types={check_types} has no effect. To treat lists, tuples and deques alike, "
            "use `keras.tree.assert_same_paths`.",
            DeprecationWarning,
            stacklevel=2,
        )
    if not is_nested(a) and not is_nested(b):
        return
    _check_same_node(a, b)
    for key, part in _items(a):
        assert_same_structure(part, b[key])


def assert_same_paths(a: Tree, b: Tree) -> None:
    """Raise ValueError unless the leaves of two structures have the same paths.

    Example:
        >>> from podium import tree
        >>> tree.assert_same_paths([0, 1], (2, 3))
    """
    only_a, only_b = _paths(a) - _paths(b), _paths(b) - _paths(a)
    if only_a or only_b:
        raise ValueError(
            "`a` and `b` don't have the same paths. Only in `a`: "
            f"{sorted(only_a, key=repr)}; only in `b`: {sorted(only_b, key=repr)}."
        )


def pack_sequence_as(structure: Tree, flat_sequence: Iterable[Any]) -> Tree:
    """Return a structure of the same form, with the leaves of `flat_sequence`.

    Raises:
        ValueError: There are more leaves, or fewer, than the structure has.

    Example:
        >>> from podium import tree
        >>> tree.pack_sequence_as({"b": 0, "a": [0]}, [1, 2])
        {'b': 2, 'a': [1]}
    """
    leaves = list(flat_sequence)
    count = len(flatten(structure))
    if len(leaves) != count:
        raise ValueError(
            f"{len(leaves)} leaves were given for a structure of {count}: {structure!r}."
        )
    remaining = iter(leaves)

    def pack(part: Tree) -> Tree:
        if not is_nested(part):
            return next(remaining)
        items = _items(part)
        return _rebuild(part, [key for key, _ in items], [pack(child) for _, child in items])

    return pack(structure)


def lists_to_tuples(structure: Tree) -> Tree:
    """Return the structure with tuples in place of lists.

    Example:
        >>> from podium import tree
        >>> tree.lists_to_tuples({"a": [1, [2]]})
        {'a': (1, (2,))}
    """
    return traverse(
        lambda part: tuple(part) if isinstance(part, list) else None, structure, top_down=False
    )


def map_shape_structure(func: Callable[[Any], Any], structure: Tree) -> Tree:
    """Apply a function to the shapes in a structure: tuples and lists of ints and None.

    Example:
        >>> from podium import tree
        >>> tree.map_shape_structure(len, {"a": (None, 3), "b": [(2,), (2, 2)]})
        {'a': 2, 'b': [1, 2]}
    """
    is_shape = isinstance(structure, (list, tuple)) and all(
        each is None or isinstance(each, int) for each in structure
    )
    if is_shape or not is_nested(structure):
        return func(structure)
    items = _items(structure)
    parts = [map_shape_structure(func, part) for _, part in items]
    return _rebuild(structure, [key for key, _ in items], parts)


def _items(structure: Tree) -> list[tuple[Any, Any]]:
    """Return the keys or indices of a structure with its parts, in the order of leaves."""
    if isinstance(structure, OrderedDict):
        return list(structure.items())
    if isinstance(structure, dict):
        return [(key, structure[key]) for key in sorted(structure)]
    return list(enumerate(structure))


def _rebuild(structure: Tree, keys: Sequence[Any], parts: Sequence[Any]) -> Tree:
    """Return a structure of the same kind with other parts."""
    if isinstance(structure, dict):
        by_key = dict(zip(keys, parts, strict=True))
        ordered = {key: by_key[key] for key in structure}
        if isinstance(structure, defaultdict):
            return defaultdict(structure.default_factory, ordered)
        return OrderedDict(ordered) if isinstance(structure, OrderedDict) else ordered
    if isinstance(structure, tuple):
        is_named = hasattr(structure, "_fields")
        return type(structure)(*parts) if is_named else tuple(parts)
    return deque(parts, structure.maxlen) if isinstance(structure, deque) else list(parts)


def _check_same_node(a: Tree, b: Tree) -> None:
    is_same = is_nested(a) and is_nested(b)
    if is_same and isinstance(a, dict):
        is_same = isinstance(b, dict) and a.keys() == b.keys()
    elif is_same:
        is_same = _sequence_type(a) is _sequence_type(b) and len(a) == len(b)
    if not is_same:
        raise ValueError(
            f"{b!r} was given where a structure like {a!r} was expected: the structures don't have "
            "the same nested structure."
        )


def _sequence_type(structure: Tree) -> type:
    """Return the class that structures of the same form share."""
    if isinstance(structure, tuple):
        return type(structure) if hasattr(structure, "_fields") else tuple
    return next((kind for kind in (list, deque) if isinstance(structure, kind)), dict)


def _paths(structure: Tree) -> set[_Path]:
    return {path for path, _ in flatten_with_path(structure)}
