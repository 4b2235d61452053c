"""Errors for names of TensorFlow or Keras that Podium does not have, and packages that are imported
when they are first used.

Each function here is the `__getattr__` of one public package: Python calls it for names that the
package lacks.
"""

import difflib
import importlib
import sys
from collections.abc import Callable
from types import ModuleType


def make_getattr(
    module: str, shown_name: str, library: str = "TensorFlow", lazy: tuple[str, ...] = ()
) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package.

    Args:
        module: The name of the package's module.
        shown_name: The name in scripts, such as "tf.math".
        library: The library that the package follows.
        lazy: Packages inside of it that are imported when they are first used, because they need
            another library.
    """

    def __getattr__(name: str) -> ModuleType:
        if name in lazy:
            return importlib.import_module(f"{module}.{name}")
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        names = [public for public in vars(sys.modules[module]) if not public.startswith("_")]
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        nearest = ", ".join(f"{shown_name}.{match}" for match in close)
        hint = f" Nearest: {nearest}." if close else ""
        raise AttributeError(
            f"{shown_name}.{name} is not in Podium's subset of {library}.{hint} `podium.ops` may "
            "have it under NumPy's name, and `podium.lift` makes any JAX function work on Tensors."
        )

    return __getattr__


_TENSORFLOW = "podium.compat.tensorflow"
tensorflow = make_getattr(_TENSORFLOW, "tf")
autograph = make_getattr(f"{_TENSORFLOW}.autograph", "tf.autograph")
autograph_experimental = make_getattr(
    f"{_TENSORFLOW}.autograph.experimental", "tf.autograph.experimental"
)
compat = make_getattr(f"{_TENSORFLOW}.compat", "tf.compat")
config = make_getattr(f"{_TENSORFLOW}.config", "tf.config")
config_experimental = make_getattr(f"{_TENSORFLOW}.config.experimental", "tf.config.experimental")
data = make_getattr(f"{_TENSORFLOW}.data", "tf.data")
distribute = make_getattr(f"{_TENSORFLOW}.distribute", "tf.distribute")
distribute_experimental = make_getattr(
    f"{_TENSORFLOW}.distribute.experimental", "tf.distribute.experimental"
)
data_experimental = make_getattr(f"{_TENSORFLOW}.data.experimental", "tf.data.experimental")
dtypes = make_getattr(f"{_TENSORFLOW}.dtypes", "tf.dtypes")
errors = make_getattr(f"{_TENSORFLOW}.errors", "tf.errors")
experimental = make_getattr(f"{_TENSORFLOW}.experimental", "tf.experimental")
keras_experimental = make_getattr(
    "podium.compat.keras.experimental", "keras.experimental", library="Keras"
)
gfile = make_getattr(f"{_TENSORFLOW}.io.gfile", "tf.io.gfile")
image = make_getattr(f"{_TENSORFLOW}.image", "tf.image")
io = make_getattr(f"{_TENSORFLOW}.io", "tf.io")
linalg = make_getattr(f"{_TENSORFLOW}.linalg", "tf.linalg")
math = make_getattr(f"{_TENSORFLOW}.math", "tf.math")
nest = make_getattr(f"{_TENSORFLOW}.nest", "tf.nest")
nn = make_getattr(f"{_TENSORFLOW}.nn", "tf.nn")
random = make_getattr(f"{_TENSORFLOW}.random", "tf.random")
signal = make_getattr(f"{_TENSORFLOW}.signal", "tf.signal")
summary = make_getattr(f"{_TENSORFLOW}.summary", "tf.summary")
keras = make_getattr("podium.compat.keras", "keras", "Keras", lazy=("wrappers",))
backend = make_getattr("podium.compat.keras.backend", "keras.backend", "Keras")
