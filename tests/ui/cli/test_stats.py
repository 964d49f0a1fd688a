"""`weaklink stats`, as its users run it."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from tests.ui.conftest import ROOT, Run
from weaklink.inspector.errors import StoreError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.storage.store import open_store
from weaklink.ui.cli.stats import stats

SAMPLES = ROOT / "sample_traces"
CALL = '<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"{comma}}}}}\n</tool_call>'


def row(number: int, model: str, *, is_broken: bool) -> dict[str, object]:
    """A conversation of one call, in ShareGPT's shape."""
    call = CALL.format(city="Oslo", comma="," if is_broken else "")
    return {
        "id": f"task-{number}",
        "model": model,
        "conversations": [
            {"from": "human", "value": "Weather?"},
            {"from": "gpt", "value": call},
            {"from": "tool", "value": "<tool_response>\n4 degrees\n</tool_response>"},
            {"from": "gpt", "value": "It is 4 degrees."},
        ],
    }


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Sixty traces of two models; of the first two in ten are broken, of the second eight."""
    rows = [row(number, "hermes-4", is_broken=number % 10 < 2) for number in range(40)]
    rows += [row(40 + number, "qwen3", is_broken=number % 10 < 8) for number in range(20)]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture
def database(logs: Path) -> Path:
    """The same traces in a database."""
    return filled(logs.parent / "t.db", logs)


def filled(where: Path, *files: Path) -> Path:
    with open_store(where) as store:
        for file in files:
            traces = [record for record in read_source(file).records if isinstance(record, Trace)]
            store.save((trace, inspect_trace(trace)) for trace in traces)
        store.search.index_pending()
    return where


def answer(weaklink: Run, *words: str) -> dict[str, Any]:
    done = weaklink("stats", "--json", *words, WEAKLINK_DB="t.db")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_files_and_a_database_of_them_give_the_same(weaklink: Run, tmp_path: Path) -> None:
    filled(tmp_path / "t.db", *(path for path in sorted(SAMPLES.iterdir()) if path.suffix in (".jsonl", ".sse")))
    for words in (("--by", "tool", "--compare"), ("--by", "prompt", "--by", "code")):
        stored, read = answer(weaklink, *words), answer(weaklink, str(SAMPLES), *words)
        assert stored == read
        assert stored["traces"] > 30
        assert stored["violations"]


def test_two_models_are_compared(weaklink: Run, database: Path) -> None:
    assert database.exists()
    result = answer(weaklink, "--compare", "model=hermes-4", "model=qwen3")
    assert result["baseline"] == {"model": "hermes-4"}
    broken = next(comparison for comparison in result["comparisons"] if comparison["measure"] == "broken")
    assert broken["keys"] == {"model": "qwen3"}
    assert broken["difference"] == pytest.approx(0.6)
    assert broken["more_than_noise"] is True
    said = weaklink("stats", "--by", "model", "--compare", COLUMNS="120", WEAKLINK_DB="t.db").stdout.decode()
    assert "60 traces, 24 broken (40 %, 29–53)." in said
    assert "more than noise" in said.splitlines()[1] + said.splitlines()[2]


def test_a_filter_chooses_what_is_measured(weaklink: Run, database: Path) -> None:
    assert database.exists()
    assert answer(weaklink, "--filter", "model:qwen3")["measures"]["broken"]["hits"] == 16
    done = weaklink("stats", "--filter", "model:nobody", WEAKLINK_DB="t.db")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no trace matches this filter" in done.stderr


def test_the_least_number_of_traces_can_be_chosen(weaklink: Run, logs: Path) -> None:
    result = answer(weaklink, str(logs), "--by", "model", "--min", "30")
    lows = {group["keys"]["model"]: group["measures"]["broken"]["low"] for group in result["groups"]}
    assert lows["qwen3"] is None
    assert lows["hermes-4"] is not None


@pytest.mark.parametrize("where", ["files", "database"])
def test_expected_calls_tell_selection_and_parameters(weaklink: Run, logs: Path, tmp_path: Path, where: str) -> None:
    rows = [
        {"id": "task-5", "expected": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]},
        {"id": "task-6", "expected": [{"name": "get_weather", "arguments": {"city": "Rome"}}]},
        {"id": "task-7", "expected": [{"name": "get_time", "arguments": {}}]},
        {"id": "nobody", "expected": []},
    ]
    text = "\n".join(map(json.dumps, rows)) + "\nnonsense\n"
    (tmp_path / "expected.jsonl").write_text(text, encoding="utf-8")
    if where == "database":
        filled(tmp_path / "t.db", logs)
    words = [str(logs)] if where == "files" else []
    result = answer(weaklink, *words, "--expected", "expected.jsonl", "--by", "model")
    for measures in (result["measures"], result["groups"][0]["measures"]):
        told = [(measures[name]["hits"], measures[name]["trials"]) for name in ("tool_selection", "parameter_accuracy")]
        assert told == [(2, 3), (1, 2)]
    assert result["groups"][1]["measures"]["tool_selection"]["value"] is None


@pytest.mark.usefixtures("database")
def test_words_that_name_no_file_are_a_filter(weaklink: Run) -> None:
    named = answer(weaklink, "--filter", "status:broken or tool:nothing")
    assert answer(weaklink, "status:broken", "or", "tool:nothing") == named != answer(weaklink)
    assert answer(weaklink, "not status:ok") == answer(weaklink, "--filter", "not status:ok")
    assert answer(weaklink, "context:>50%")["traces"] == 0 < answer(weaklink, "context:<50%")["traces"]
    assert answer(weaklink, "model:q*") == answer(weaklink, "model:qwen3")
    assert answer(weaklink, "model:qwen3", "-f", "status:broken") == answer(weaklink, "model:qwen3 status:broken")


def test_expected_calls_that_cannot_be_read_are_said(weaklink: Run, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "expected.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    done = weaklink("stats", str(logs), "--expected", "expected.jsonl")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"expected.jsonl, line 1: the row has no expected calls" in done.stderr
    assert b"no line contains expected calls" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "modle"), "did you mean `model`?"),
        (("--by", "tool,code"), "both tool and code"),
        (("--compare",), "--compare requires groups"),
        (("--compare", "model=a"), "requires another group"),
        (("--compare", "model=a", "source=b"), "use the same keys"),
        (("--compare", "model=a", "model=b", "--by", "model"), "cannot be combined with --by"),
        (
            ("--compare", "model=hermes", "model=qwen3", "run.jsonl"),
            "no trace has model=hermes; did you mean `hermes-4`?",
        ),
        (("run.jsonl", "--filter", "status:ok"), "a filter queries the database"),
        (("run.jsonl", "status:ok"), "a filter queries the database"),
        (("--source", "sharegpt"), "no PATH is given"),
        (("--db", "none.db"), "there is no database"),
    ],
)
def test_what_cannot_be_meant_says_why(
    monkeypatch: pytest.MonkeyPatch, logs: Path, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(logs.parent)
    with pytest.raises((click.UsageError, StoreError), match=re.escape(said)):
        stats.main(list(words), standalone_mode=False)


def test_a_file_that_is_not_there_is_named(weaklink: Run) -> None:
    done = weaklink("stats", "nowhere.jsonl")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"nowhere.jsonl: there is no such file" in done.stderr


def test_an_empty_database_says_what_to_do(weaklink: Run, tmp_path: Path) -> None:
    filled(tmp_path / "t.db")
    done = weaklink("stats", WEAKLINK_DB="t.db")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"`weaklink import PATH` or `weaklink run -- COMMAND`" in done.stderr
    assert answer(weaklink)["traces"] == 0


def test_a_folder_with_files_that_are_no_logs_is_measured_all_the_same(weaklink: Run, logs: Path) -> None:
    (logs.parent / "notes.txt").write_text("nothing of ours\n", encoding="utf-8")
    done = weaklink("stats", str(logs), "notes.txt", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["traces"] == 60


def test_the_kinds_of_results_and_what_the_agent_said_are_counted_alike_in_files_and_in_a_database(
    weaklink: Run, tmp_path: Path
) -> None:
    rows = [
        ("Error: no such seat", "I could not book it."),
        ("Error: no such seat", "Your seat is booked."),
        ("booked", "Done."),
    ]
    log = tmp_path / "log.jsonl"
    call = {"id": "a", "type": "function", "function": {"name": "book_seat", "arguments": '{"seat": "1A"}'}}
    log.write_text(
        "".join(
            json.dumps(
                {
                    "messages": [
                        {"role": "user", "content": "Book."},
                        {"role": "assistant", "content": "", "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "a", "content": result},
                        {"role": "assistant", "content": answer},
                    ]
                }
            )
            + "\n"
            for result, answer in rows
        )
    )
    assert weaklink("import", str(log)).returncode == 0
    stored, read = (json.loads(weaklink("stats", *where, "--json").stdout) for where in ((), (str(log),)))
    assert stored["result_kinds"] == read["result_kinds"] == {"failure": 2}
    assert stored["said"] == read["said"] == {"reported": 1, "concealed": 1}
    assert b"concealed" in weaklink("stats").stdout
