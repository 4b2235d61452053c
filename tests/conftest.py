"""The climate that every test runs in: strict promotion, several devices, warnings are errors."""

import os
import pathlib
import signal

os.environ.setdefault(
    "PJRT_NPROC", "16"
)  # more threads than devices: collectives on few cores would deadlock

# Programs of tests run once, on small arrays: they are compiled quickly rather than well, three
# times sooner. `JAX_DISABLE_MOST_OPTIMIZATIONS=0 XLA_FLAGS= make test` tests the programs that
# users get.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import jax

if jax.__version_info__ < (0, 11):  # XLA aborts if a later version does not know these
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    )

# Workers share the cache: an entry that one reads while another writes it fails its checksum, and
# is compiled again.
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


_compiled = []  # a compiled program holds more than a megabyte for as long as JAX remembers it
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **details: (
        _compiled.append(seconds) if event.endswith("backend_compile_duration") else None
    )
)


@pytest.fixture(autouse=True)
def bounded_memory():
    yield
    if len(_compiled) > 1500:
        _compiled.clear()
        jax.clear_caches()


@pytest.fixture
def ctrl_c():
    """Let SIGINT interrupt, as in a terminal: what a shell started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def fresh_start():
    """Every test starts from the same seed, the same automatic names and the default settings."""
    podium.utils.set_random_seed(0)
    podium.core.reset_names()
    podium.core.set_dtype_policy(None)
    podium.run_functions_eagerly(False)
    outside = find_top_trace(())
    yield
    left_open = find_top_trace(()) is not outside
    set_current_trace(
        outside
    ).__enter__()  # one test that leaves a trace open shall not fail all that follow
    assert not left_open, "a trace of JAX was left open"
    assert podium.core._context.context.tapes == (), "a tape was left open"
    assert podium.core._context.context.scope is None, "a trace was left open"
