"""UnknownLogs: a warning for names in `log_reductions` that no step returns."""

from __future__ import annotations

from collections.abc import Collection

from podium.core import closest_match, warn_user


class UnknownLogs:
    """The names of one kind of step that its logs are checked for, once each.

    A training step and a test step need not return the same names. So a test step is not expected
    to return every name, and a warning is given for what looks like a typing error only.

    Args:
        step_name: The name of the step.
        names: The names that reductions were given for.

    Example:
        >>> from podium.models.training._unknown_logs import UnknownLogs
        >>> UnknownLogs("test_step", ["loss", "grad_norm"]).report(["loss", "mae"])
    """

    def __init__(self, step_name: str, names: Collection[str]):
        self._step_name = step_name
        self._names = set(names)
        self._is_test = step_name == "test_step"

    def report(self, logs: Collection[str]) -> None:
        """Warn of names that the logs of a step do not have."""
        if not self._names:
            return
        unknown, self._names = sorted(self._names - set(logs)), set()
        for name in unknown:
            similar = name.removeprefix("val_")
            suggestion = similar if similar in logs else closest_match(name, list(logs))
            if suggestion or not self._is_test:
                hint = f" Did you mean {suggestion!r}?" if suggestion else ""
                returned = ", ".join(map(repr, logs))
                warn_user(
                    f"compile was given log_reductions[{name!r}], and `{self._step_name}` returned "
                    f"{returned}.{hint} A reduction is chosen by the name that a step returns, and "
                    "holds for training and for validation."
                )
