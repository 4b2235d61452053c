"""A short version of `make fuzz`; and each of its checks finds what it is for."""

import os

import fuzz
import pytest
from fuzz_formats import FORMATS


@pytest.mark.slow
def test_damaged_and_forged_files_are_harmless():
    results = fuzz.run(4 * len(FORMATS), seed=1)
    assert [result for result in results if result.get("faults")] == []
    assert {result["format"] for result in results} == {item.name for item in FORMATS}
    outcomes = {result["outcome"] for result in results}
    assert {"rejected", "same values", "loaded"} <= outcomes


@pytest.fixture(scope="module")
def canary(tmp_path_factory):
    canary = fuzz.Canary(tmp_path_factory.mktemp("canary"))
    canary.install()
    return canary


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda outside: exec(compile("0", "<fuzz>", "exec")), "exec <fuzz>"),
        (lambda outside: open(outside / "file", "w").close(), "for writing"),
        (lambda outside: os.system("true"), "os.system"),
        (lambda outside: __import__("module_of_no_package"), "import module_of_no_package"),
    ],
)
def test_canary_records_what_reading_must_not_do(canary, tmp_path, action, expected):
    canary.events.clear()
    canary.is_armed = True
    try:
        action(tmp_path)
    except ImportError:
        pass
    finally:
        canary.is_armed = False
    assert expected in canary.events[0]


def test_memory_and_messages_are_measured(tmp_path):
    with fuzz.Measured() as measured:
        content = bytearray(os.urandom(1 << 20) * 150)
        del content
    assert measured.num_bytes > 120 << 20
    path = tmp_path / "w.h5"
    assert fuzz.describe_bad_message(f"{path} is damaged", path, None) is None
    assert "does not name" in fuzz.describe_bad_message("is damaged", path, None)
    assert "2100 characters" in fuzz.describe_bad_message("x" * 2100, path, None)
