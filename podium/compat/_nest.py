"""Nested structures of lists, tuples and dictionaries: `tf.nest` and `keras.tree`."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from podium._typing import Tree
from podium.core import map_structure as map_leaves


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

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.map_structure(lambda x: x + 1, {"a": 1, "b": [2]})
        {'a': 2, 'b': [3]}
    """
    return map_leaves(func, *structure)


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
    structures = [jax.tree.structure(map_leaves(lambda leaf: 0, nest)) for nest in (nest1, nest2)]
    if bool(structures[0] != structures[1]):  # type: ignore[operator]
        raise ValueError(
            f"The structures {nest1!r} and {nest2!r} differ; the same lists, tuples and keys were "
            "expected."
        )
