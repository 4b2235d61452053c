"""How this process imports Ray, and connects to a cluster of it.

A local cluster is bound to the loopback interface, requires a token, and ends with this process,
with all its files.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import warnings
from typing import Any

from podium.distribute._cluster import is_loopback_name

_OBJECT_STORE_BYTES = 200 << 20  # of a local cluster
# Runs in a process of its own: removes the folder of a local cluster when this process has ended,
# in whatever way. Processes of Ray may write to it for a moment longer.
_REMOVE_FOLDER = """
import os, shutil, sys, time
sys.stdin.read()
for _ in range(100):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
"""


def import_ray(purpose: str = "Parameter servers run", address: str | None = None) -> Any:
    """Import Ray, with token authentication in clusters that this process starts.

    Ray reads these settings when it is imported, and would write a token to the home directory.

    Args:
        purpose: What needs Ray, for the error.
        address: The address of a cluster, which has its own settings.

    Raises:
        ImportError: Ray is not installed.
    """
    if address is None or is_loopback_name(address.rpartition(":")[0].strip("[]")):
        # Where Ray supports single machines only, it binds to the loopback interface; elsewhere it
        # replaces a loopback address by the machine's own.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    if "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ and address is None:
        os.environ["RAY_AUTH_MODE"] = "token"
        if "RAY_AUTH_TOKEN" not in os.environ and "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            f"{purpose} on Ray, which is not installed: `pip install podium[ray]`."
        ) from error
    return ray


def connect_to_ray(num_cpus: int, address: str | None = None) -> contextlib.ExitStack:
    """Connect this process to a cluster, or start a local one; return what disconnects and ends it.

    Args:
        num_cpus: The number of CPUs of a local cluster.
        address: The address of a cluster.
    """
    ray = import_ray(address=address)
    with contextlib.ExitStack() as exits:
        if address is not None:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        else:
            folder = tempfile.mkdtemp(prefix="podium-ray-")
            remover = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _REMOVE_FOLDER, folder],
                stdin=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal does not reach it
            )
            exits.callback(remover.communicate)
            with warnings.catch_warnings():  # the processes are replaced by Ray's at once
                warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
                ray.init(
                    address="local",
                    num_cpus=num_cpus,
                    include_dashboard=False,
                    object_store_memory=_OBJECT_STORE_BYTES,
                    log_to_driver=False,
                    logging_level="ERROR",
                    _node_ip_address="127.0.0.1",
                    _temp_dir=folder,
                )
        exits.callback(ray.shutdown)
        return exits.pop_all()
