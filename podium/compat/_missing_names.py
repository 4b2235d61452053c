"""What is said when a script asks for a name that Podium's slice of TensorFlow or Keras does not
have.

Each function here is the `__getattr__` of one door: it is called for names that the door lacks.
"""

import difflib
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def explaining(module: str, shown: str, whole: str = "TensorFlow") -> Callable[[str], Any]:
    """Make the `__getattr__` of a door.

    Args:
        module: The door's module.
        shown: What scripts call it, such as "tf.math".
        whole: What it is a slice of.
    """

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        names = [each for each in vars(sys.modules[module]) if not each.startswith("_")]
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f" Nearest: {', '.join(f'{shown}.{each}' for each in close)}." if close else ""
        raise AttributeError(
            f"{shown}.{name} is not in Podium's slice of {whole}.{hint} `podium.ops` may have it "
            "under NumPy's name, and `podium.lift` makes any JAX function work on Tensors."
        )

    return __getattr__


_DOOR = "podium.compat.tensorflow"
tensorflow = explaining(_DOOR, "tf")
compat = explaining(f"{_DOOR}.compat", "tf.compat")
config = explaining(f"{_DOOR}.config", "tf.config")
config_experimental = explaining(f"{_DOOR}.config.experimental", "tf.config.experimental")
data = explaining(f"{_DOOR}.data", "tf.data")
distribute = explaining(f"{_DOOR}.distribute", "tf.distribute")
data_experimental = explaining(f"{_DOOR}.data.experimental", "tf.data.experimental")
dtypes = explaining(f"{_DOOR}.dtypes", "tf.dtypes")
errors = explaining(f"{_DOOR}.errors", "tf.errors")
experimental = explaining(f"{_DOOR}.experimental", "tf.experimental")
gfile = explaining(f"{_DOOR}.io.gfile", "tf.io.gfile")
image = explaining(f"{_DOOR}.image", "tf.image")
io = explaining(f"{_DOOR}.io", "tf.io")
linalg = explaining(f"{_DOOR}.linalg", "tf.linalg")
math = explaining(f"{_DOOR}.math", "tf.math")
nest = explaining(f"{_DOOR}.nest", "tf.nest")
nn = explaining(f"{_DOOR}.nn", "tf.nn")
random = explaining(f"{_DOOR}.random", "tf.random")
signal = explaining(f"{_DOOR}.signal", "tf.signal")
keras = explaining("podium.compat.keras", "keras", "Keras")
backend = explaining("podium.compat.keras.backend", "keras.backend", "Keras")
