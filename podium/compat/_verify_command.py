"""The command `podium verify`: compares files with their checksums, and prints reports.

`podium.saving.verify` does the work.
"""

from __future__ import annotations

import argparse
import sys

from podium.saving import verify, write_digests

_STATUS = {"verified": 0, "damaged": 1, "partial": 3, "unknown": 3}


def main(arguments: list[str]) -> int:
    """Run `podium verify` with its arguments, and return the exit status: 0 if everything is
    verified, 1 if something is damaged or missing, 3 if something has no checksum.
    """
    parser = argparse.ArgumentParser(
        prog="podium verify",
        description="Compare models, weights, checkpoints and exported programs with their "
        "checksums. The exit status is 0 if everything was compared and fits, 1 if something is "
        "damaged or missing, and 3 if something has no checksum.",
    )
    parser.add_argument(
        "--write-digests",
        action="store_true",
        help="write digests of each path to PATH.sha256.json, for formats without checksums",
    )
    parser.add_argument("paths", nargs="+", metavar="path", help="a file or directory")
    options = parser.parse_args(arguments)
    statuses = [_verify(path, options.write_digests) for path in options.paths]
    return 1 if 1 in statuses else max(statuses)


def _verify(path: str, with_digests: bool) -> int:
    """Print the report of one path, and return its exit status."""
    try:
        if with_digests:
            sys.stdout.write(f"{write_digests(path)}: written\n")
        report = verify(path)
    except (OSError, ValueError) as error:
        sys.stdout.flush()
        sys.stderr.write(f"podium verify: {error}\n")
        return 1
    sys.stdout.write(f"{report}\n")
    return _STATUS[report.status]
