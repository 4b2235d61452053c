"""The import hook of the tests: what `keras.src` and its private modules are on Podium.

A test file is found under the name that it has in Keras, and read from the installed package. All
other modules of `keras.src` are made of names of Podium: those that `MODULES` lists, or else those
of the package that the path begins with (`keras.src.layers.core.dense`: `podium.layers`).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from keras_tests.operations import find_operation
from podium.compat._import_hook import install as install_podium
from podium.compat._module_paths import make_module

ROOT = "keras.src"
_OPS = f"{ROOT}.ops."
_CORE = "podium.core"
_BACKEND = (
    "podium.ops.internal:result_type",
    "podium.compat.keras3.backend:backend",
    "keras_tests.backend",
    _CORE,
    "podium.ops",
)

# As in `podium/compat/_module_paths.py`, without the prefix.
MODULES: dict[str, tuple[str, ...]] = {
    "": ("podium.models:Model=Functional", "podium.compat.keras3", "podium.compat.keras"),
    "backend": _BACKEND,
    "backend.common": _BACKEND,
    "backend.common.backend_utils": ("keras_tests.transposed_convolution",),
    "backend.common.dtypes": _BACKEND,
    "backend.common.global_state": ("keras_tests.global_state",),
    "backend.common.keras_tensor": _BACKEND,
    "backend.common.masking": _BACKEND,
    "backend.common.name_scope": _BACKEND,
    "backend.common.remat": (_CORE,),
    "backend.common.stateless_scope": _BACKEND,
    "backend.common.symbolic_scope": _BACKEND,
    "backend.common.variables": (f"{_CORE}:Variable=KerasVariable", *_BACKEND),
    "backend.config": ("podium.compat.keras3.config", "podium.compat.keras.config"),
    "backend.core": (_CORE,),
    "backend.image": ("podium.ops.image",),
    "backend.jax": _BACKEND,
    "backend.jax.core": _BACKEND,
    "backend.jax.trainer": ("keras_tests.trainer",),
    "backend.linalg": ("podium.ops.linalg",),
    "backend.math": ("podium.ops",),
    "backend.nn": ("podium.ops.nn", "podium.ops"),
    "backend.numpy": ("podium.ops.numpy", "podium.ops"),
    "backend.random": ("podium.random",),
    "config": ("podium.compat.keras3.config", "podium.compat.keras.config"),
    "distillation": ("podium.compat.keras.distillation",),
    "distillation.distillation_loss": ("podium.compat.keras.distillation",),
    "distillation.distiller": ("podium.compat.keras.distillation",),
    "distribution": ("podium.compat.keras.distribution",),
    "dtype_policies": (_CORE, "podium.compat.keras.dtype_policies"),
    "dtype_policies.dtype_policy": (_CORE, "podium.compat.keras.dtype_policies"),
    "dtype_policies.dtype_policy_map": (_CORE, "podium.compat.keras.dtype_policies"),
    "distribution.distribution_lib": ("podium.compat.keras.distribution",),
    "layers.preprocessing.image_preprocessing.bounding_boxes": ("podium.utils.bounding_boxes",),
    "legacy": ("podium.compat.keras.legacy",),
    "legacy.saving.legacy_h5_format": ("keras_tests.legacy_h5",),
    "models": ("podium.models:Model=Functional", "podium.models"),
    "models.functional": ("podium.models:Model=Functional", "podium.models"),
    "models.model": ("podium.saving:model_from_json", "podium.models"),
    "ops": (f"{_CORE}:KerasTensor", "podium.ops"),
    "ops.operation_utils": ("keras_tests.helpers",),
    "ops.core": ("podium.ops",),
    "ops.image": ("podium.ops.image", "podium.ops"),
    "ops.einops": ("podium.ops",),
    "ops.linalg": ("podium.ops.linalg", "podium.ops"),
    "ops.math": ("podium.ops",),
    "ops.nn": ("podium.ops.nn", "podium.ops"),
    "ops.numpy": ("podium.ops.numpy", "podium.ops"),
    "ops.random": ("podium.random",),
    "ops.node": (_CORE,),
    "ops.operation": ("podium.layers", "podium.compat.keras:Operation"),
    "optimizers.schedules": ("podium.optimizers.schedules",),
    "random": ("podium.random",),
    "random.seed_generator": (f"{_CORE}:draw_seed", "podium.random"),
    "saving.object_registration": ("podium.saving", "podium.utils"),
    "saving.saving_api": ("podium.saving",),
    "saving.saving_lib": (
        "keras_tests.saving:_MEMORY_UPPER_BOUND",
        "keras_tests.saving:_CONFIG_FILENAME",
        "keras_tests.saving:_METADATA_FILENAME",
        "keras_tests.saving",
        "podium.saving",
    ),
    "saving.serialization_lib": ("podium.saving",),
    "testing": ("keras_tests.test_case",),
    "testing.test_case": ("keras_tests.test_case",),
    "testing.test_utils": ("keras_tests.test_utils",),
    "tree": ("podium.compat.keras.tree",),
    "tree.tree_api": ("podium.compat.keras.tree",),
    "trainers": ("podium.models",),
    "trainers.data_adapters": ("podium.data",),
    "trainers.data_adapters.py_dataset_adapter": ("podium.utils:PyDataset",),
    "trainers.trainer": ("keras_tests.trainer",),
    "utils": ("keras_tests.helpers", "podium.utils"),
    "utils.file_utils": ("os.path:join", "os.path:exists", "podium.utils:get_file"),
    **{
        f"utils.{name}": ("podium.utils",)
        for name in (
            *("audio_dataset_utils", "dataset_utils", "image_dataset_utils", "image_utils"),
            *("model_visualization", "progbar", "sequence_utils", "text_dataset_utils"),
            "timeseries_dataset_utils",
        )
    },
    "utils.naming": (f"{_CORE}:auto_name", f"{_CORE}:snake_case=to_snake_case"),
    "utils.numerical_utils": ("podium.utils",),
    "utils.python_utils": ("keras_tests.helpers",),
    "utils.rng_utils": ("podium.utils",),
    "utils.summary_utils": ("podium.models",),
    "utils.traceback_utils": (_CORE,),
    "utils.io_utils": (_CORE, "podium.utils"),
    "utils.module_utils": ("keras_tests.optional_modules",),
    "wrappers": ("podium.compat.keras.wrappers",),
}


class MissingNameError(Exception):
    """A test uses a name of Keras that Podium does not have."""


class Placeholder(ModuleType):
    """A module, class or function that Podium does not have: it can be imported, but not used.

    So the other tests of a file can run.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _MissingAttributeError(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise MissingNameError(self.__name__)

    def __mro_entries__(self, bases: Any) -> Any:
        raise MissingNameError(self.__name__)


class _MissingAttributeError(MissingNameError, AttributeError):
    """The import system looks for attributes first."""


class KerasSourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `keras.src` and its modules, the test files among them.

    Args:
        sources: The folder `keras/src` of an installed Keras.
    """

    def __init__(self, sources: pathlib.Path) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for `keras.src`, its modules and `conftest`; None for other names."""
        if fullname == "conftest":
            return importlib.util.find_spec("keras_tests.conftest_names")
        if fullname != ROOT and not fullname.startswith(f"{ROOT}."):
            return None
        if fullname.endswith("_test"):
            file = self._sources.joinpath(*fullname.split(".")[2:]).with_suffix(".py")
            return importlib.util.spec_from_file_location(fullname, file)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return a module with Podium's names, or a placeholder if Podium has none."""
        sources = self._names_of(spec.name)
        if sources is None:
            return Placeholder(spec.name)
        module = make_module(spec.name, sources)
        _import_submodules_lazily(module)
        return module

    def _names_of(self, fullname: str) -> tuple[str, ...] | None:
        """Return what a module is made of, or None if nothing of Podium corresponds to it."""
        path = fullname.removeprefix(ROOT).removeprefix(".")
        if path in MODULES:
            return MODULES[path]
        file = self._sources.joinpath(*path.split("."))
        package = path.partition(".")[0]
        is_module = file.is_dir() or file.with_suffix(".py").exists()
        if not is_module or package in ("backend", "core", "data", "export", "testing", "utils"):
            return None  # a class or function that the module above does not have, or private
        try:
            importlib.import_module(f"podium.{package}")
        except ModuleNotFoundError:
            return None
        return (f"podium.{package}",)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has its names already."""


def install(sources: pathlib.Path) -> None:
    """Make `import keras` import Podium, and `keras.src` what this module lists."""
    sys.dont_write_bytecode = True  # the installed Keras stays as it is
    install_podium()
    sys.meta_path.insert(0, KerasSourceFinder(sources))


def test_module_name(sources: pathlib.Path, file: pathlib.Path) -> str:
    """Return the name that a test file has in Keras, such as `keras.src.layers.layer_test`."""
    return ".".join((ROOT, *file.relative_to(sources).with_suffix("").parts))


def _import_submodules_lazily(module: ModuleType) -> None:
    """Replace the modules that are attributes of a module by those that this finder makes."""
    name = module.__name__
    inner = {key for key, value in vars(module).items() if isinstance(value, ModuleType)}
    prefix = f"{name.removeprefix(ROOT).removeprefix('.')}.".removeprefix(".")
    inner |= {path.removeprefix(prefix) for path in MODULES if path.startswith(prefix)} - {""}
    for key in inner:
        vars(module).pop(key, None)
    raise_missing = vars(module)["__getattr__"]

    def __getattr__(key: str) -> Any:
        if key in inner:
            return importlib.import_module(f"{name}.{key}")
        if key.startswith("__"):
            return raise_missing(key)
        operation = find_operation(key, vars(module)) if f"{name}.".startswith(_OPS) else None
        if operation is not None:
            vars(module)[key] = operation
            return operation
        raise _MissingAttributeError(f"{name}.{key}")

    vars(module)["__getattr__"] = __getattr__
