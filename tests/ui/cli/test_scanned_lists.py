"""`list` and `search` print what they find page by page, and what was found before an interrupt."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Instant, Part, Role, Trace, Turn
from weaklink.storage.listing import Listed, Paging
from weaklink.storage.store import open_store
from weaklink.ui.cli.group import weaklink

_TRACES = 30
_WAYS = (("list", "--json"), ("list",), ("list", "--color", "always"), ("search", "--json"), ("search",))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty traces in pages of four; every third has a name of its own."""
    path = tmp_path / "t.db"
    monkeypatch.setenv("WEAKLINK_DB", str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("weaklink.storage.listing._MAX_SCAN_TRACES", 4)
    turns = (Turn(Role.USER, (Part("text", "The weather."),)),)
    made = [
        Trace(
            turns,
            f"run {index % 3} of {index}",
            started=Instant(float(index)),
            external_ids=(ExternalId("session", str(index)),),
        )
        for index in range(_TRACES)
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
    matching = [line for line in done.stdout.splitlines() if "run 0 of" in line]
    assert [f"run 0 of {index}" in line for index, line in zip(range(27, -1, -3), matching, strict=True)] == [True] * 10
    assert done.stderr == ""  # it is no terminal


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", _WAYS)
def test_ctrl_c_leaves_what_was_found_and_says_that_it_is_not_all(
    way: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Paging, "page", _interrupted_at(2, Paging.page))
    done = _run(*way, "name:*0*of*")
    assert done.exit_code == 130
    assert [index for index in range(0, _TRACES, 3) if re.search(rf"run 0 of {index}\b", done.stdout)] == [
        18,
        21,
        24,
        27,
    ]
    assert "interrupted; the list is not complete" in done.stderr


def _interrupted_at(number: int, step: Callable[..., list[Listed]]) -> Callable[..., list[Listed]]:
    calls = 0

    def counted(*words: Any, **options: Any) -> list[Listed]:
        nonlocal calls
        calls += 1
        if calls == number:
            raise KeyboardInterrupt
        return step(*words, **options)

    return counted


def test_the_first_rows_are_printed_before_the_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paging, "page", _interrupted_at(2, Paging.page))
    done = _run("list", "--json", "name:*0*of*")
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == [
        f"run 0 of {index}" for index in (27, 24, 21, 18)
    ]


def test_no_match_is_said_at_the_end() -> None:
    assert "no trace matches this filter" in _run("list", "name:*zzz*").stderr
    assert "no trace contains these words" in _run("search", "name:*zzz*").stderr
