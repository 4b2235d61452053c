"""What tests import as `keras.src.legacy.saving.legacy_h5_format`."""

from __future__ import annotations

from typing import Any

import podium


def save_model_to_hdf5(
    model: Any, filepath: Any, overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Save a model in Keras 2's format."""
    podium.saving.save_model(
        model, filepath, overwrite=overwrite, include_optimizer=include_optimizer
    )


def load_model_from_hdf5(
    filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """Load a model from Keras 2's format."""
    return podium.saving.load_model(
        filepath, custom_objects=custom_objects, compile=compile, safe_mode=safe_mode
    )
