"""`weaklink data lint`, `score` and `report` as commands: their output, exit codes, and rows that cannot be read."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from tests.dataset.faulty_rows import faulty_rows
from weaklink.inspector.dataset.data_files import MissingLibraryError
from weaklink.inspector.dataset.lint import engine_faults
from weaklink.inspector.dataset.rows import open_row_file
from weaklink.ui.cli.data import options
from weaklink.ui.cli.group import weaklink

TOOL = {
    "name": "locate",
    "parameters": {"type": "object", "properties": {"ship": {"type": "string"}}, "required": ["ship"]},
}
CALL = '<tool_call>\n{"name": "locate", "arguments": {"ship": "Fram"}}\n</tool_call>'
ASK = {"role": "user", "content": "Where is the ship Fram now?"}
GOOD: dict[str, Any] = {
    "id": "good",
    "type": "single_tool_call",
    "messages": [
        ASK,
        {"role": "assistant", "content": CALL},
        {"role": "tool", "content": '{"harbour": "Oslo"}'},
        {"role": "assistant", "content": "Fram is in Oslo."},
    ],
    "tools": [TOOL],
}
BAD: dict[str, Any] = {**GOOD, "id": "bad", "type": "no_tool_call", "annotation": {"should_call_tool": False}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(weaklink, ["data", *words], catch_exceptions=False)


def diagnostics(done: Result) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(done.stdout)["diagnostics"]
    return listed


def write(name: str, *rows: dict[str, Any], junk: str = "") -> str:
    if name.endswith(".parquet"):
        with open_row_file(name) as writer:
            for row in rows:
                writer.write(row)
    else:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows) + junk, encoding="utf-8")
    return name


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_lint_reports_faults_and_fails(name: str) -> None:
    done = run("lint", write(name, GOOD, BAD), "--output", "json", "--ignore", "D714")
    assert done.exit_code == 1
    (diagnostic,) = diagnostics(done)
    assert (diagnostic["code"], diagnostic["record"]) == ("D703", "line 2" if name.endswith("jsonl") else "row 2")
    if name.endswith("jsonl"):
        assert (
            Path(name)
            .read_text(encoding="utf-8")
            .splitlines()[1][diagnostic["column"] - 1 :]
            .startswith('"no_tool_call"')
        )


def test_an_answer_that_is_only_reasoning_is_a_warning() -> None:
    answer = {"role": "assistant", "content": "<think>\nI need the position.\n</think>"}
    done = run("lint", write("rows.jsonl", {"messages": [ASK, answer]}), "--output", "json")
    (diagnostic,) = diagnostics(done)
    assert (done.exit_code, diagnostic["code"], diagnostic["severity"]) == (0, "T414", "warning")


def test_an_answer_whose_role_is_misspelt_is_not_to_be_removed() -> None:
    answer = {"role": "asistant", "content": "It is in Oslo."}
    said = {"role": "assistant", "content": "Which ship?"}
    done = run("lint", write("rows.jsonl", {"messages": [ASK, said, ASK, answer]}), "--output", "json")
    found = {one["code"]: one for one in diagnostics(done)}
    assert "it may be `assistant`" in found["D701"]["message"]
    assert all(one["hint"] != "Remove the last turn." for one in found.values())


def test_a_clean_set_ends_with_0_and_a_baseline_lets_known_faults_pass() -> None:
    assert run("lint", write("good.jsonl", GOOD)).exit_code == 0
    write("train.jsonl", BAD)
    assert run("lint", "train.jsonl", "--write-baseline", "known.json").exit_code == 0
    assert run("lint", "train.jsonl", "--baseline", "known.json").exit_code == 0
    write("train.jsonl", BAD, {**BAD, "messages": [{"role": "user", "content": "And Gjøa?"}, *BAD["messages"][1:]]})
    assert run("lint", "train.jsonl", "--baseline", "known.json").exit_code == 1


def test_a_row_that_cannot_be_read_is_an_error_and_goes_to_rejected() -> None:
    write("train.jsonl", GOOD, junk='{"id": \n')
    done = run("lint", "train.jsonl", "--rejected", "rejected.jsonl")
    assert (done.exit_code, "train.jsonl:2:" in done.stdout) == (1, True)
    (row,) = [json.loads(line) for line in Path("rejected.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (row["file"], row["record"], row["line"], row["text"]) == ("train.jsonl", "line 2", 2, '{"id": ')
    assert run("lint", "train.jsonl", "--allow-skipped").exit_code == 0
    Path("junk.jsonl").write_text("{\n", encoding="utf-8")
    assert run("lint", "junk.jsonl").exit_code == 2


def test_samples_are_compared_with_each_other_and_with_an_evaluation_set() -> None:
    done = run(
        "lint",
        write("train.jsonl", GOOD, {**GOOD, "id": "again"}),
        "--eval",
        write("eval.parquet", GOOD),
        "--output",
        "json",
    )
    assert sorted(diagnostic["code"] for diagnostic in diagnostics(done)) == ["D714", "D716", "D716"]


def test_a_call_in_another_format_than_the_set_is_found() -> None:
    other = {
        **GOOD,
        "messages": [
            ASK,
            {"role": "assistant", "content": '[TOOL_CALLS] [{"name": "locate", "arguments": {"ship": "Fram"}}]'},
        ],
    }
    done = run("lint", write("train.jsonl", GOOD, {**GOOD, "id": 2}, other), "--select", "D712", "--output", "json")
    assert [(diagnostic["code"], diagnostic["record"]) for diagnostic in diagnostics(done)] == [("D712", "line 3")]


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github", "gitlab", "markdown"])
def test_every_output_names_the_rule(output: str) -> None:
    assert "D703" in run("lint", write("train.jsonl", BAD), "--output", output).stdout


def test_the_output_is_the_same_for_any_number_of_jobs() -> None:
    rows = [{**(BAD if index % 3 else GOOD), "id": index} for index in range(7)]
    write("train.jsonl", *rows, junk="{\n")
    words = ("lint", "train.jsonl", "--output", "json", "--ignore", "D715")
    assert run(*words).stdout == run(*words, "--jobs", "2").stdout


def test_check_includes_the_rules_of_samples_but_for_those_of_sets() -> None:
    write("train.jsonl", GOOD, GOOD, BAD)
    done = CliRunner().invoke(weaklink, ["check", "train.jsonl", "--output", "json"], catch_exceptions=False)
    assert [diagnostic["code"] for diagnostic in diagnostics(done)] == ["D703"]


SECRET = {
    **BAD,
    "messages": [{"role": "user", "content": "password=hunter2hunter2, which ship?"}, *BAD["messages"][1:]],
}
SHAPES: dict[str, dict[str, Any]] = {
    "messages": BAD,
    "with a secret": SECRET,
    "lists as texts": {**BAD, "messages": json.dumps(BAD["messages"]), "tools": json.dumps([TOOL])},
    "ShareGPT": {
        "conversations": [
            {"from": "human", "value": "Where?"},
            {"from": "gpt", "value": CALL.replace("locate", "find")},
        ],
        "tools": json.dumps([TOOL]),
    },
    "prompt and completion": {**BAD, "messages": None, "prompt": [ASK], "completion": BAD["messages"][1:]},
    "preference": {**BAD, "messages": None, "prompt": [ASK], "chosen": BAD["messages"][1:], "rejected": [ASK]},
    "instruction": {**BAD, "messages": None, "instruction": "Where is Fram?", "input": "", "output": CALL},
    "segments": {
        **BAD,
        "messages": None,
        "segments": [{"label": False, "text": "Where is Fram?"}, {"label": True, "text": CALL}],
    },
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("layout", ["jsonl", "json", "parquet", "arrow", "folder", "dataset"])
@pytest.mark.parametrize("shape", SHAPES)
def test_check_finds_in_a_training_set_of_every_shape_and_layout_what_lint_finds(shape: str, layout: str) -> None:
    row = {key: value for key, value in SHAPES[shape].items() if value is not None}
    path = laid_out(layout, [row, row])
    words = (path, "--output", "json", "--ignore", "D714,D715")
    linted = run("lint", *words)
    checked = CliRunner().invoke(weaklink, ["check", *words], catch_exceptions=False)
    places = [_place(diagnostic) for diagnostic in diagnostics(linted)]
    assert [_place(diagnostic) for diagnostic in diagnostics(checked)] == places
    assert any(location[-1].startswith("D7") for location in places)
    assert "hunter2" not in checked.stdout


TWINS = {engine.code: data.code for engine, data in engine_faults.TWINS.items()}


def _place(diagnostic: dict[str, Any]) -> tuple[Any, ...]:
    """Where a fault is, and its code in `data lint`: `check` has the code that every trace has."""
    return (
        *(diagnostic[name] for name in ("path", "record", "turn", "part", "start", "end")),
        TWINS.get(diagnostic["code"], diagnostic["code"]),
    )


def laid_out(layout: str, rows: list[dict[str, Any]]) -> str:
    """The rows as a file, a folder of files, or a data set as `save_to_disk` writes it."""
    if layout == "json":
        Path("train.json").write_text(json.dumps(rows), encoding="utf-8")
        return "train.json"
    if layout in ("jsonl", "parquet"):
        return write(f"train.{layout}", *rows)
    Path("set").mkdir()
    if layout == "folder":
        write("set/train.parquet", *rows)
        return "set"
    with pyarrow.OSFile("set/data-00000-of-00001.arrow", "wb") as sink:
        table = parquet.read_table(write("train.parquet", *rows))
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    if layout == "arrow":
        return "set/data-00000-of-00001.arrow"
    Path("set/state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}', encoding="utf-8")
    Path("set/dataset_info.json").write_text('{"features": {}}', encoding="utf-8")
    return "set"


def test_score_prints_a_line_for_each_sample_and_filters_rows() -> None:
    poor = {**GOOD, "id": "poor", "expected": [{"name": "locate", "arguments": {"ship": "Gjøa"}}]}
    good = {**GOOD, "expected": [{"name": "locate", "arguments": {"ship": "Fram"}}]}
    write("train.jsonl", good, poor)
    lines = [json.loads(line) for line in run("score", "train.jsonl", "--json").stdout.splitlines()]
    assert [(line["id"], line["overall"]) for line in lines] == [("good", 1.0), ("poor", 0.75)]
    assert run("score", "train.jsonl", "--min", "0.9", "--output", "kept.jsonl").exit_code == 0
    (kept,) = [json.loads(line) for line in Path("kept.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (kept["id"], kept["score"]["overall"]) == ("good", 1.0)
    assert "locate" in run("score", "train.jsonl").stdout


def test_report_prints_shares_writes_a_page_and_lists_the_samples_of_a_gap() -> None:
    write(
        "train.jsonl",
        GOOD,
        {"id": "talk", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]},
    )
    value = json.loads(run("report", "train.jsonl", "--json").stdout)
    assert (value["samples"], value["shares"]["should_call"]) == (2, {"yes": 0.5, "no": 0.5})
    text = run("report", "train.jsonl", "--against", "train.jsonl").stdout
    assert "weaklink data report train.jsonl --list should_call=no" in text
    (listed,) = [
        json.loads(line) for line in run("report", "train.jsonl", "--list", "should_call=no").stdout.splitlines()
    ]
    assert listed["id"] == "talk"
    assert run("report", "train.jsonl", "--html", "page.html").exit_code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<svg" in page
    assert "<script" not in page


@pytest.mark.parametrize("command", ["lint", "score --json", "report", "render", "convert --to llama3_json", "inject"])
def test_a_row_whose_roles_are_no_texts_hides_no_other(command: str) -> None:
    name, *words = command.split()
    rows: list[dict[str, Any]] = [
        {"conversations": [{"from": "human", "value": "Hi."}, {"from": role, "value": said}]}
        for role in (["gpt"], {"gpt": 1}, 5, None)
        for said in ("Hello.", "")
    ]
    rows += [
        {"messages": [ASK, {"role": role, "from": ["gpt"], "content": said}]}
        for role in (["assistant"], "assistant")
        for said in ("Hello.", "")
    ]
    rows.append(
        {"system": "s", "conversations": [{"from": "user", "value": "Hi."}, {"from": ["x"], "value": "Hello."}]}
    )
    done = run(name, write("train.jsonl", *rows, GOOD), *words)
    assert done.exit_code in (0, 1)
    assert name in ("lint", "report") or "locate" in done.stdout


def test_no_command_writes_over_its_input() -> None:
    write("train.jsonl", GOOD)
    for words in (
        ("score", "train.jsonl", "--output", "train.jsonl"),
        ("lint", "train.jsonl", "--rejected", "train.jsonl"),
    ):
        done = CliRunner().invoke(weaklink, ["data", *words])
        assert "one of the input files" in str(done.exception)
    assert json.loads(Path("train.jsonl").read_text(encoding="utf-8")) == GOOD


def test_a_library_that_is_not_installed_leaves_its_rule_out_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.inspector.dataset.lint.duplicates.find_spec", lambda _: None)
    done = run("lint", write("train.jsonl", GOOD, GOOD))
    assert "D714 duplicate-sample" in done.stdout
    assert "D715 near-duplicate-sample is not checked. Finding near duplicates needs `datasketch`" in done.stderr
    with pytest.raises(MissingLibraryError, match=r"which is not installed: pip install 'weaklink\[data\]'"):
        run("lint", "train.jsonl", "--select", "D715")


@pytest.mark.parametrize(
    ("second", "codes"),
    [
        ({**ASK, "content": "Please find the position of a vessel named Fram for me, quickly."}, ["D715"]),
        (ASK, ["D714"]),
    ],
)
def test_a_sample_that_differs_in_the_users_words_alone_is_a_near_duplicate(
    second: dict[str, str], codes: list[str]
) -> None:
    other = {**GOOD, "id": "other", "messages": [second, *GOOD["messages"][1:]]}
    listed = diagnostics(run("lint", write("a.jsonl", GOOD, other), "--output", "json"))
    assert [record["code"] for record in listed] == codes
    assert all(record["record"] == "line 2" for record in listed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 20), (7, 1 << 20), (64, 4_000)])
def test_rows_that_are_read_together_have_the_faults_of_each_alone(
    rows: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps(row) for row in faulty_rows(200, 5)]
    for index in range(63, len(lines), 9):  # rows that cannot be read, also between two batches
        lines[index] = '{"messages": ['
    Path("set.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    together = run("lint", "set.jsonl", "--output", "json", "--map", "talk=messages").stdout
    monkeypatch.setattr(options, "_BATCH_ROWS", rows)
    monkeypatch.setattr(options, "_BATCH_BYTES", size)
    assert run("lint", "set.jsonl", "--output", "json", "--map", "talk=messages").stdout == together
    assert {diagnostic["code"] for diagnostic in json.loads(together)["diagnostics"]} >= {"C511", "D706", "D710"}
    assert len({diagnostic["record"] for diagnostic in json.loads(together)["diagnostics"]}) > 90
