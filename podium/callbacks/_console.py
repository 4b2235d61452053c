"""Output on the terminal: on the current `sys.stdout`, with whether a line can be redrawn and its
maximum width; or in the log, if interactive logging is disabled.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys

from podium.core import is_interactive_logging_enabled


def write_stdout(text: str) -> None:
    """Write a text and flush; do nothing in a program without standard output. Without interactive
    logging it is a record of the logger "podium".
    """
    if not is_interactive_logging_enabled():
        if message := text.strip():
            logging.getLogger("podium").info("%s", message)
    elif sys.stdout is not None:
        sys.stdout.write(text)
        sys.stdout.flush()


def can_redraw() -> bool:
    """Return whether a line can be redrawn: in a terminal or a notebook, not in a pipe, a file or
    the log.
    """
    if not is_interactive_logging_enabled():
        return False
    isatty = getattr(sys.stdout, "isatty", None)
    return bool(isatty and isatty()) or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ


def terminal_width() -> int | None:
    """Return the maximum length of a line that does not wrap (a wrapped line cannot be redrawn);
    None without a terminal.
    """
    isatty = getattr(sys.stdout, "isatty", None)
    return shutil.get_terminal_size().columns - 1 if isatty and isatty() else None
