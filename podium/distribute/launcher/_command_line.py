"""The command line of `podium launch`, with and without `--ray`."""

from __future__ import annotations

import argparse
import os

from podium.distribute.elastic._elastic_job import launch_on_ray
from podium.distribute.elastic._options import (
    ElasticOptions,
    find_address,
    parse_environment,
    parse_resources,
    parse_worker_range,
)
from podium.distribute.launcher._launch import GRACE_SECONDS, launch

_DESCRIPTION = """\
Start a script several times, as the workers of one MultiWorkerMirroredStrategy: on this machine,
or with --ray on the nodes of a Ray cluster. Their output is prefixed with the index of the worker.
When one fails, all are stopped; with --ray they are started again if a worker or node was lost.
SIGINT, SIGTERM and SIGHUP are passed on to the workers, which may save and exit.
"""


def main(arguments: list[str]) -> int:
    """Run `podium launch` with its arguments, and return the exit status: that of the first worker
    that failed.
    """
    parser = _make_parser()
    options = parser.parse_args(arguments)
    command = [options.script, *options.script_arguments]
    try:
        if options.ray:
            return launch_on_ray(command, _elastic_options(options))
        workers = _check_local(options)
    except ValueError as error:
        parser.error(str(error))
    return launch(command, workers, options.devices, options.heartbeat, options.grace)


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="podium launch", description=_DESCRIPTION)
    parser.add_argument(
        "--workers", default="2", help="number of workers (2), or with --ray MINIMUM:MAXIMUM"
    )
    parser.add_argument(
        "--devices", type=int, help="number of virtual CPU devices of each worker (1)"
    )
    parser.add_argument(
        "--heartbeat",
        type=float,
        help="seconds of silence after which a worker counts as lost (30)",
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=GRACE_SECONDS,
        help="seconds between a signal and the end of workers that still run (30)",
    )
    _add_ray_arguments(parser.add_argument_group("on a Ray cluster, with --ray"))
    parser.add_argument("script", help="the script, or -m for a module")
    parser.add_argument(
        "script_arguments", nargs=argparse.REMAINDER, metavar="arguments", help="its arguments"
    )
    return parser


def _add_ray_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--ray", action="store_true", help="run the workers on a Ray cluster")
    group.add_argument(
        "--address",
        help="address of the cluster; by default RAY_ADDRESS, or else one is started on this "
        "machine",
    )
    group.add_argument(
        "--cpus-per-worker", type=float, metavar="N", help="CPUs that each worker reserves (1)"
    )
    group.add_argument(
        "--gpus-per-worker", type=float, metavar="N", help="GPUs that each worker reserves (0)"
    )
    group.add_argument(
        "--resource",
        action="append",
        metavar="NAME=N",
        help="another resource of Ray that each worker reserves, such as TPU=4",
    )
    group.add_argument(
        "--one-per-node",
        action="store_true",
        help="never place two workers on one node; otherwise it is avoided where possible",
    )
    group.add_argument(
        "--env",
        action="append",
        metavar="NAME[=VALUE]",
        help="another environment variable for the workers; those of JAX, XLA, NCCL, Python and "
        "Podium are passed on already",
    )
    group.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="for how long to wait for the minimum of workers before exiting with 75 (no limit)",
    )
    group.add_argument(
        "--max-restarts",
        type=int,
        metavar="N",
        help="how often in sequence lost workers are replaced without a new checkpoint (5)",
    )


def _elastic_options(options: argparse.Namespace) -> ElasticOptions:
    """Validate the options of `--ray`.

    Raises:
        ValueError: One is not valid; the message names it.
    """
    smallest, largest = parse_worker_range(options.workers)
    _check_devices(options.devices)
    return ElasticOptions(
        smallest,
        largest,
        parse_resources(
            1.0 if options.cpus_per_worker is None else options.cpus_per_worker,
            options.gpus_per_worker or 0.0,
            options.resource or (),
        ),
        one_per_node=options.one_per_node,
        address=find_address(options.address),
        devices=options.devices,
        heartbeat=30.0 if options.heartbeat is None else options.heartbeat,
        grace=options.grace,
        wait=options.wait,
        max_restarts=5 if options.max_restarts is None else options.max_restarts,
        environment=parse_environment(options.env or (), os.environ),
    )


def _check_local(options: argparse.Namespace) -> int:
    """Return the number of workers on this machine.

    Raises:
        ValueError: It is not one number, or there are options that need `--ray`.
    """
    names = ("address", "cpus_per_worker", "gpus_per_worker", "resource", "env", "wait")
    for name in (*names, "one_per_node", "max_restarts"):
        value = getattr(options, name)
        if value is not None and value is not False:
            raise ValueError(
                f"--{name.replace('_', '-')} was given without --ray. Add --ray to run the workers "
                "on a Ray cluster."
            )
    smallest, largest = parse_worker_range(options.workers)
    if ":" in options.workers:
        raise ValueError(
            f"--workers {options.workers} was given without --ray: on this machine the number is "
            f"fixed. Write --workers {largest}, or add --ray."
        )
    _check_devices(options.devices)
    return smallest


def _check_devices(devices: int | None) -> None:
    if devices is not None and devices < 1:
        raise ValueError(f"--devices {devices}: at least 1 was expected.")
