"""ElasticOptions: what `podium launch --ray` was asked for, validated before Ray starts."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Mapping

# Settings of these libraries apply to the workers too; other variables are those of their nodes.
_FORWARDED_PREFIXES = ("JAX_", "XLA_", "NCCL_", "GLOO_", "PODIUM_", "PYTHON", "TF_CPP_")
_RESOURCE_OPTIONS = {"CPU": "--cpus-per-worker", "GPU": "--gpus-per-worker"}


@dataclasses.dataclass(frozen=True)
class ElasticOptions:
    """How many workers a job has, what each needs, and when the job gives up.

    Attributes:
        min_workers: With fewer, the job waits.
        max_workers: The group grows up to this number.
        resources: What each worker reserves, by the names of Ray: "CPU", "GPU", or others.
        one_per_node: Whether no two workers may be on one node.
        address: The address of the Ray cluster; None for one on this machine, started for the job.
        devices: The number of virtual CPU devices of each worker.
        heartbeat: Seconds of silence after which a worker counts as lost.
        grace: Seconds between a signal to the launcher and the end of the workers.
        wait: Seconds to wait for the minimum of workers; None for no limit.
        max_restarts: How often in sequence the group is formed again without a new checkpoint.
        environment: Further environment variables of the workers.
    """

    min_workers: int
    max_workers: int
    resources: Mapping[str, float]
    one_per_node: bool = False
    address: str | None = None
    devices: int | None = None
    heartbeat: float = 30.0
    grace: float = 30.0
    wait: float | None = None
    max_restarts: int = 5
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for option, value in (
            ("--heartbeat", self.heartbeat),
            ("--wait", math.inf if self.wait is None else self.wait),
        ):
            if not value > 0:
                raise ValueError(f"{option} {value:g}: a number of seconds above 0 was expected.")
        if not self.grace >= 0:
            raise ValueError(
                f"--grace {self.grace:g}: a number of seconds of 0 or more was expected."
            )
        if self.max_restarts < 0:
            raise ValueError(f"--max-restarts {self.max_restarts}: 0 or more was expected.")


def parse_worker_range(text: str) -> tuple[int, int]:
    """Return the smallest and the largest number of workers: of "4", or of "2:8".

    Raises:
        ValueError: The text is neither, or the numbers are not in order.
    """
    match = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    if match is None:
        raise ValueError(
            f"--workers {text}: a number was expected, or with --ray a minimum and a maximum, such "
            "as 2:8."
        )
    smallest, largest = int(match[1]), int(match[2] or match[1])
    if smallest < 1:
        raise ValueError(f"--workers {text}: at least 1 was expected.")
    if largest < smallest:
        raise ValueError(
            f"--workers {text}: the minimum comes first. Write --workers {largest}:{smallest}."
        )
    return smallest, largest


def parse_resources(cpus: float, gpus: float, others: Iterable[str]) -> dict[str, float]:
    """Return what each worker reserves, by the names of Ray.

    Args:
        cpus: The number of CPUs.
        gpus: The number of GPUs.
        others: Resources such as "TPU=4".

    Raises:
        ValueError: A number is negative, or a text is not of this form.
    """
    if not 0 < cpus < math.inf:
        raise ValueError(f"--cpus-per-worker {cpus:g}: a number above 0 was expected.")
    if not 0 <= gpus < math.inf:
        raise ValueError(f"--gpus-per-worker {gpus:g}: 0 or more was expected.")
    resources = {"CPU": cpus, "GPU": gpus}
    for text in others:
        name, _, amount = text.partition("=")
        if not name or not re.fullmatch(r"\d+(\.\d+)?", amount) or not float(amount) > 0:
            raise ValueError(
                f"--resource {text}: a name and an amount above 0 were expected, such as TPU=4."
            )
        if name in _RESOURCE_OPTIONS:
            raise ValueError(
                f"--resource {text}: use {_RESOURCE_OPTIONS[name]} {amount} for this resource."
            )
        resources[name] = float(amount)
    return {name: amount for name, amount in resources.items() if amount}


def parse_environment(texts: Iterable[str], current: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that workers get: those of this process that configure libraries, and
    those that were named, as "NAME=VALUE", or "NAME" for the value here.

    Raises:
        ValueError: A named variable is not set here, or the name is empty.
    """
    chosen = {
        name: value for name, value in current.items() if name.startswith(_FORWARDED_PREFIXES)
    }
    for text in texts:
        name, separator, value = text.partition("=")
        if not name:
            raise ValueError(f"--env {text}: NAME or NAME=VALUE was expected.")
        if not separator and name not in current:
            raise ValueError(
                f"--env {text}: the variable is not set here. Set it, or write {name}=VALUE."
            )
        chosen[name] = value if separator else current[name]
    return chosen


def find_address(address: str | None) -> str | None:
    """Return the address of the Ray cluster to use: an argument, or `RAY_ADDRESS`."""
    return address or os.environ.get("RAY_ADDRESS") or None
