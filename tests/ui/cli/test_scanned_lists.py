"""`list` and `search` with a filter that no index leads to print what they find while they look through the list."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from inspector.inspection import inspect_trace
from inspector.model import ExternalId, Instant, Part, Role, Trace, Turn
from storage import Paging, ScanStep, open_store
from ui.cli.group import weaklink

_TRACES = 30
_WAYS = (("list", "--json"), ("list",), ("list", "--color", "always"), ("search", "--json"), ("search",))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty traces in stretches of four; every third has a name of its own."""
    path = tmp_path / "t.db"
    monkeypatch.setenv("WEAKLINK_DB", str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, traces in (("FIRST_STEP", 4), ("_NARROWEST", 4), ("_WIDEST", 4)):
        monkeypatch.setattr(f"storage.finding.{name}", traces)
    monkeypatch.setattr("ui.cli.list_traces._SCREEN", 1)
    turns = (Turn(Role.USER, (Part("text", "The weather."),)),)
    made = [
        Trace(
            turns, f"run {at % 3} of {at}", started=Instant(float(at)), external_ids=(ExternalId("session", str(at)),)
        )
        for at in range(_TRACES)
    ]
    with open_store(path) as store:
        store.save((trace, inspect_trace(trace)) for trace in made)
    return path


def _run(*words: str) -> Result:
    return CliRunner().invoke(weaklink, words)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", _WAYS)
def test_all_that_matches_is_printed_in_its_order(way: tuple[str, ...]) -> None:
    done = _run(*way, "name:*0*of*", "--limit", "100")
    assert done.exit_code == 0, done.output
    found = [line for line in done.stdout.splitlines() if "run 0 of" in line]
    assert [f"run 0 of {at}" in line for at, line in zip(range(27, -1, -3), found, strict=True)] == [True] * 10
    assert done.stderr == ""  # it is no terminal


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", _WAYS)
def test_ctrl_c_leaves_what_was_found_and_says_how_far_it_came(
    way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Paging, "scan_step", _interrupted_at(4, Paging.scan_step))
    done = _run(*way, "name:*0*of*")
    assert done.exit_code == 130
    assert [at for at in range(0, _TRACES, 3) if re.search(rf"run 0 of {at}\b", done.stdout)] == [18, 21, 24, 27]
    assert f"interrupted; 12 of {_TRACES} traces were scanned" in done.stderr


def _interrupted_at(number: int, step: Callable[..., ScanStep]) -> Callable[..., ScanStep]:
    calls = 0

    def counted(*words: Any, **options: Any) -> ScanStep:
        nonlocal calls
        calls += 1
        if calls == number:
            raise KeyboardInterrupt
        return step(*words, **options)

    return counted


def test_the_first_rows_are_printed_before_the_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paging, "scan_step", _interrupted_at(2, Paging.scan_step))
    done = _run("list", "--json", "name:*0*of*")
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == ["run 0 of 27"]


def test_no_match_is_said_at_the_end() -> None:
    assert "no trace matches this filter" in _run("list", "name:*zzz*").stderr
    assert "no trace contains these words" in _run("search", "name:*zzz*").stderr
