"""What tests import as `keras.src.utils.module_utils`: packages that may be missing."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


class OptionalModule:
    """A package that is imported when one of its names is first used.

    Args:
        name: The name that it is imported under.
        is_hidden: Whether it counts as missing, since the real one is meant.
    """

    def __init__(self, name: str, is_hidden: bool = False) -> None:
        self._name = name
        self._is_hidden = is_hidden

    @property
    def available(self) -> bool:
        """Whether it can be imported."""
        return not self._is_hidden and importlib.util.find_spec(self._name) is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


tensorflow = OptionalModule("tensorflow", is_hidden=True)
gfile = OptionalModule("tensorflow.io.gfile", is_hidden=True)
tensorflow_io = OptionalModule("tensorflow_io", is_hidden=True)
torch_xla = OptionalModule("torch_xla")
scipy = OptionalModule("scipy")
jax = OptionalModule("jax")
h5py = OptionalModule("h5py")
optree = OptionalModule("optree")
dmtree = OptionalModule("tree")
tf2onnx = OptionalModule("tf2onnx")
grain = OptionalModule("grain")
litert = OptionalModule("ai_edge_litert")
ocp = OptionalModule("orbax.checkpoint")
