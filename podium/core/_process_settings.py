"""Settings of the process for debugging and output: limits of runs, logging, tracebacks, flags.

Owns the values. `podium/data` applies the limit of steps, `podium/models` that of epochs,
`podium/callbacks` writes to the terminal or to the log.
"""

from __future__ import annotations

import dataclasses
import os
from typing import NoReturn

from podium.core._errors import unknown_choice
from podium.core._jax_config import jax_config
from podium.core._validation import check_int


def _limit_from_environment(name: str) -> int | None:
    text = os.environ.get(name)
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"The environment variable {name}={text!r}: a positive int was expected.")
    return int(text)


@dataclasses.dataclass
class _ProcessSettings:
    max_epochs: int | None = _limit_from_environment("KERAS_MAX_EPOCHS")
    max_steps_per_epoch: int | None = _limit_from_environment("KERAS_MAX_STEPS_PER_EPOCH")
    interactive_logging: bool = True
    flash_attention: bool | None = None


_settings = _ProcessSettings()


def max_epochs() -> int | None:
    """Return the number of epochs to which every `fit` is limited; None without a limit.

    Example:
        >>> podium.config.max_epochs() is None
        True
    """
    return _settings.max_epochs


def set_max_epochs(max_epochs: int | None) -> None:
    """Limit the epochs of every `fit`, to try out a script without changing it.

    The environment variable `KERAS_MAX_EPOCHS` sets the limit from outside.

    Args:
        max_epochs: The limit; None removes it.

    Example:
        >>> podium.config.set_max_epochs(2)
        >>> podium.config.max_epochs()
        2
        >>> podium.config.set_max_epochs(None)
    """
    _settings.max_epochs = None if max_epochs is None else check_int("max_epochs", max_epochs)


def max_steps_per_epoch() -> int | None:
    """Return the number of batches to which every epoch is limited; None without a limit.

    Example:
        >>> podium.config.max_steps_per_epoch() is None
        True
    """
    return _settings.max_steps_per_epoch


def set_max_steps_per_epoch(max_steps_per_epoch: int | None) -> None:
    """Limit the batches of every epoch of `fit`, and of `evaluate` and `predict`.

    The environment variable `KERAS_MAX_STEPS_PER_EPOCH` sets the limit from outside.

    Args:
        max_steps_per_epoch: The limit; None removes it.

    Example:
        >>> podium.config.set_max_steps_per_epoch(3)
        >>> podium.config.max_steps_per_epoch()
        3
        >>> podium.config.set_max_steps_per_epoch(None)
    """
    _settings.max_steps_per_epoch = (
        None
        if max_steps_per_epoch is None
        else check_int("max_steps_per_epoch", max_steps_per_epoch)
    )


def enable_interactive_logging() -> None:
    """Write progress and messages to standard output, as by default.

    Example:
        >>> podium.config.enable_interactive_logging()
    """
    _settings.interactive_logging = True


def disable_interactive_logging() -> None:
    """Write progress and messages to the logger "podium" of Python's `logging`, as level INFO: for
    jobs on a server.

    Example:
        >>> podium.config.disable_interactive_logging()
        >>> podium.config.is_interactive_logging_enabled()
        False
        >>> podium.config.enable_interactive_logging()
    """
    _settings.interactive_logging = False


def is_interactive_logging_enabled() -> bool:
    """Return whether progress and messages are written to standard output.

    Example:
        >>> podium.config.is_interactive_logging_enabled()
        True
    """
    return _settings.interactive_logging


def enable_traceback_filtering() -> None:
    """Leave the frames of tracing and compiling out of the tracebacks of errors, as by default.

    Example:
        >>> podium.config.enable_traceback_filtering()
    """
    if jax_config.jax_traceback_filtering == "off":
        jax_config.update("jax_traceback_filtering", "auto")


def disable_traceback_filtering() -> None:
    """Show all frames in tracebacks, those of Podium and of JAX: for debugging either of them. It
    is JAX's own switch, `jax_traceback_filtering`.

    Example:
        >>> podium.config.disable_traceback_filtering()
        >>> podium.config.is_traceback_filtering_enabled()
        False
        >>> podium.config.enable_traceback_filtering()
    """
    jax_config.update("jax_traceback_filtering", "off")


def is_traceback_filtering_enabled() -> bool:
    """Return whether internal frames are left out of tracebacks.

    Example:
        >>> podium.config.is_traceback_filtering_enabled()
        True
    """
    return bool(jax_config.jax_traceback_filtering != "off")


def enable_flash_attention() -> None:
    """Allow attention layers to choose the fused kernel of a GPU.

    None of Podium's layers chooses it by itself; `flash_attention=True` of a layer requests it.

    Example:
        >>> podium.config.enable_flash_attention()
    """
    _settings.flash_attention = None


def disable_flash_attention() -> None:
    """Forbid attention layers to choose the fused kernel; a layer's `flash_attention=True` still
    requests it, as in Keras.

    Example:
        >>> podium.config.disable_flash_attention()
        >>> podium.config.is_flash_attention_enabled()
        False
        >>> podium.config.enable_flash_attention()
    """
    _settings.flash_attention = False


def is_flash_attention_enabled() -> bool | None:
    """Return False if the fused kernel was disabled, and otherwise None, as in Keras.

    Example:
        >>> podium.config.is_flash_attention_enabled() is None
        True
    """
    return _settings.flash_attention


def is_nnx_enabled() -> bool:
    """Return whether layers are modules of Flax NNX: never, Podium has its own.

    Example:
        >>> podium.config.is_nnx_enabled()
        False
    """
    return False


def set_backend(backend: str) -> None:
    """Accept "jax", the only backend.

    Raises:
        ValueError: Another backend was requested.

    Example:
        >>> podium.config.set_backend("jax")
        >>> podium.config.set_backend("torch")
        Traceback (most recent call last):
        ValueError: Unknown backend 'torch'. Choices: 'jax'. Podium computes with JAX only; ...
    """
    if backend != "jax":
        raise ValueError(
            f"{unknown_choice('backend', backend, ('jax',))} Podium computes with JAX only; use "
            "Keras itself for another backend."
        )


def enable_unsafe_deserialization() -> NoReturn:
    """Raise: code in files is never run, so there is nothing to enable.

    Raises:
        ValueError: Always.

    Example:
        >>> podium.config.enable_unsafe_deserialization()
        Traceback (most recent call last):
        ValueError: enable_unsafe_deserialization() was called; Podium never runs code ...
    """
    raise ValueError(
        "enable_unsafe_deserialization() was called; Podium never runs code from a file, such as "
        "the bytecode of a Lambda layer, whatever the setting. Pass the function itself: "
        "`load_model(path, custom_objects={'name': function})`, or register it with "
        "`@podium.saving.register_keras_serializable()`."
    )
