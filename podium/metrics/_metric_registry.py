"""The tables of names, empty: `_registry.py` fills them, and wrappers of functions read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import NameRegistry
from podium.metrics._metric import Metric

metrics_by_name = NameRegistry("metric", Metric, module="keras.metrics")
functions_by_name = NameRegistry(
    "metric function", module="keras.metrics"
)  # a name may mean a class above and a function here


def function_name_of(config: Any) -> str | None:
    """Return the name in a config that Keras 3 wrote for a function; None if it is none."""
    if not isinstance(config, Mapping) or config.get("class_name") != "function":
        return None
    return config["config"] if isinstance(config.get("config"), str) else config["registered_name"]
