"""Speaking to the user: on whatever `sys.stdout` is when something is written, and by warnings at
the user's own line.

It knows whether a line can be drawn over, and how long it may be for that.
"""

from __future__ import annotations

import os
import shutil
import sys


def write_stdout(text: str) -> None:
    """Write and flush; nothing happens in a program without an output."""
    if sys.stdout is not None:
        sys.stdout.write(text)
        sys.stdout.flush()


def can_redraw() -> bool:
    """Tell whether a line can be drawn over: in a terminal or a notebook, not in a pipe or a
    file.
    """
    isatty = getattr(sys.stdout, "isatty", None)
    return bool(isatty and isatty()) or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ


def terminal_width() -> int | None:
    """Return how long a line may be without wrapping around (a wrapped line cannot be drawn over);
    None without a terminal.
    """
    isatty = getattr(sys.stdout, "isatty", None)
    return shutil.get_terminal_size().columns - 1 if isatty and isatty() else None
