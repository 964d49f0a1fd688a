"""On a terminal: colours, carets, a width; and what the user says against them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.ui.conftest import Run, environment, started

NOTHING: Mapping[str, str] = MappingProxyType({})
SGR = re.compile(rb"\x1b\[[\d;]*m")
RAW = b'<think>\x1b]0;owned\x07\x9b31m</think><tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'


def on_terminal(folder: Path, *words: str, columns: int = 80, variables: Mapping[str, str] = NOTHING) -> bytes:
    """What the command writes to a terminal of that width."""
    terminal = environment(folder, **{"TERM": "xterm", **variables})
    done = started().run_on_terminal(words, columns=columns, folder=folder, variables=terminal, timeout_s=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "r.txt").write_bytes(RAW)
    return tmp_path


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_a_segmented_text_is_coloured_and_fits(folder: Path, columns: int) -> None:
    written = on_terminal(folder, "segment", "r.txt", columns=columns)
    assert b"\x1b[1;31m^\x1b[0m" in written
    assert b"J104" in written
    shown = SGR.sub(b"", written).decode().splitlines()
    assert max(map(len, shown)) <= columns


def test_nothing_of_the_text_reaches_the_terminal_raw(folder: Path) -> None:
    shown = SGR.sub(b"", on_terminal(folder, "segment", "r.txt"))
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    assert "␛]0;owned␇\\x9b31m".encode() in shown


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_the_user_may_do_without_colours(folder: Path, variables: dict[str, str]) -> None:
    written = on_terminal(folder, "segment", "r.txt", variables=variables)
    assert b"\x1b" not in written
    assert b"^ error[J104] trailing-comma" in written or b"error[J104] trailing-comma" in written


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False)])
def test_color_outweighs_everything(folder: Path, weaklink: Run, choice: str, coloured: bool) -> None:
    assert (
        b"\x1b[" in on_terminal(folder, "segment", "r.txt", "--color", choice, variables={"NO_COLOR": "1"})
    ) is coloured
    assert (b"\x1b[" in weaklink("rules", "J104", "--color", choice).stdout) is coloured


def test_json_is_json_also_on_a_terminal(folder: Path) -> None:
    assert json.loads(on_terminal(folder, "segment", "--json", "r.txt"))["format"] == "hermes"


def test_an_import_shows_progress_and_clears_it_away(folder: Path) -> None:
    (folder / "run.jsonl").write_text('{"conversations": [{"from": "human", "value": "hi"}]}\n', encoding="utf-8")
    written = on_terminal(folder, "import", "--db", "t.db", "run.jsonl")
    assert b"1 file read: 1 trace" in SGR.sub(b"", written)


def test_found_words_and_faults_are_coloured_and_progress_goes_away(folder: Path) -> None:
    call = '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'
    log = {"conversations": [{"from": "human", "value": "call it"}, {"from": "gpt", "value": call}]}
    (folder / "run.jsonl").write_text(json.dumps(log) + "\n", encoding="utf-8")
    on_terminal(folder, "import", "--db", "t.db", "run.jsonl")
    again = on_terminal(folder, "db", "reinspect", "--db", "t.db")
    assert b"1 trace inspected again" in again
    assert b"\x1b[1;36m^^^^\x1b[0m" in on_terminal(folder, "search", "call", "--db", "t.db")
    assert b"\x1b[1;31merror[J104]\x1b[0m" in on_terminal(folder, "check", "--fail-on", "never", "run.jsonl")
    assert b"\x1b[1;31m" in on_terminal(folder, "list", "--db", "t.db")
