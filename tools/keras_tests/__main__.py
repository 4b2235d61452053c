"""Runs Keras's unit tests on Podium, and writes what they showed.

    PYTHONPATH=tools python -m keras_tests --keras SITE_PACKAGES [--out docs/keras_tests.md]
    PYTHONPATH=tools python -m keras_tests --keras SITE_PACKAGES losses layers/core
    PYTHONPATH=tools python -m keras_tests --keras SITE_PACKAGES --report-only

Each family is one pytest process, which is started again after the test in which it died. Results
are kept in `--results`; the families named are run again, the others as they are.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

from keras_tests import report, results

HERE = pathlib.Path(__file__).parent
FAMILIES = (
    *("trainers", "callbacks", "models", "layers", "losses", "saving", "metrics", "optimizers"),
    *("activations", "initializers", "constraints", "regularizers", "dtype_policies", "random"),
    *("tree", "utils", "legacy", "wrappers", "datasets", "distillation", "distribution"),
    *("backend/common", "quantizers", "export", "applications", "testing", "ops"),
)
_MAX_DEATHS = 10  # of the process of one family


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", help="folders or files; by default all are run")
    parser.add_argument("--keras", type=pathlib.Path, required=True, help="its site-packages")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(".cache/keras_tests"))
    parser.add_argument("--out", type=pathlib.Path, help="the page to write")
    parser.add_argument("--note", default="", help="a sentence for the page, on a partial run")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    options = parser.parse_args()
    sources = (options.keras / "keras" / "src").resolve()
    options.results.mkdir(parents=True, exist_ok=True)
    if not options.report_only:
        for family in options.families or FAMILIES:
            if (sources / family).exists():
                run_family(sources, family, options.results, options.timeout)
    tests = results.load(options.results, results.Rules.load(), results.public_names(options.keras))
    print(report.summary(tests))
    if options.out is not None:
        options.out.write_text(report.page(tests, options.note))
    return 0


def run_family(sources: pathlib.Path, family: str, folder: pathlib.Path, timeout: int) -> None:
    """Run the tests of a folder or file, and append their results to one file."""
    file = (folder / family.replace("/", "-")).with_suffix(".jsonl").resolve()
    file.unlink(missing_ok=True)
    paths = [str(HERE.parent), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # programs of tests run once
        "PJRT_NPROC": "16",
        **os.environ,
        "KERAS_BACKEND": "jax",
        "PYTHONPATH": os.pathsep.join(paths),
        "KERAS_TESTS_SOURCES": str(sources),
        "KERAS_TESTS_RESULTS": str(file),
    }
    command = [sys.executable, "-m", "pytest", "-c", str(HERE / "pytest.ini")]
    command += ["--rootdir", str(sources), "-p", "keras_tests.plugin", "--timeout", str(timeout)]
    for _ in range(_MAX_DEATHS):
        print(f"Running {family} ...", flush=True)
        done = subprocess.run([*command, str(sources / family)], env=environment, check=False)
        if done.returncode >= 0 and done.returncode in (0, 1, 2, 5):
            return
    print(f"{family}: the process died {_MAX_DEATHS} times.")


if __name__ == "__main__":
    sys.exit(main())
