"""Randomness as state: a SeedGenerator keeps its place in a Variable, so compiled steps draw anew
each time.
"""

from __future__ import annotations

import math
import random as python_random
import secrets
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core._context import context, override
from podium.core._names import auto_name
from podium.core.tensor._variable import Variable

_KEY_KIND = "threefry2x32"  # two words of state, on every device


class SeedGenerator:
    """A stream of random keys that can be saved, restored and repeated.

    Its state is a Variable of two numbers, the seed and a count of draws. Inside `podium.function`
    each call of the function draws differently, as in plain Python.

    Args:
        seed: A whole number; by default one is drawn from the global generator.
        name: A name for the state.

    Example:
        >>> generator = podium.random.SeedGenerator(42)
        >>> a, b = generator.next(), generator.next()
        >>> bool((a == b).all())
        False
        >>> generator.state.numpy()
        array([42,  2], dtype=uint32)
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **kwargs: Any):
        if kwargs.pop("backend", None) or kwargs:
            raise ValueError(f"SeedGenerator does not know the arguments {sorted(kwargs)}.")
        if seed is None:
            seed = make_default_seed()
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise TypeError(f"seed={seed!r} was given; a whole number was expected.")
        self.name = name or auto_name("seed_generator")
        self._initial_seed = int(seed)
        self.state = Variable(
            np.array([int(seed) % 2**32, 0], dtype=np.uint32),
            trainable=False,
            name=f"{self.name}_state",
            aggregation="only_first_replica",
        )

    @property
    def initial_seed(self) -> int:
        """The seed it was made with."""
        return self._initial_seed

    def next(self, ordered: bool = True) -> jax.Array:
        """Return the key of the next draw as two numbers, and move on."""
        with override(tapes=()):
            words = self.state.read()
            self.state.assign(words + jnp.array([0, 1], jnp.uint32))
        if context.replica_axes is not None:  # each replica draws its own numbers
            key = jax.random.wrap_key_data(words, impl=_KEY_KIND)
            return jax.random.key_data(
                jax.random.fold_in(key, jax.lax.axis_index(context.replica_axes))
            )
        return words

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this generator again."""
        return {"seed": self._initial_seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """Make a generator from `get_config`'s result."""
        return cls(**config)


_global: dict[str, Any] = {"generator": None, "seed_count": 0}


def global_seed_generator() -> SeedGenerator:
    """Return the generator that draws without a seed of their own use.

    Example:
        >>> podium.utils.set_random_seed(1)
        >>> podium.core.global_seed_generator().initial_seed
        1
    """
    if _global["generator"] is None:
        _global["generator"] = SeedGenerator(secrets.randbits(31), name="global_seed_generator")
    return _global["generator"]


def make_default_seed() -> int:
    """Draw a seed for a new generator from Python's generator, which `set_random_seed` fixes."""
    return python_random.randint(
        1, 10**9
    )  # Keras's range, so that one seed gives Keras's default weights


def draw_seed(seed: Any = None) -> jax.Array:
    """Return a JAX random key for one draw.

    Args:
        seed: None draws from the global generator, a SeedGenerator from that one; a whole number
            always gives the same key.

    Example:
        >>> import jax
        >>> jax.random.uniform(podium.core.draw_seed(7)) == jax.random.uniform(podium.core.draw_seed(7))
        Array(True, dtype=bool)
    """
    if seed is None:
        words = global_seed_generator().next()
    elif isinstance(seed, SeedGenerator):
        words = seed.next()
    elif isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        words = jnp.array([int(seed) % 2**32, 0], jnp.uint32)
    else:
        raise TypeError(
            f"seed={seed!r} was given; None, a whole number or a SeedGenerator was expected."
        )
    return jax.random.wrap_key_data(words, impl=_KEY_KIND)


def draw_flat(draw: Callable[[tuple], jax.Array], shape: Any) -> jax.Array:
    """Draw random numbers in one dimension and give them their shape: the same numbers, compiled
    far sooner.

    XLA takes 4 to 6 seconds on CPU to compile a draw of shape (3, 3, 4, 9), and 0.35 for the flat
    one.

    Args:
        draw: A function of a shape, such as `lambda shape: jax.random.normal(key, shape)`.
        shape: The wanted shape.

    Example:
        >>> import jax
        >>> podium.core.draw_flat(lambda shape: jax.random.uniform(jax.random.key(0), shape), (2, 3)).shape
        (2, 3)
    """
    shape = tuple(shape)
    return draw(shape) if len(shape) < 2 else draw((math.prod(shape),)).reshape(shape)


def seed_count() -> int:
    """Return how often `set_random_seed` has been called, to notice that it was.

    Example:
        >>> before = podium.core.seed_count()
        >>> podium.utils.set_random_seed(3)
        >>> podium.core.seed_count() - before
        1
    """
    return _global["seed_count"]


def random_state() -> dict[str, Any]:
    """Return where Python's and NumPy's generators are, and the global seed, as plain data.

    The place of Podium's own generators is in their Variables.

    Example:
        >>> import random
        >>> state = podium.core.random_state()
        >>> first = random.random()
        >>> podium.core.set_random_state(state)
        >>> random.random() == first
        True
    """
    kind, keys, *rest = np.random.get_state()
    numpy_state = {"kind": kind, "keys": np.asarray(keys), "rest": rest}
    return {
        "python": python_random.getstate(),
        "numpy": numpy_state,
        "seed": global_seed_generator().initial_seed,
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Put back what `random_state` returned.

    Example:
        >>> podium.core.set_random_state(podium.core.random_state())
    """
    python_random.setstate(state["python"])
    np.random.set_state((state["numpy"]["kind"], state["numpy"]["keys"], *state["numpy"]["rest"]))
    global_seed_generator()._initial_seed = state["seed"]


def set_random_seed(seed: int) -> None:
    """Fix the seeds of Python, NumPy and Podium, so that a run repeats bit for bit on one machine.

    Example:
        >>> podium.utils.set_random_seed(3)
        >>> a = podium.random.normal(())
        >>> podium.utils.set_random_seed(3)
        >>> float(a) == float(podium.random.normal(()))
        True
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed={seed!r} was given; a whole number was expected.")
    python_random.seed(seed)
    np.random.seed(int(seed) % 2**32)
    _global["seed_count"] += 1
    if _global["generator"] is None:
        _global["generator"] = SeedGenerator(int(seed), name="global_seed_generator")
    # compiled functions may know the Variable already, so it stays and only its value changes
    else:
        _global["generator"]._initial_seed = int(seed)
        _global["generator"].state.assign(np.array([int(seed) % 2**32, 0], dtype=np.uint32))
