"""Memory that a step frees stays with the process, unless the user has configured the C library
otherwise.
"""

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, numpy as np, resource
from podium.execution._working_memory import keep_working_memory, return_freed_memory

print(keep_working_memory())
allocate = ctypes.CDLL(None).malloc
allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]

def faults_of_a_piece():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    piece = allocate(2**24)
    ctypes.memset(piece, 1, 2**24)
    free(piece)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults_of_a_piece()
print(min(faults_of_a_piece() for _ in range(5)) < 100)  # of 4096 pages

def resident():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024

before = resident()
return_freed_memory()
print(before - resident() > 2**23)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these thresholds")
@pytest.mark.parametrize(
    ("setting", "kept"), [({}, "True"), ({"MALLOC_TRIM_THRESHOLD_": "131072"}, "False")]
)
def test_freed_memory_is_reused_without_the_kernel(setting, kept):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "GLIBC_"))
    }
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment | setting,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert found == [kept, kept, kept]
