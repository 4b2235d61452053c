"""The error for a step that needs more memory than the device has.

It owns the recognition of XLA's errors and the text of ours. When it is raised is the matter of the
methods that run steps: XLA reports the error late, when results are read.
"""

from __future__ import annotations

import jax

from podium.core.internal import Program

_MARKS = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether XLA could not allocate memory."""
    return isinstance(error, jax.errors.JaxRuntimeError) and any(
        mark in str(error) for mark in _MARKS
    )


def out_of_memory_error(
    error: BaseException, batch_size: int | None, program: Program | None
) -> MemoryError:
    """Return an error with the batch size, the memory of the step's program, and remedies.

    Args:
        error: What XLA raised.
        batch_size: The number of samples in a batch; None if it is not known.
        program: The program that ran; None if it is not known.
    """
    batch = "" if batch_size is None else f" for a batch of {batch_size} samples"
    memory = "" if program is None else _describe_memory(program)
    return MemoryError(
        f"There is not enough memory to run a step{batch}. XLA reports: "
        f"{str(error).strip()[:300]} {memory}To need less: pass a smaller batch_size "
        "(`gradient_accumulation_steps` of the optimizer keeps the effective one), set "
        "steps_per_execution=1, recompute activations with `podium.remat` or `RematScope`, use the "
        "dtype policy 'mixed_bfloat16', or a strategy that splits the batch or the model among "
        "devices."
    )


def _describe_memory(program: Program) -> str:
    sizes = program.memory_sizes()
    parts = ", ".join(f"{size / 2**20:,.1f} MiB for {name}" for name, size in sizes.items())
    return f"The program of the step needs {parts}. "
