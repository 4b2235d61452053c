"""Tracebacks without the frames between a training loop and the step that it traces."""

from __future__ import annotations

import os
import types

import jax

from podium.core.internal import jax_config

_PODIUM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INTERNAL_PATHS = (
    os.path.join(_PODIUM, "core") + os.sep,
    os.path.join(_PODIUM, "execution") + os.sep,
    os.path.dirname(os.path.abspath(jax.__file__)) + os.sep,
    os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "contextlib.py"),
)


def remove_internal_frames(error: Exception) -> Exception:
    """Remove the frames of tracing and compiling from an error's traceback, and JAX's note on the
    same.

    A function that sets `__tracebackhide__` is left out too. The last frame, where the error was
    raised, always stays. JAX's own switch shows everything:
    `jax.config.update("jax_traceback_filtering", "off")`.
    """
    if jax_config.jax_traceback_filtering == "off":
        return error
    notes = getattr(error, "__notes__", [])
    notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]
    entries = []
    traceback = error.__traceback__
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    kept: types.TracebackType | None = None
    for entry in reversed(entries):
        if kept is None or not _is_internal(entry.tb_frame):
            kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(kept)


def _is_internal(frame: types.FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(_INTERNAL_PATHS) or "__tracebackhide__" in code.co_varnames
