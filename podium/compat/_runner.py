"""`python -m podium`: runs a script, a module or a command as Python does, with Podium in place of
TensorFlow and Keras.

Excerpts of Keras's own source, which users copy as training loops, use a few names without
importing them. A program run this way finds those names behind Python's builtins, so a name that
the program defines itself takes precedence.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from types import ModuleType, TracebackType

from podium import callbacks, optimizers
from podium.compat._import_hook import install
from podium.compat._importers import __file__ as importers_file
from podium.compat._importers import hide_frames
from podium.compat._verify_command import main as verify_command
from podium.distribute import scale_loss_for_distribution
from podium.distribute.internal import main as launch

USAGE = """\
usage: python -m podium script.py [arguments...]
       python -m podium -m module [arguments...]
       python -m podium -c command [arguments...]
       podium launch [--ray] [--workers N] script.py [arguments...]
       podium verify [--write-digests] path [paths...]

Run a program written for TensorFlow or Keras, unmodified, on Podium: imports of tensorflow, keras
and tf_keras find Podium's names. The real packages are imported inside of `with
podium.compat.real_imports():` alone, and nothing outside of this run changes.

Names that excerpts of Keras's training loop use without importing them are found too, unless the
program defines them: optimizers, callbacks_module, scale_loss_for_distribution."""

FALLBACKS: dict[str, object] = {
    "optimizers": optimizers,
    "callbacks_module": callbacks,
    "scale_loss_for_distribution": scale_loss_for_distribution,
}


def main(arguments: list[str]) -> int:
    """Run the command line and return the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(USAGE + "\n")
        return 0 if arguments else 2
    option, parameters = arguments[0], arguments[1:]
    if option == "launch" and not os.path.exists("launch"):
        return launch(parameters)
    if option == "verify" and not os.path.exists("verify"):
        return verify_command(parameters)
    if option in ("-m", "-c"):
        if not parameters:
            sys.stderr.write(
                f"python -m podium: {option} needs "
                f"{'a module' if option == '-m' else 'a command'}.\n\n{USAGE}\n"
            )
            return 2
        return _run_module(parameters) if option == "-m" else _run_command(parameters)
    if option.startswith("-"):
        sys.stderr.write(f"python -m podium: unknown option {option!r}.\n\n{USAGE}\n")
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
    _set_first_path(os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = arguments
    return _execute(source, path, __file__=path)


def _run_command(arguments: list[str]) -> int:
    _set_first_path("")
    sys.argv[:] = ["-c", *arguments[1:]]
    return _execute(arguments[0].encode(), "<string>")


def _run_module(arguments: list[str]) -> int:
    _set_first_path(os.getcwd())
    sys.argv[:] = arguments
    install()
    for name, value in FALLBACKS.items():
        # runpy creates the namespace of the module itself.
        vars(builtins).setdefault(name, value)
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    except (Exception, KeyboardInterrupt) as error:
        return _report(error)
    return 0


def _set_first_path(directory: str) -> None:
    """Put the program's directory first in `sys.path`, as Python does without `-P`."""
    if not sys.flags.safe_path:
        sys.path[0] = directory


def _execute(source: bytes, filename: str, **attributes: object) -> int:
    """Run source as the module `__main__`, with the fallbacks behind Python's builtins."""
    install()
    module = ModuleType("__main__")
    vars(module).update(attributes, __builtins__={**FALLBACKS, **vars(builtins)})
    sys.modules["__main__"] = module
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), vars(module))
    except (Exception, KeyboardInterrupt) as error:
        return _report(error)
    return 0


def _report(error: BaseException) -> int:
    """Print a traceback without frames of this file and of runpy; return the exit status."""
    hide_frames(error, lambda file: file == importers_file)
    hidden = (__file__, runpy.__file__, "<frozen runpy>")
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename in hidden:
        traceback = traceback.tb_next
    sys.stdout.flush()
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
