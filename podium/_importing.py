"""Lazy imports: packages of Podium are imported when they are first used.

So `import podium` stays quick. Garbage collection is paused during imports: the objects that they
create stay alive, and one collection, which traverses all of JAX's objects, takes as long as
importing a hundred modules.
"""

import contextlib
import gc
import importlib
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection inside the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def import_package(name: str) -> ModuleType:
    """Import a package of Podium by its name, such as `layers`."""
    with pause_garbage_collection():
        return importlib.import_module(f"podium.{name}")
