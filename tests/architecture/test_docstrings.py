"""Every public name has a docstring, and the example in it runs and prints what it says."""

import doctest
import importlib
import inspect
import pkgutil
import re
import types

import jax.numpy as jnp
import numpy as np
import pytest

import podium


def public_packages():
    yield podium
    for info in pkgutil.walk_packages(podium.__path__, "podium."):
        is_public = "._" not in info.name and not info.name.endswith(".internal")
        if info.ispkg and is_public:
            yield importlib.import_module(info.name)


def public_names():
    seen = set()
    for package in public_packages():
        for name, value in sorted(vars(package).items()):
            if name.startswith("_") or isinstance(value, types.ModuleType) or id(value) in seen:
                continue
            if callable(value):
                seen.add(id(value))
                yield f"{package.__name__}.{name}", value


NAMES = list(public_names())
FLOAT = re.compile(r"\d+\.\d*(?:e[+-]?\d+)?")


class ApproximateChecker(doctest.OutputChecker):
    """Compares floats up to rounding, which differs between processors, and the rest exactly.

    The tolerance is two roundings of the largest float in the expected output.
    """

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        actual, expected = ([float(text) for text in FLOAT.findall(text)] for text in (got, want))
        same_text = super().check_output(FLOAT.sub("0.", want), FLOAT.sub("0.", got), flags)
        return (
            same_text
            and len(actual) == len(expected) > 0
            and np.allclose(actual, expected, rtol=0, atol=2.4e-7 * max(expected))
        )


@pytest.mark.parametrize(("name", "value"), NAMES, ids=[name for name, _ in NAMES])
def test_example_runs(name, value):
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    assert ">>> " in text, f"{name} has no example"
    names = {"podium": podium, "ops": podium.ops, "np": np, "jnp": jnp}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(ApproximateChecker(), optionflags=flags, verbose=False)
    runner.run(test, out=report.append)
    assert not report, "".join(report)


CLASSES = [(name, value) for name, value in NAMES if inspect.isclass(value)]


@pytest.mark.parametrize(("name", "cls"), CLASSES, ids=[name for name, _ in CLASSES])
def test_public_methods_have_docstrings(name, cls):
    missing = []
    for attribute, value in vars(cls).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not attribute.startswith("_") and inspect.isfunction(function) and not function.__doc__:
            missing.append(attribute)
    assert not missing, f"{name} has methods without a docstring: {missing}"
