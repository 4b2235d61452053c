"""Tracebacks without the frames between a training loop and the step that it traces."""

from __future__ import annotations

import os
import types

import jax

_PODIUM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MACHINERY = (
    os.path.join(_PODIUM, "core") + os.sep,
    os.path.join(_PODIUM, "execution") + os.sep,
    os.path.dirname(os.path.abspath(jax.__file__)) + os.sep,
    os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "contextlib.py"),
)


def without_machinery(error: Exception) -> Exception:
    """Take the frames of tracing and compiling out of an error's traceback, and JAX's remark that
    it did the like.

    The last frame, where it happened, always stays. JAX's own switch shows everything:
    `jax.config.update("jax_traceback_filtering", "off")`.
    """
    if jax.config.jax_traceback_filtering == "off":  # type: ignore[attr-defined]
        return error
    notes = getattr(error, "__notes__", [])
    notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept: types.TracebackType | None = None
    for entry in reversed(frames):
        if kept is None or not entry.tb_frame.f_code.co_filename.startswith(_MACHINERY):
            kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(kept)
