"""Types that annotations across Podium share.

Aliases only, for readers and type checkers. Nothing of Podium is imported at run time, so every
package can use this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import jax
import numpy as np

if TYPE_CHECKING:
    from podium.core.tensor._symbolic import KerasTensor
    from podium.core.tensor._tensor import Tensor
    from podium.core.tensor._variable import Variable

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

# An array of any library we compute with.
Array: TypeAlias = jax.Array | np.ndarray[Any, Any]

# A value with data: not a symbolic one, and not a bare array.
Value: TypeAlias = "Tensor | Variable"

# A value that an operation accepts: Podium's own values, arrays, Python numbers, nested lists.
TensorLike: TypeAlias = (
    "Tensor | Variable | KerasTensor | Array | np.generic | bool | int | float | complex"
    " | Sequence[Any]"
)

# A nested structure (lists, tuples, dictionaries) of values, such as the inputs of a model or the
# logs of a step. Python's type system cannot relate the structure that goes in to the one that
# comes out, so this is `Any` under a name that says what is meant.
Tree: TypeAlias = Any

# The structure of a tree without its leaves.
TreeDef: TypeAlias = jax.tree_util.PyTreeDef

# A function whose signature does not matter to its caller.
AnyFunction: TypeAlias = Callable[..., Any]

# A shape with known sizes, and one in which None stands for a size that is not known yet.
Shape: TypeAlias = tuple[int, ...]
SymbolicShape: TypeAlias = tuple[int | None, ...]
ShapeLike: TypeAlias = int | Sequence[int | None]

# The canonical name of a dtype ("float32"), and what can be converted to one.
DType: TypeAlias = str
DTypeLike: TypeAlias = str | np.dtype[Any] | type[Any]

# An axis or several, as reductions take them.
Axis: TypeAlias = int | Sequence[int] | None

# Names and values that a step or an epoch reports.
Logs: TypeAlias = Mapping[str, Any]

# The JSON-compatible description of an object, as `get_config` returns it.
Config: TypeAlias = dict[str, Any]

# What the arguments of layers with these names accept: a name, a config, a class, an instance or a
# function; None for no activation, the default initializer, or none.
ActivationLike: TypeAlias = str | dict[str, Any] | Callable[..., Any] | None
InitializerLike: TypeAlias = str | dict[str, Any] | Callable[..., Any] | Array | None
RegularizerLike: TypeAlias = str | dict[str, Any] | Callable[..., Any] | None
ConstraintLike: TypeAlias = str | dict[str, Any] | Callable[..., Any] | None

PathLike: TypeAlias = str | os.PathLike[str]
