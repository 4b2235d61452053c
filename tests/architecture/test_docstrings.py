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


def doors():
    yield podium
    for info in pkgutil.walk_packages(podium.__path__, "podium."):
        if info.ispkg and "._" not in info.name:
            yield importlib.import_module(info.name)


def public_names():
    seen = set()
    for door in doors():
        for name, value in sorted(vars(door).items()):
            if name.startswith("_") or isinstance(value, types.ModuleType) or id(value) in seen:
                continue
            if callable(value):
                seen.add(id(value))
                yield f"{door.__name__}.{name}", value


NAMES = list(public_names())
FLOAT = re.compile(r"\d+\.\d*(?:e[+-]?\d+)?")


class Checker(doctest.OutputChecker):
    """Lets floats differ by two roundings of the largest of them, as they do between processors;
    all else must be as written.
    """

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        ours, theirs = ([float(number) for number in FLOAT.findall(text)] for text in (got, want))
        same_text = super().check_output(FLOAT.sub("0.", want), FLOAT.sub("0.", got), flags)
        return (
            same_text
            and len(ours) == len(theirs) > 0
            and np.allclose(ours, theirs, rtol=0, atol=2.4e-7 * max(theirs))
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
    doctest.DocTestRunner(checker=Checker(), optionflags=flags, verbose=False).run(
        test, out=report.append
    )
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
