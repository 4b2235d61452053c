"""Numbers that may only fall: each measurement is compared with the one in `ratchets.toml`."""

import pathlib
import tomllib

import code_size
import pytest
import type_coverage
from source_tree import Checkout

pytestmark = pytest.mark.static

FILE = pathlib.Path(__file__).with_name("ratchets.toml")
RATCHETS = tomllib.loads(FILE.read_text())
MEASURES = {
    "bare_any_arguments_percent": type_coverage.bare_any_arguments,
    "bare_any_returns_percent": type_coverage.bare_any_returns,
    "type_ignores": type_coverage.count_type_ignores,
    "modules_under_45_lines": lambda checkout: code_size.modules_below(checkout, 45),
}
MARGIN = 0.2  # how far below its limit a number may be before the limit has to follow


def test_every_ratchet_is_measured():
    assert set(RATCHETS) == set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_number_does_not_rise(name):
    limit, value = RATCHETS[name], MEASURES[name](Checkout())
    assert value <= limit, (
        f"{name} rose from {limit} to {value:g}. Bring it back: `make metrics` prints the numbers,"
        " `python tools/type_coverage.py podium/PACKAGE` lists what is bare `Any`."
    )
    assert value >= limit * (1 - MARGIN), (
        f"{name} fell from {limit} to {value:g}: lower the limit in {FILE.name}."
    )
