"""`annotate`: one object a trace, from the database or from files, and what cannot be read is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chain.building import trace_of
from tests.ui.conftest import Run
from weaklink.inspector.dataset.rows import open_row_file
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.store import open_store

LINES = (
    "user: Fly me to Oslo.",
    'call: search_flights {"to": "Oslo"}',
    'result: {"flights": [{"id": "DY-6314"}]}',
    'call: book {"flight": "DY-6314"}',
    "result: Error: the flight is full",
    "say: I could not book it.",
)
ROW = {
    "conversations": [
        {"from": "human", "value": "Weather in Oslo?"},
        {"from": "gpt", "value": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'},
        {"from": "tool", "value": '<tool_response>\n{"temp": 4}\n</tool_response>'},
        {"from": "gpt", "value": "4 degrees."},
    ]
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of a broken trace and of one that says little."""
    path = tmp_path / "t.db"
    collected = [trace_of(*LINES), trace_of("user: Hi.", "say: Hello.")]
    with open_store(path) as store:
        store.save((trace, inspect_trace(trace)) for trace in collected)
    return path


def objects(out: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_trace_of_the_database_is_one_line(weaklink: Run, database: Path) -> None:
    done = weaklink("data", "annotate", "1", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    (annotation,) = objects(done.stdout)
    assert (annotation["id"], annotation["critical_path"]) == (1, [1, 2])
    assert [point["action"] for point in annotation["decision_points"]] == ["report_failure"]


def test_without_ids_all_traces_are_written_or_those_that_match(weaklink: Run, database: Path) -> None:
    everything = objects(weaklink("data", "annotate", "--db", "t.db").stdout)
    assert sorted(record["id"] for record in everything) == [1, 2]
    assert [
        record["id"] for record in objects(weaklink("data", "annotate", "-f", "status:broken", "--db", "t.db").stdout)
    ] == [1]
    both = weaklink("data", "annotate", "1", "-f", "status:broken", "--db", "t.db")
    assert (both.returncode, both.stdout) == (2, b"")


def test_files_need_no_database(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(ROW) + "\n" for _ in range(3)))
    done = weaklink("data", "annotate", "train.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    annotations = objects(done.stdout)
    assert [(record["id"], record["record"]) for record in annotations] == [
        (None, "line 1"),
        (None, "line 2"),
        (None, "line 3"),
    ]
    assert not (tmp_path / ".local").exists()


def test_standard_input_is_a_file_too(weaklink: Run) -> None:
    (annotation,) = objects(weaklink("data", "annotate", "-", stdin=json.dumps(ROW).encode()).stdout)
    assert annotation["steps"][0]["output_var"] == "$get_weather_1"


def test_a_bad_record_is_said_with_its_place_and_the_rest_goes_on(weaklink: Run, tmp_path: Path) -> None:
    good = json.dumps(ROW)
    (tmp_path / "train.jsonl").write_text(f"{good}\n{{bad\n{good}\n")
    done = weaklink("data", "annotate", "train.jsonl")
    assert done.returncode == 1
    assert [record["record"] for record in objects(done.stdout)] == ["line 1", "line 3"]
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("weaklink: train.jsonl: line 2: ")
    assert said[1] == "weaklink: 1 record skipped"


def test_ids_and_files_may_stand_beside_each_other(weaklink: Run, database: Path, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(json.dumps(ROW) + "\n")
    assert [
        record["id"] for record in objects(weaklink("data", "annotate", "2", "train.jsonl", "--db", "t.db").stdout)
    ] == [
        2,
        None,
    ]


def test_json_is_one_array(weaklink: Run, database: Path, tmp_path: Path) -> None:
    done = weaklink("data", "annotate", "--json", "--db", "t.db", "-o", "out.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(json.loads((tmp_path / "out.json").read_bytes())) == 2
    assert json.loads(weaklink("data", "annotate", "--json", "-f", "status:aborted", "--db", "t.db").stdout) == []


def test_the_output_is_ascii(weaklink: Run, tmp_path: Path) -> None:
    row = json.dumps(ROW).replace("Oslo", "Tromsø\\ud83d")
    (tmp_path / "train.jsonl").write_text(row + "\n")
    done = weaklink("data", "annotate", "train.jsonl")
    assert done.stdout.isascii()
    assert objects(done.stdout)[0]["steps"][0]["arguments"] == {"city": "Tromsø\ud83d"}


@pytest.mark.parametrize("words", [["gone.jsonl"], ["9"], ["train.jsonl"]])
def test_what_cannot_be_read_ends_with_two(weaklink: Run, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "train.jsonl").write_text("not a log at all\n")
    done = weaklink("data", "annotate", *words, "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"weaklink: ")
    assert done.stderr.count(b"\n") == 1


SEED = {  # the example of the seed on training data, as it is there
    "type": "error_recovery",
    "messages": [
        {
            "role": "assistant",
            "content": '[tool_call]\n{"name": "get_weather", "arguments": {"city": 123}}\n[/tool_call]',
        },
        {"role": "tool", "content": '{"error": "TypeError: city must be string, got int"}'},
        {
            "role": "assistant",
            "content": "[inner_monologue]\nI made a type error.\n[/inner_monologue]\n[tool_call]\n"
            '{"name": "get_weather", "arguments": {"city": "Beijing"}}\n[/tool_call]',
        },
    ],
}
UNMARKED = {**SEED, "type": "multi_step_tool_call"}
UNCORRECTED = {**SEED, "messages": SEED["messages"][:2]}


@pytest.mark.parametrize(
    ("row", "status"),
    [(SEED, "recovered"), (UNMARKED, "recovered"), (UNCORRECTED, "broken")],
    ids=["marked", "unmarked", "uncorrected"],
)
@pytest.mark.parametrize("layout", ["jsonl", "json", "parquet"])
def test_a_fault_that_a_sample_shows_on_purpose_breaks_nothing_as_in_lint(
    weaklink: Run, tmp_path: Path, row: dict[str, Any], status: str, layout: str
) -> None:
    file = tmp_path / f"train.{layout}"
    if layout == "json":
        file.write_text(json.dumps([row]), encoding="utf-8")
    else:
        with open_row_file(str(file)) as writer:
            writer.write(row)
    (annotation,) = map(json.loads, weaklink("data", "annotate", str(file)).stdout.splitlines())
    assert annotation["status"] == status
