"""Checks of arguments that only optimizers have; the general ones are in `podium.core`."""

from __future__ import annotations

from podium.core.internal import check_int, check_number


def check_learning_rate(learning_rate: object) -> float:
    """Return a learning rate as a float of at least 0."""
    try:
        return check_number("learning_rate", learning_rate, 0)
    except TypeError:
        raise TypeError(
            f"learning_rate={learning_rate!r} was given; a number of at least 0, a "
            "LearningRateSchedule or a function of the step was expected, such as "
            "learning_rate=0.001."
        ) from None


def check_optional_number(argument: str, value: object) -> float | None:
    """Return `value` as a float of at least 0, or None for None."""
    return None if value is None else check_number(argument, value, 0)


def check_optional_int(argument: str, value: object, minimum: int = 1) -> int | None:
    """Return `value` as an int of at least `minimum`, or None for None."""
    if value is None:
        return None
    return check_int(argument, value, minimum, or_none=True, type_error=ValueError)


def check_decay_rate(argument: str, value: object) -> float:
    """Return a decay rate such as `beta_1`: a number from 0 to below 1."""
    return check_number(argument, value, 0, 1, below_maximum=True)


def check_single_clipping(
    clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> None:
    """Raise if more than one form of clipping is set."""
    options = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
    settings = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    if len(settings) > 1:
        raise ValueError(
            f"{' and '.join(settings)} were given; only one of clipnorm, clipvalue and "
            "global_clipnorm can be set. Keep one of them."
        )
