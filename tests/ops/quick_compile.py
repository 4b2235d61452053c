"""Compiles quickly instead of well, 8 times sooner: programs of these tests run once, on small arrays."""

import jax

OPTIONS = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
if jax.__version_info__ < (0, 11):  # options that later versions of XLA do not have
    OPTIONS |= {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


def quick(f):
    """Like `jax.jit`, with little optimization."""
    return jax.jit(f, compiler_options=OPTIONS)
