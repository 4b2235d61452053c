"""`python -m podium`: runs a script, a module or a command as Python would, with Podium in the
place of TensorFlow and Keras.

Excerpts of Keras's own source, which people fork as training loops, use a few names without
importing them. A program run this way finds those names behind Python's builtins, so a name that it
defines itself always wins.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from types import ModuleType, TracebackType
from typing import Any

from podium import callbacks, optimizers
from podium.compat._import_hook import install
from podium.distribute import scale_loss_for_distribution
from podium.distribute.internal import main as launch

USAGE = """\
usage: python -m podium script.py [arguments...]
       python -m podium -m module [arguments...]
       python -m podium -c command [arguments...]
       podium launch [--workers N] script.py [arguments...]

Run a program that was written for TensorFlow or Keras, unmodified, on Podium: imports of tensorflow, keras and tf_keras
find Podium's names. The real packages are never imported, and nothing outside of this run changes.

Names that excerpts of Keras's training loop use without importing them are found too, unless the program defines them:
optimizers, callbacks_module, scale_loss_for_distribution."""

FALLBACKS: dict[str, Any] = {
    "optimizers": optimizers,
    "callbacks_module": callbacks,
    "scale_loss_for_distribution": scale_loss_for_distribution,
}


def main(arguments: list[str]) -> int:
    """Run what the command line asks for and return the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(USAGE + "\n")
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    if first == "launch" and not os.path.exists("launch"):
        return launch(rest)
    if first in ("-m", "-c"):
        if not rest:
            sys.stderr.write(
                f"python -m podium: {first} needs {'a module' if first == '-m' else 'a command'}.\n"
                f"\n{USAGE}\n"
            )
            return 2
        return _run_module(rest) if first == "-m" else _run_command(rest)
    if first.startswith("-"):
        sys.stderr.write(f"python -m podium: unknown option {first!r}.\n\n{USAGE}\n")
        return 2
    return _run_script(arguments)


def command() -> int:
    """Run the command `podium`, and return its exit status."""
    return main(sys.argv[1:])


def _run_script(arguments: list[str]) -> int:
    path = arguments[0]
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"python -m podium: can't open file {path!r}: {error.strerror}\n")
        return 2
    _look_first_in(os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = arguments
    return _execute(source, path, __file__=path)


def _run_command(arguments: list[str]) -> int:
    _look_first_in("")
    sys.argv[:] = ["-c", *arguments[1:]]
    return _execute(arguments[0].encode(), "<string>")


def _run_module(arguments: list[str]) -> int:
    _look_first_in(os.getcwd())
    sys.argv[:] = arguments
    install()
    for name, value in FALLBACKS.items():
        vars(builtins).setdefault(
            name, value
        )  # runpy makes the module's namespace, out of our reach
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    except (Exception, KeyboardInterrupt) as error:
        return _report(error)
    return 0


def _look_first_in(folder: str) -> None:
    """Put the program's folder where Python puts it; `python -P` leaves it out."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _execute(source: bytes, filename: str, **known: Any) -> int:
    """Run source as the module `__main__`, with our fallbacks behind Python's builtins."""
    install()
    module = ModuleType("__main__")
    vars(module).update(known, __builtins__={**FALLBACKS, **vars(builtins)})
    sys.modules["__main__"] = module
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), vars(module))
    except (Exception, KeyboardInterrupt) as error:
        return _report(error)
    return 0


def _report(error: BaseException) -> int:
    """Print a traceback that begins where the program begins; the frames of this file and of runpy
    are left out.
    """
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    frames: TracebackType | None = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in ours:
        frames = frames.tb_next
    sys.stdout.flush()
    sys.excepthook(type(error), error.with_traceback(frames), frames)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
