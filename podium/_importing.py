"""Rooms are opened when somebody asks for them, so that `import podium` stays quick; and no garbage
is collected meanwhile.

What is made while a module is imported stays. One collection has to look at all of JAX's objects,
which takes as long as importing a hundred of our modules.
"""

import contextlib
import gc
import importlib
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def collecting_nothing() -> Iterator[None]:
    """Collect no garbage inside the block."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def room(name: str) -> ModuleType:
    """Import a room of Podium, by its name."""
    with collecting_nothing():
        return importlib.import_module(f"podium.{name}")
