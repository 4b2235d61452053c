"""Output on the terminal: on the current `sys.stdout`, with whether a line can be redrawn and its
maximum width.
"""

from __future__ import annotations

import os
import shutil
import sys


def write_stdout(text: str) -> None:
    """Write a text and flush; do nothing in a program without standard output."""
    if sys.stdout is not None:
        sys.stdout.write(text)
        sys.stdout.flush()


def can_redraw() -> bool:
    """Return whether a line can be redrawn: in a terminal or a notebook, not in a pipe or a
    file.
    """
    isatty = getattr(sys.stdout, "isatty", None)
    return bool(isatty and isatty()) or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ


def terminal_width() -> int | None:
    """Return the maximum length of a line that does not wrap (a wrapped line cannot be redrawn);
    None without a terminal.
    """
    isatty = getattr(sys.stdout, "isatty", None)
    return shutil.get_terminal_size().columns - 1 if isatty and isatty() else None
