"""The climate that every test runs in: strict promotion, several devices, warnings are errors."""

import os
import pathlib

os.environ.setdefault("PJRT_NPROC", "16")  # more threads than devices: collectives on few cores would deadlock

import jax

# One cache for each worker: two that write the same entry at once would read each other's halves.
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
_CACHE = pathlib.Path(__file__).parent.parent / ".cache" / f"xla-{_WORKER}"

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_compilation_cache_dir", str(_CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

import hypothesis
import pytest

import podium

hypothesis.settings.register_profile("podium", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("podium")


@pytest.fixture(autouse=True)
def fresh_start():
    """Every test starts from the same seed, the same automatic names and the default settings."""
    podium.utils.set_random_seed(0)
    podium.core.reset_names()
    podium.core.set_dtype_policy(None)
    podium.run_functions_eagerly(False)
    yield
    assert podium.core._state.current.recorders == (), "a tape was left open"
    assert podium.core._state.current.scope is None, "a trace was left open"
