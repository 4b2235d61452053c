"""Whether the outputs of `predict` will fit into memory, said before anything is computed."""

from __future__ import annotations

import os

from podium.core import warn_user


def available_memory() -> int | None:
    """Return how many bytes can be taken without swapping, or None where the system does not
    say.
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
    return None


def warn_if_too_large(size: int) -> None:
    """Warn of outputs of so many bytes if less memory is available."""
    available = available_memory()
    if available is not None and size > available:
        warn_user(
            f"The outputs of `predict` will take {_written(size)}, and {_written(available)} of "
            "memory are available. Take them batch by batch, `for outputs in "
            "model.predict_iter(x)`, or have them written to a file as they come, "
            "`model.predict(x, out=np.memmap(...))`."
        )


def _written(size: int) -> str:
    """Write a number of bytes in a unit that people read."""
    power = min(4, max(0, size.bit_length() - 1) // 10)
    return f"{size / 1024**power:.{min(power, 1)}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
