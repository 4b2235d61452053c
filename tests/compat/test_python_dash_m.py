"""`python -m podium` runs a program as Python does, with Podium for TensorFlow and Keras."""

import importlib
import subprocess
import sys
import textwrap

import pytest

from podium import compat

IMPORTS = """
    import sys
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.keras import layers
    import tensorflow.keras as same_keras
    import tensorflow.keras.losses as losses
    from tensorflow.keras.optimizers import Adam
    from tensorflow.python.keras import layers as old_layers
    from keras import ops
    import keras as plain_keras, tf_keras
    from tensorflow.math import reduce_mean
    import podium
    assert keras is same_keras is tf_keras is tf.keras
    assert (plain_keras.__version__, keras.__version__) == ("3.15.1", "2.15.0")
    assert (plain_keras.backend.backend(), keras.backend.backend()) == ("jax", "tensorflow")
    assert plain_keras.layers is layers and plain_keras.Model is keras.Model
    assert layers is old_layers and losses is podium.losses and ops is podium.ops
    assert layers.Dense is podium.layers.Dense
    assert Adam is podium.optimizers.Adam and tf.GradientTape is podium.GradientTape
    assert podium.layers.__spec__.name == "podium.layers"
    assert podium.layers.__name__ == "podium.layers"
    names = [name for name in sys.modules if name.startswith("tensorflow.")]
    assert all("Podium" in sys.modules[name].__doc__ or "podium" in sys.modules[name].__name__
               for name in names)
"""
PROGRAM = f"""{IMPORTS}
    assert __name__ == "__main__" and sys.modules["__main__"].tf is tf
    print(sys.argv, __file__, sys.path[0])
    print(optimizers is podium.optimizers, callbacks_module is podium.callbacks, end=" ")
    print(scale_loss_for_distribution(2.0))
    import neighbor
    print(neighbor.SIZE, [len for len in [3]], max(1, 2))
    def fail():
        return tf.reduce_men
    if "fail" in sys.argv:
        fail()
    if "exit" in sys.argv:
        sys.exit(7)
"""


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def directory(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "program.py").write_text(textwrap.dedent(PROGRAM))
    (inner / "neighbor.py").write_text("import keras\nSIZE = 5\n")
    return tmp_path


def test_script_runs_as_main(directory):
    result = run("inner/program.py", "a", "--b", cwd=directory)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        f"['inner/program.py', 'a', '--b'] inner/program.py {directory / 'inner'}",
        "True True 2.0",
        "5 [3] 2",
    ]


def test_traceback_shows_the_script_only_and_exit_code_is_kept(directory):
    result = run("inner/program.py", "fail", cwd=directory)
    assert result.returncode == 1
    assert (
        "in fail" in result.stderr
        and "_runner.py" not in result.stderr
        and "runpy" not in result.stderr
    )
    assert (
        "tf.reduce_men is not in Podium's subset of TensorFlow. Nearest: tf.reduce_mean"
        in result.stderr
    )
    assert run("inner/program.py", "exit", cwd=directory).returncode == 7


def test_modules_and_commands_run(directory):
    result = run("-m", "inner.program", "x", cwd=directory)
    assert "neighbor" in result.stderr  # as with python -m, the module's directory is not searched
    result = run(
        "-c",
        "import sys, tensorflow as tf; print(sys.argv, tf.__version__); 1 / 0",
        "y",
        cwd=directory,
    )
    assert result.stdout == "['-c', 'y'] 2.15.0\n"
    assert (
        result.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
        and "_runner" not in result.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "usage: python -m podium script.py"),
        (["--help"], 0, "usage: python -m podium script.py"),
        (["--fast", "a.py"], 2, "unknown option '--fast'"),
        (["-m"], 2, "-m needs a module"),
        (["nowhere.py"], 2, "can't open file 'nowhere.py': No such file or directory"),
    ],
)
def test_command_line_prints_usage_and_errors(arguments, status, message, capsys):
    from podium.compat._runner import main

    assert main(arguments) == status
    printed = capsys.readouterr()
    assert message in printed.out + printed.err


@pytest.fixture
def installed():
    compat.install()
    yield
    compat.uninstall()


def test_install_and_uninstall(installed):
    exec(textwrap.dedent(IMPORTS), {})
    compat.install()  # a second call has no effect
    assert importlib.import_module("tensorflow.keras.layers") is compat.keras.layers
    with pytest.raises(
        ModuleNotFoundError,
        match=r"No module named 'tensorflow\.lite': Podium replaces this package",
    ):
        importlib.import_module("tensorflow.lite")
    compat.uninstall()
    assert not [
        name
        for name in sys.modules
        if name.partition(".")[0] in ("tensorflow", "keras", "tf_keras")
    ]


def test_install_raises_if_the_real_package_is_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", sys)
    with pytest.raises(RuntimeError, match="keras is already imported"):
        compat.install()
