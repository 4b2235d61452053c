"""Records the public names of Keras and the parameters of what is behind them.

    <keras env>/bin/python tests/oracle/record_catalogue.py --out tests/oracle/fixtures
    <tf_keras env>/bin/python tests/oracle/record_catalogue.py --package tf_keras --out ...

Writes `catalogue_PACKAGE.json`: {name: [kind, parameters]}, with parameters of None where Python
cannot find them. `tools/catalogue.py` compares them with Podium's.
"""

import argparse
import importlib
import inspect
import json
import pathlib
import pkgutil
import types

PRIVATE = ("src", "_tf_keras", "protobuf")


def parameters_of(value):
    """The names of the parameters of a callable, without self; "*" and "**" mark the variadic."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [marks.get(p.kind, "") + p.name for p in signature.parameters.values()]


def describe(value):
    """The kind of a name and its parameters."""
    if inspect.isclass(value):
        return "class", parameters_of(value)
    if callable(value):
        return "function", parameters_of(value)
    return "constant", None


def public_names(package):
    """Yield every public name of a package and of the public modules in it, once for each path."""
    for info in pkgutil.iter_modules(package.__path__):
        if info.name not in PRIVATE and not info.name.startswith("_"):
            importlib.import_module(f"{package.__name__}.{info.name}")
    pending = [(package, ())]
    while pending:
        module, path = pending.pop()
        for name, value in vars(module).items():
            if name.startswith("_") or name in PRIVATE:
                continue
            if isinstance(value, types.ModuleType):
                is_inside = value.__name__.startswith(f"{package.__name__}.")
                is_public = not any(part in PRIVATE for part in value.__name__.split("."))
                if is_inside and is_public and name not in path:
                    pending.append((value, (*path, name)))
            else:
                yield ".".join((*path, name)), value


def main():
    """Record the names of one package."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="keras")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    package = importlib.import_module(options.package)
    names = {name: describe(value) for name, value in public_names(package)}
    record = {"version": package.__version__, "names": dict(sorted(names.items()))}
    path = options.out / f"catalogue_{options.package}.json"
    path.write_text(json.dumps(record, indent=None, separators=(",", ":")) + "\n")
    print(f"{len(names)} names of {options.package} {package.__version__}")


if __name__ == "__main__":
    main()
