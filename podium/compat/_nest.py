"""Nested structures of lists, tuples and dictionaries: `tf.nest` and `keras.tree`."""

from collections.abc import Callable, Sequence
from typing import Any

from podium._typing import Tree


def is_nested(structure: Tree) -> bool:
    """Return whether `structure` is a list, tuple or dictionary.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.is_nested([1]), tf.nest.is_nested(1)
        (True, False)
    """
    return isinstance(structure, (list, tuple, dict))


def flatten(structure: Tree, expand_composites: bool = False) -> list[Any]:
    """List the leaves; those of dictionaries in the order of sorted keys.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.flatten({"b": 1, "a": [2, 3]})
        [2, 3, 1]
    """
    return _leaves(structure)


def _leaves(structure: Tree) -> list[Any]:
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _leaves(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in _leaves(part)]
    return [structure]


def map_structure(func: Callable[..., Any], *structure: Tree, **kwargs: Any) -> Tree:
    """Apply a function to the leaves of one structure, or of several of the same form.

    As in TensorFlow, None and the containers of replicas and of sparse values are leaves.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.map_structure(lambda x: x + 1, {"a": 1, "b": [2]})
        {'a': 2, 'b': [3]}
    """
    if not structure:
        raise ValueError("map_structure was given no structure; at least one was expected.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, **kwargs)
    rows = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*row) for row in rows])


def map_structure_up_to(
    shallow_tree: Tree, func: Callable[..., Any], *inputs: Tree, **kwargs: Any
) -> Tree:
    """Apply a function to the parts of structures that are at the leaves of `shallow_tree`.

    Args:
        shallow_tree: The structure to iterate over. The other structures may be deeper.
        func: The function of one part of each of `inputs`.
        *inputs: The structures.
        **kwargs: Accepted for TensorFlow's signature.

    Returns:
        The results, in the structure of `shallow_tree`.

    Raises:
        ValueError: One of `inputs` lacks a part of `shallow_tree`.

    Example:
        >>> from podium.compat._nest import map_structure_up_to
        >>> outputs = {"a": [1, 2], "b": [3]}
        >>> map_structure_up_to({"a": 0, "b": 0}, sum, outputs)
        {'a': 3, 'b': 3}
    """
    parts = [flatten_up_to(shallow_tree, each) for each in inputs]
    return pack_sequence_as(shallow_tree, [func(*row) for row in zip(*parts, strict=True)])


def flatten_up_to(shallow_tree: Tree, input_tree: Tree, **kwargs: Any) -> list[Any]:
    """List the parts of a structure that are at the leaves of `shallow_tree`.

    Raises:
        ValueError: The structure lacks a part of `shallow_tree`.

    Example:
        >>> from podium.compat._nest import flatten_up_to
        >>> flatten_up_to([0, 0], [[1, 2], 3])
        [[1, 2], 3]
    """
    if not is_nested(shallow_tree):
        return [input_tree]
    keys = sorted(shallow_tree) if isinstance(shallow_tree, dict) else range(len(shallow_tree))
    expected = "a dictionary" if isinstance(shallow_tree, dict) else "a list or tuple"
    if isinstance(input_tree, dict) != isinstance(shallow_tree, dict) or not is_nested(input_tree):
        raise ValueError(f"{input_tree!r} was given where {expected} was expected.")
    given = sorted(input_tree) if isinstance(input_tree, dict) else range(len(input_tree))
    if list(given) != list(keys):
        raise ValueError(
            f"{expected.capitalize()} with the parts {list(given)} was given; those of "
            f"`shallow_tree`, {list(keys)}, were expected."
        )
    return [part for key in keys for part in flatten_up_to(shallow_tree[key], input_tree[key])]


def pack_sequence_as(
    structure: Tree, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Tree:
    """Return a structure of the same form, with the leaves of `flat_sequence`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.pack_sequence_as({"a": 0, "b": [0]}, [1, 2])
        {'a': 1, 'b': [2]}
    """
    leaves = iter(flat_sequence)

    def pack(part: Tree) -> Tree:
        if isinstance(part, dict):
            packed = {key: pack(part[key]) for key in sorted(part)}
            return {key: packed[key] for key in part}
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*map(pack, part))
        if isinstance(part, (list, tuple)):
            return type(part)(map(pack, part))
        return next(leaves)

    return pack(structure)


def assert_same_structure(
    nest1: Tree, nest2: Tree, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise ValueError unless two structures have the same form.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.assert_same_structure([1, 2], [3, 4])
    """
    if _form(nest1, check_types) != _form(nest2, check_types):
        raise ValueError(
            f"The structures {nest1!r} and {nest2!r} differ; the same lists, tuples and keys were "
            "expected."
        )


def _form(structure: Tree, check_types: bool) -> object:
    """Return what the structures of one form have in common."""
    if isinstance(structure, dict):
        return {key: _form(part, check_types) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        kind = type(structure) if check_types else list
        return kind.__name__, [_form(part, check_types) for part in structure]
    return None
