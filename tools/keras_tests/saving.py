"""What tests import as `keras.src.saving.saving_lib`, beside names of `podium.saving`."""

from __future__ import annotations

from typing import Any

import podium

_CONFIG_FILENAME = "config.json"
_METADATA_FILENAME = "metadata.json"
_MEMORY_UPPER_BOUND = 0.5  # tests set it to reach the other way of writing, of which Podium has one


def save_weights_only(model: Any, filepath: Any, **options: Any) -> None:
    """Save the weights of a model."""
    podium.saving.save_weights(model, filepath, **options)


def load_weights_only(model: Any, filepath: Any, **options: Any) -> None:
    """Load the weights of a model."""
    podium.saving.load_weights(model, filepath, **options)
