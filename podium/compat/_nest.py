"""`tf.nest`: structures of lists, tuples and dictionaries."""

from collections.abc import Callable
from typing import Any

import jax

from podium.core import map_structure as map_leaves


def is_nested(structure: Any) -> bool:
    """Tell whether something is a list, tuple or dictionary.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.is_nested([1]), tf.nest.is_nested(1)
        (True, False)
    """
    return isinstance(structure, (list, tuple, dict))


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """List the leaves; dictionaries in the order of their sorted keys.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.flatten({"b": 1, "a": [2, 3]})
        [2, 3, 1]
    """
    return [structure] if structure is None else _with_none(structure)


def _with_none(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _with_none(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in _with_none(part)]
    return [structure]


def map_structure(func: Callable, *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to the leaves of one structure, or of several alike.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.map_structure(lambda x: x + 1, {"a": 1, "b": [2]})
        {'a': 2, 'b': [3]}
    """
    return map_leaves(func, *structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Put leaves back into a structure.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.pack_sequence_as({"a": 0, "b": [0]}, [1, 2])
        {'a': 1, 'b': [2]}
    """
    leaves = iter(flat_sequence)

    def pack(part: Any) -> Any:
        if isinstance(part, dict):
            found = {key: pack(part[key]) for key in sorted(part)}
            return {key: found[key] for key in part}
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*map(pack, part))
        if isinstance(part, (list, tuple)):
            return type(part)(map(pack, part))
        return next(leaves)

    return pack(structure)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise ValueError unless two structures are alike.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nest.assert_same_structure([1, 2], [3, 4])
    """
    marks = [map_leaves(lambda leaf: 0, nest) for nest in (nest1, nest2)]
    if bool(jax.tree.structure(marks[0]) != jax.tree.structure(marks[1])):  # type: ignore[operator]
        raise ValueError(
            f"The structures {nest1!r} and {nest2!r} are not alike; the same lists, tuples and "
            "keys were expected."
        )
