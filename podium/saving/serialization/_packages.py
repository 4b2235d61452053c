"""The packages whose public names configs may use, under Keras's names for them.

Both directions use this table. A module that a config names is never imported: it selects one of
these packages.
"""

from __future__ import annotations

from types import ModuleType

from podium import (
    activations,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    quantizers,
    random,
    regularizers,
)
from podium.optimizers import schedules

PACKAGES: dict[str, ModuleType] = {
    "activations": activations,
    "constraints": constraints,
    "initializers": initializers,
    "layers": layers,
    "losses": losses,
    "metrics": metrics,
    "optimizers": optimizers,
    "quantizers": quantizers,
    "random": random,
    "regularizers": regularizers,
    "schedules": schedules,
}
# The package of an object, by the first base class that it is an instance of.
BASE_CLASSES: tuple[tuple[type, str], ...] = (
    (layers.Layer, "layers"),
    (initializers.Initializer, "initializers"),
    (regularizers.Regularizer, "regularizers"),
    (constraints.Constraint, "constraints"),
    (losses.Loss, "losses"),
    (metrics.Metric, "metrics"),
    (schedules.LearningRateSchedule, "schedules"),
    (optimizers.Optimizer, "optimizers"),
    (quantizers.Quantizer, "quantizers"),
    (quantizers.QuantizationConfig, "quantizers"),
    (random.SeedGenerator, "random"),
)
_ROOTS = ("keras", "tf_keras", "podium")


def is_builtin_module(module: object) -> bool:
    """Return whether a config names a module of Keras or Podium."""
    return isinstance(module, str) and module.split(".")[0] in _ROOTS


def package_of_module(module: object) -> ModuleType | None:
    """Return the package that a module of Keras corresponds to, or None."""
    if not isinstance(module, str) or not is_builtin_module(module):
        return None
    parts = reversed(module.split("."))
    return next((PACKAGES[part] for part in parts if part in PACKAGES), None)
