"""VerifyReport: what `saving.verify` has compared, and what cannot be known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

_NUM_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class VerifyReport:
    """The result of `saving.verify`. It is true if everything in the file was compared with a
    checksum, and fits.

    Attributes:
        path: What was verified.
        format: The format, such as `"keras archive"`.
        checked: What was compared with a checksum and fits, with the kind of checksum.
        unknown: What has no checksum, so that damage in it cannot be found.
        problems: What is damaged, missing or does not fit its checksum.

    Example:
        >>> report = podium.saving.VerifyReport("w.h5", "HDF5", [], ["the array 'w'"], [])
        >>> report.status, bool(report)
        ('unknown', False)
    """

    path: str
    format: str
    checked: Sequence[str]
    unknown: Sequence[str]
    problems: Sequence[str]

    @property
    def status(self) -> str:
        """One of "verified", "partial" (something has no checksum), "unknown" (nothing has one)
        and "damaged".
        """
        if self.problems:
            return "damaged"
        if self.unknown:
            return "partial" if self.checked else "unknown"
        return "verified" if self.checked else "unknown"

    @property
    def verified(self) -> bool:
        """Whether everything was compared with a checksum, and fits."""
        return self.status == "verified"

    def __bool__(self) -> bool:
        return self.verified

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.status} ({self.format})"]
        for title, items in (
            ("problem", self.problems),
            ("unknown", self.unknown),
            ("checked", self.checked),
        ):
            lines += [f"  {title}: {item}" for item in items[:_NUM_SHOWN]]
            if len(items) > _NUM_SHOWN:
                lines.append(f"  {title}: ... and {len(items) - _NUM_SHOWN} more")
        return "\n".join(lines)
