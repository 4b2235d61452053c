"""No garbage is collected while Podium is imported: what is made then stays.

One collection has to look at all of JAX's objects, which takes as long as importing a hundred of our modules.
"""

import gc

import jax  # noqa: F401  (if that fails, nothing has been switched off)

_collects = gc.isenabled()
gc.disable()


def done() -> None:
    """Collect garbage again, if that was done before."""
    if _collects:
        gc.enable()
