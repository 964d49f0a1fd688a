"""`export`: a trace goes out in four forms, and a trace file comes back in as it was."""

import json
import stat
from pathlib import Path

import pytest

from tests.ui.conftest import Run
from tests.ui.scenes import broken_trace
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.trace_file import read_trace_file
from weaklink.storage.store import open_store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of one trace."""
    trace, _ = broken_trace()
    path = tmp_path / "t.db"
    with open_store(path) as store:
        store.save([(trace, inspect_trace(trace))])
    return path


def test_a_trace_file_holds_the_trace_as_it_was(weaklink: Run, database: Path, tmp_path: Path) -> None:
    done = weaklink("export", "1", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    (tmp_path / "out.jsonl").write_bytes(done.stdout)
    assert list(read_trace_file(tmp_path / "out.jsonl")) == [broken_trace()[0]]


def test_json_is_that_of_show(weaklink: Run, database: Path) -> None:
    shown = weaklink("show", "1", "--json", "--db", "t.db").stdout
    assert weaklink("export", "1", "--as", "json", "--db", "t.db").stdout == shown
    assert weaklink("export", "1", "12", "--as", "json", "--db", "t.db").stdout == shown * 2
    assert json.loads(shown)["id"] == 1


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("out.html", b"<!DOCTYPE html>"),
        ("out.md", b"# trace 1"),
        ("out.json", b'{"id": 1'),
        ("out.jsonl", b'{"weaklink_trace_file"'),
        ("out", b'{"weaklink_trace_file"'),
    ],
)
def test_the_suffix_of_the_file_says_the_form(
    weaklink: Run, database: Path, tmp_path: Path, name: str, begins: bytes
) -> None:
    done = weaklink("export", "1", "-o", name, "--db", "t.db")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_as_outweighs_the_suffix(weaklink: Run, database: Path, tmp_path: Path) -> None:
    weaklink("export", "1", "--as", "markdown", "-o", "out.html", "--db", "t.db")
    assert (tmp_path / "out.html").read_bytes().startswith(b"# trace 1")


def test_other_tools_get_a_line_a_trace(weaklink: Run, database: Path, tmp_path: Path) -> None:
    done = weaklink("export", "1", "1", "--to", "otlp", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    first, again = map(json.loads, done.stdout.splitlines())
    assert [*first] == ["resourceSpans"] == [*again]
    done = weaklink("export", "1", "--to", "messages", "-o", "rows.jsonl", "--db", "t.db")
    left_out = "weaklink: trace 1: Turn 7 is left out: its request failed (`rate limit ␛[2J reached`).\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", left_out)
    payload = json.loads(weaklink("import", "--json", "--db", "other.db", "rows.jsonl").stdout)["totals"]
    assert (payload["turns"], payload["tools"]) == (6, {"get_weather": 2, "now": 1})


def test_what_a_tool_cannot_hold_is_said(weaklink: Run, tmp_path: Path) -> None:
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", "Hi"), Part("choice1:text", "Hello"))),))
    with open_store(tmp_path / "t.db") as store:
        store.save([(trace, inspect_trace(trace))])
    done = weaklink("export", "1", "--to", "messages", "--db", "t.db")
    assert done.stderr.decode() == (
        "weaklink: trace 1: The part `choice1:text` of turn 1: OpenAI's messages cannot contain it.\n"
    )


def test_one_form_is_enough(weaklink: Run, database: Path) -> None:
    done = weaklink("export", "1", "--to", "otlp", "--as", "json", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")


def test_what_fails_leaves_what_was_there(weaklink: Run, database: Path, tmp_path: Path) -> None:
    (tmp_path / "out.html").write_bytes(b"kept")
    done = weaklink("export", "77", "-o", "out.html", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert (tmp_path / "out.html").read_bytes() == b"kept"
    assert not list(tmp_path.glob(".out.html*"))


def test_a_file_that_cannot_be_written_is_a_sentence(weaklink: Run, database: Path) -> None:
    done = weaklink("export", "1", "-o", "no-folder/out.html", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: cannot write no-folder/out.html: No such file or directory\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["trace", "json", "markdown", "html"])
def test_standard_output_is_utf_8_whatever_the_locale(weaklink: Run, database: Path, form: str) -> None:
    usual = weaklink("export", "1", "--as", form, "--db", "t.db")
    plain = weaklink("export", "1", "--as", form, "--db", "t.db", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert usual.returncode == plain.returncode == 0
    assert usual.stdout == plain.stdout
    assert usual.stdout.decode("utf-8")
