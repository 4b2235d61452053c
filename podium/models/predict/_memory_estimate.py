"""A warning, before anything is computed, of outputs of `predict` that do not fit in memory."""

from __future__ import annotations

from podium.core import warn_user
from podium.core.internal import available_memory

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def warn_if_too_large(num_bytes: int) -> None:
    """Warn of outputs of this size if less memory is available."""
    available = available_memory()
    if available is not None and num_bytes > available:
        warn_user(
            f"The outputs of `predict` will take {_format_bytes(num_bytes)}, and "
            f"{_format_bytes(available)} of memory are available. Process them batch by batch, "
            "`for outputs in model.predict_iter(x)`, or have them written to a file as they are "
            "computed, `model.predict(x, out=np.memmap(...))`."
        )


def _format_bytes(num_bytes: int) -> str:
    """Return a number of bytes with a readable unit."""
    power = min(len(_UNITS) - 1, max(0, num_bytes.bit_length() - 1) // 10)
    return f"{num_bytes / 1024**power:.{min(power, 1)}f} {_UNITS[power]}"
