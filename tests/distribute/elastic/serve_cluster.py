"""Runs a Ray cluster of several nodes until stdin is closed; prints its address and token.

Usage: python -m tests.distribute.elastic.serve_cluster NUMBER_OF_NODES. A process of its own, since
Ray's threads and sockets outlive a test.
"""

import os
import sys

from tests.distribute.elastic.ray_nodes import RayNodes
from tests.distribute.parameter_server.kill_processes import mark_processes

if __name__ == "__main__":
    mark_processes()
    with RayNodes(int(sys.argv[1])) as nodes:
        print(nodes.address, os.environ["RAY_AUTH_TOKEN"], flush=True)
        sys.stdin.read()
