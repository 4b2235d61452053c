"""Static arguments of compiled functions: the keys by which they are compared.

Plain Python values are compared by type and value, other objects by identity. A key does not keep
an object alive.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any


class IdentityKey:
    """A key for an object that is compared by identity; it does not keep the object alive."""

    def __init__(self, target: object):
        self._id = id(target)
        self._reference = weakref.ref(target)

    @property
    def target(self) -> Any:
        """The object, or None if it is gone."""
        return self._reference()

    def when_gone(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the object is garbage collected."""
        target = self._reference()
        if target is not None:
            weakref.finalize(target, callback).atexit = False

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self._id == other._id


def static_key(leaf: Any) -> Hashable:
    """Return the key of a static argument: type and value, or identity for objects.

    Raises:
        TypeError: The argument is an iterator, or cannot be compared.
    """
    if isinstance(leaf, float) and leaf != leaf:
        leaf = math.nan  # the same object each time, which equals itself as part of a key
    if isinstance(leaf, (float, complex)):
        return (type(leaf), leaf, repr(leaf))  # distinguishes 0.0 from -0.0
    if isinstance(leaf, (bool, int, str, bytes, type(None))):
        return (type(leaf), leaf)
    if isinstance(leaf, Iterator):
        raise TypeError(
            f"A compiled function was given a {type(leaf).__name__}, which can be read only once, "
            "while its body runs more than once to compile it and not at all afterwards. Pass the "
            "values: `list(values)`, or one batch per call."
        )
    hash_method: object = type(leaf).__hash__
    if hash_method is object.__hash__ or hash_method is None:
        try:
            return IdentityKey(leaf)
        except TypeError as error:
            raise TypeError(
                f"A compiled function was given {leaf!r} of type {type(leaf).__name__}, which can "
                "neither be traced nor compared as a constant. Pass arrays, plain Python values "
                "or objects of ordinary classes."
            ) from error
    return (type(leaf), leaf)


def static_value(key: Any) -> Any:
    """Return the argument of a key; None if the object is gone."""
    return key.target if isinstance(key, IdentityKey) else key[1]
