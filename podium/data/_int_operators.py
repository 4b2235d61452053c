"""IntOperators: the arithmetic of an object that stands for an int, as `tf.Variable` has it."""

from __future__ import annotations

import abc


class IntOperators(abc.ABC):
    """The operators `+ - * // % < <= > >= == !=`: those of the int that `__int__` returns."""

    @abc.abstractmethod
    def __int__(self) -> int:
        """Return the number."""

    def __index__(self) -> int:
        return int(self)

    def __add__(self, other: int) -> int:
        return int(self) + other

    def __radd__(self, other: int) -> int:
        return other + int(self)

    def __sub__(self, other: int) -> int:
        return int(self) - other

    def __rsub__(self, other: int) -> int:
        return other - int(self)

    def __mul__(self, other: int) -> int:
        return int(self) * other

    def __rmul__(self, other: int) -> int:
        return other * int(self)

    def __floordiv__(self, other: int) -> int:
        return int(self) // other

    def __mod__(self, other: int) -> int:
        return int(self) % other

    def __lt__(self, other: int) -> bool:
        return int(self) < other

    def __le__(self, other: int) -> bool:
        return int(self) <= other

    def __gt__(self, other: int) -> bool:
        return int(self) > other

    def __ge__(self, other: int) -> bool:
        return int(self) >= other

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        return int(self) != other

    __hash__ = object.__hash__
