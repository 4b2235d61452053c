"""The settings of all tests: strict dtype promotion, several devices, fixed seeds."""

import os
import pathlib
import signal

# More threads than devices: collectives on few cores would deadlock otherwise.
os.environ.setdefault("PJRT_NPROC", "16")

# Programs of tests run once, on small arrays, so they are compiled without optimizations, which is
# three times faster. `JAX_DISABLE_MOST_OPTIMIZATIONS=0 XLA_FLAGS= make test` tests the programs
# that users run.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax

if jax.__version_info__ < (0, 11):  # XLA aborts if a later version does not support these
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    )

# Workers share the cache: if one reads an entry while another writes it, the checksum does not
# match and the program is compiled again.
_CACHE = pathlib.Path(__file__).parent.parent / ".cache" / "xla"

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_compilation_cache_dir", str(_CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

import hypothesis
import pytest

import podium
from podium.core.compile._restore_on_error import find_top_trace, set_current_trace

hypothesis.settings.register_profile("podium", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("podium")


_compiled = []  # a compiled program takes more than a megabyte while JAX caches it
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **details: (
        _compiled.append(seconds) if event.endswith("backend_compile_duration") else None
    )
)


@pytest.fixture(autouse=True)
def clear_compiled_programs():
    yield
    if len(_compiled) > 1500:
        _compiled.clear()
        jax.clear_caches()


@pytest.fixture
def ctrl_c():
    """Handle SIGINT as in a terminal: processes that a shell starts in the background ignore it."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(autouse=True)
def default_settings():
    """Start every test with the same seed, the same automatic names and the default settings."""
    podium.utils.set_random_seed(0)
    podium.core.reset_names()
    podium.core.set_dtype_policy(None)
    podium.run_functions_eagerly(False)
    outer_trace = find_top_trace(())
    yield
    left_open = find_top_trace(()) is not outer_trace
    # A test that leaves a trace open must not make the following ones fail.
    set_current_trace(outer_trace).__enter__()
    assert not left_open, "a JAX trace was left open"
    assert podium.core._context.context.tapes == (), "a tape was left open"
    assert podium.core._context.context.scope is None, "a variable scope was left open"
