"""Files that are read as one log: each report counts what its own file holds, and the totals are the sums."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.store import open_store
from weaklink.ui.cli.import_rounds import import_round
from weaklink.ui.importing.files import read_file, report_only
from weaklink.ui.importing.input_files import files_to_read
from weaklink.ui.importing.unchanged_files import ImportOptions
from weaklink.ui.reports.import_report import FileReport, report_object

KEYS = ("traces", "requests", "turns", "tool_calls")


def payload(call: str, session: str, *words: str, broken: bool = False) -> dict[str, Any]:
    """One request that LiteLLM logged; its answer is a call, whose arguments break off where it is to be broken."""
    arguments = '{"city": "Rome' if broken else '{"city": "Rome"}'
    calls = [{"id": f"call_{call}", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {
        "id": call,
        "litellm_call_id": call,
        "call_type": "acompletion",
        "status": "success",
        "status_fields": {},
        "model_map_information": {},
        "metadata": {},
        "session_id": session,
        "model": "m",
        "messages": [{"role": "user", "content": word} for word in words],
        "model_parameters": {},
        "response": {"id": f"r{call}", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]},
    }


def write(path: Path, *rows: dict[str, Any] | str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def imported(run: Run, *words: str) -> dict[str, Any]:
    done = run("import", "--json", *words)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.parametrize("options", [("--dry-run",), ("--db", "w.db"), ("--jobs", "2", "--db", "w.db")])
def test_traces_and_faults_count_at_their_own_file(weaklink: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    write(tmp_path / "a" / "1.jsonl", payload("1", "s1", "Weather in Rome?"))
    write(tmp_path / "b" / "2.jsonl", payload("2", "s2", "Weather in Oslo?", broken=True), "{junk")
    report = imported(weaklink, "a", "b", *options)
    first, second = report["files"]
    assert [first[key] for key in KEYS] == [1, 1, 2, 1]
    assert [second[key] for key in KEYS] == [1, 1, 2, 1]
    assert not any(code.startswith("J") for code in first["diagnostics"])
    assert any(code.startswith("J") for code in second["diagnostics"])
    assert (first["skipped"], [record["record"] for record in second["skipped"]]) == ([], ["line 2"])
    text = weaklink("import", "a", "b", "--dry-run").stdout.decode().splitlines()
    assert [line.split()[:5] for line in text[1:3]] == [["1", "1", "2", "1", "0"], ["1", "1", "2", "1", "1"]]


def test_what_is_known_already_counts_at_its_own_file(weaklink: Run, tmp_path: Path) -> None:
    known = write(tmp_path / "a" / "1.jsonl", payload("1", "s1", "Weather in Rome?"))
    imported(weaklink, known, "--db", "w.db")
    write(tmp_path / "b" / "2.jsonl", payload("2", "s2", "Weather in Oslo?"))
    files = files_to_read([known, str(tmp_path / "b" / "2.jsonl")])
    reports: list[FileReport] = []
    with open_store(str(tmp_path / "w.db")) as store:
        import_round(store, files, ImportOptions(), 1, lambda _, report: reports.append(report))
    assert [(report.counts.traces, report.unchanged) for report in reports] == [(1, 1), (1, 0)]


def test_secrets_count_at_their_own_file(weaklink: Run, tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", payload("1", "s1", "Weather in Rome?"))
    write(tmp_path / "2.jsonl", payload("2", "s2", "My key is sk-ant-api03-" + "Ab1" * 30))
    files = imported(weaklink, "1.jsonl", "2.jsonl", "--dry-run")["files"]
    assert files[0]["redacted"] == 0
    assert files[1]["redacted"] > 0


def test_metrics_of_files_look_at_every_file_of_a_log(weaklink: Run, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.jsonl", payload(str(number), f"s{number}", f"Weather {number}?"))
    done = weaklink("stats", "0.jsonl", "1.jsonl", "2.jsonl", "--json")
    assert json.loads(done.stdout)["traces"] == 3


def made_up(folder: Path, seed: int) -> tuple[list[str], Counter[str], Counter[str]]:
    """Files of two sources, their sessions each in one file, and what is broken; what is expected of each."""
    chance = random.Random(seed)
    paths: list[str] = []
    traces: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for number in range(chance.randint(2, 6)):
        path = folder / f"{seed}-{chance.randint(0, 1)}" / f"{number}.jsonl"
        rows: list[dict[str, Any] | str] = []
        is_gateway = chance.random() < 0.7
        for row in range(chance.randint(1, 4)):
            name = f"{seed}-{number}-{row}"
            chat = {"messages": [{"role": "user", "content": name}, {"role": "assistant", "content": "Yes."}]}
            rows.append(payload(name, name, name, broken=chance.random() < 0.3) if is_gateway else chat)
        traces[str(path)] += len(rows)
        if chance.random() < 0.4:
            rows.insert(chance.randint(1, len(rows)), "{junk")
            skipped[str(path)] += 1
        paths.append(write(path, *rows))
    chance.shuffle(paths)
    return paths, traces, skipped


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(40))
def test_each_trace_counts_where_its_records_are_and_the_totals_are_the_sums(tmp_path: Path, seed: int) -> None:
    paths, traces, skipped = made_up(tmp_path, seed)
    groups = files_to_read(paths)
    reports = [file_report for group in groups for file_report in report_only(read_file(group, None, Redactor()))]
    assert sorted(report.path for report in reports) == sorted(paths)
    assert {report.path: report.counts.traces for report in reports} == traces
    assert {report.path: len(report.skipped) for report in reports if report.skipped} == skipped
    for file in reports:
        (alone,) = report_only(read_file(files_to_read([file.path])[0], None, Redactor()))
        assert file.counts == alone.counts
    check_totals(report_object(reports))


def check_totals(report: Any) -> None:
    for key in KEYS:
        assert report["totals"][key] == sum(file[key] for file in report["files"])
    for key in ("tools", "diagnostics"):
        assert Counter(report["totals"][key]) == sum((Counter(file[key]) for file in report["files"]), Counter())
    assert report["totals"]["skipped"] == sum(len(file["skipped"]) for file in report["files"])


def sessions(folder: Path) -> Iterator[str]:
    """A session that goes on in the second file, in which another begins."""
    first = payload("1", "s1", "One.")
    answer = first["response"]["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."}
    later = {**payload("2", "s1"), "messages": [*first["messages"], answer, result]}
    yield write(folder / "a.jsonl", first)
    yield write(folder / "b.jsonl", later, payload("3", "s3", "Three."))


def test_a_session_over_several_files_counts_where_it_begins(tmp_path: Path) -> None:
    (group,) = files_to_read(list(sessions(tmp_path)))
    first, second = report_only(read_file(group, None, Redactor()))
    assert (first.counts.traces, second.counts.traces) == (1, 1)
    assert (first.counts.requests, second.counts.requests) == (2, 1)
    assert second.why is not None
    assert "read as one log" in second.why
