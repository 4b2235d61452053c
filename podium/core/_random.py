"""Random seeds: `SeedGenerator` keeps its state in a Variable, so compiled steps draw new numbers.

This file owns the global generator and the functions that seed Python, NumPy and Podium. The
distributions are in `podium.random`.
"""

from __future__ import annotations

import math
import random as python_random
import secrets
from collections.abc import Callable, Iterable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Config, Shape
from podium.core._context import context, override
from podium.core._names import auto_name
from podium.core._public_repr import PublicRepr
from podium.core._validation import check_int
from podium.core.tensor._variable import Variable

_KEY_TYPE = "threefry2x32"  # two uint32 of state, on every device


class SeedGenerator(PublicRepr):
    """A stream of random keys that can be saved, restored and repeated.

    Its state is a Variable of two numbers, the seed and the number of draws. Inside
    `podium.function` each call of the function draws new numbers, as in plain Python.

    Args:
        seed: An int; by default one is drawn from the global generator.
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
            raise ValueError(f"SeedGenerator was given the unknown arguments {sorted(kwargs)}.")
        seed = make_default_seed() if seed is None else check_int("seed", seed, minimum=None)
        self.name = name or auto_name("seed_generator")
        self._initial_seed = seed
        self.state = Variable(
            np.array([seed % 2**32, 0], dtype=np.uint32),
            trainable=False,
            name=f"{self.name}_state",
            aggregation="only_first_replica",
        )
        self.state.is_seed = True

    @property
    def initial_seed(self) -> int:
        """The seed it was created with."""
        return self._initial_seed

    def next(self, ordered: bool = True) -> jax.Array:
        """Return the key of the next draw as two numbers, and advance the state."""
        with override(tapes=()):
            key_data = self.state.read()
            self.state.assign(key_data + jnp.array([0, 1], jnp.uint32))
        if context.replica_axes is not None:  # each replica draws its own numbers
            key = jax.random.wrap_key_data(key_data, impl=_KEY_TYPE)
            return jax.random.key_data(
                jax.random.fold_in(key, jax.lax.axis_index(context.replica_axes))
            )
        return key_data

    def get_config(self) -> Config:
        """Return the arguments that recreate this generator."""
        return {"seed": self._initial_seed}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a generator from the result of `get_config`."""
        return cls(**config)


class _Global:
    """The global generator, and how often `set_random_seed` has been called."""

    generator: SeedGenerator | None = None
    seed_count = 0


def global_seed_generator() -> SeedGenerator:
    """Return the generator of all draws that have no seed of their own.

    Example:
        >>> podium.utils.set_random_seed(1)
        >>> podium.core.global_seed_generator().initial_seed
        1
    """
    if _Global.generator is None:
        _Global.generator = SeedGenerator(secrets.randbits(31), name="global_seed_generator")
    return _Global.generator


def make_default_seed() -> int:
    """Draw a seed for a new generator from Python's generator, which `set_random_seed` seeds."""
    # Keras's range, so that with the same seed the default weights are Keras's.
    return python_random.randint(1, 10**9)


def draw_seed(seed: int | SeedGenerator | None = None) -> jax.Array:
    """Return a JAX random key for one draw.

    Args:
        seed: None draws from the global generator, a SeedGenerator from that one; an int always
            gives the same key.

    Example:
        >>> import jax
        >>> key, same_key = podium.core.draw_seed(7), podium.core.draw_seed(7)
        >>> jax.random.uniform(key) == jax.random.uniform(same_key)
        Array(True, dtype=bool)
    """
    if seed is None:
        key_data = global_seed_generator().next()
    elif isinstance(seed, SeedGenerator):
        key_data = seed.next()
    elif isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        key_data = jnp.array([int(seed) % 2**32, 0], jnp.uint32)
    else:
        raise TypeError(f"seed={seed!r} was given; None, an int or a SeedGenerator was expected.")
    key: jax.Array = jax.random.wrap_key_data(key_data, impl=_KEY_TYPE)
    return key


def draw_flat(draw: Callable[[Shape], jax.Array], shape: Iterable[int]) -> jax.Array:
    """Draw random numbers in one dimension and reshape them: the same numbers, compiled faster.

    XLA takes 4 to 6 seconds on CPU to compile a draw of shape (3, 3, 4, 9), and 0.35 seconds for
    the flat one.

    Args:
        draw: A function of a shape, such as `lambda shape: jax.random.normal(key, shape)`.
        shape: The shape of the result.

    Example:
        >>> import jax
        >>> draw = lambda shape: jax.random.uniform(jax.random.key(0), shape)
        >>> podium.core.draw_flat(draw, (2, 3)).shape
        (2, 3)
    """
    shape = tuple(shape)
    return draw(shape) if len(shape) < 2 else draw((math.prod(shape),)).reshape(shape)


def seed_count() -> int:
    """Return how often `set_random_seed` has been called, to detect a new seed.

    Example:
        >>> previous = podium.core.seed_count()
        >>> podium.utils.set_random_seed(3)
        >>> podium.core.seed_count() - previous
        1
    """
    return _Global.seed_count


def random_state() -> dict[str, Any]:
    """Return the state of Python's and NumPy's generators and the global seed, as plain data.

    The state of Podium's own generators is in their Variables.

    Example:
        >>> import random
        >>> state = podium.core.random_state()
        >>> first = random.random()
        >>> podium.core.set_random_state(state)
        >>> random.random() == first
        True
    """
    kind, keys, *remaining = np.random.get_state()
    # The keys of this dictionary are part of the checkpoint format.
    numpy_state = {"kind": kind, "keys": np.asarray(keys), "rest": remaining}
    return {
        "python": python_random.getstate(),
        "numpy": numpy_state,
        "seed": global_seed_generator().initial_seed,
    }


def drawn_generators(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the names of the global generators that differ between two results of
    `random_state`.
    """
    names = []
    if before["python"] != after["python"]:
        names.append("random")
    first, second = before["numpy"], after["numpy"]
    if first["rest"] != second["rest"] or not np.array_equal(first["keys"], second["keys"]):
        names.append("np.random")
    return names


def set_random_state(state: dict[str, Any]) -> None:
    """Restore the state that `random_state` returned.

    Example:
        >>> podium.core.set_random_state(podium.core.random_state())
    """
    python_random.setstate(state["python"])
    np.random.set_state((state["numpy"]["kind"], state["numpy"]["keys"], *state["numpy"]["rest"]))
    global_seed_generator()._initial_seed = state["seed"]


def set_random_seed(seed: int) -> None:
    """Seed Python, NumPy and Podium, so that a run repeats bit for bit on one machine.

    Example:
        >>> podium.utils.set_random_seed(3)
        >>> a = podium.random.normal(())
        >>> podium.utils.set_random_seed(3)
        >>> float(a) == float(podium.random.normal(()))
        True
    """
    seed = check_int("seed", seed, minimum=None)
    python_random.seed(seed)
    np.random.seed(seed % 2**32)
    _Global.seed_count += 1
    if _Global.generator is None:
        _Global.generator = SeedGenerator(seed, name="global_seed_generator")
    else:  # compiled functions may use its Variable already, so only the value is replaced
        _Global.generator._initial_seed = seed
        _Global.generator.state.assign(np.array([seed % 2**32, 0], dtype=np.uint32))
