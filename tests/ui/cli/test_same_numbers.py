"""Every command counts the same errors and the same malformed calls in the same files."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tests.chain.test_malformed_steps import JOINED, SHAPES, traces_in
from tests.ui.conftest import ROOT, Run
from weaklink.inspector.chain.steps import StepOutcome
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.rules.rule import Severity
from weaklink.ui.cli.show import show

TWO_IN_A_TAG = '<tool_call>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_call>'


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The sample traces, two calls in one tag, and answers of each API with joined arguments."""
    folder = tmp_path / "files"
    shutil.copytree(ROOT / "sample_traces", folder, ignore=shutil.ignore_patterns("*.py", "*.md", "py.typed", "__*"))
    for number, arguments in enumerate(JOINED):
        for file, write in SHAPES.items():
            (folder / f"{number}-{file}").write_text(write(arguments), encoding="utf-8")
    row = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": TWO_IN_A_TAG}]
    (folder / "tag.jsonl").write_text(json.dumps({"conversations": row}) + "\n", encoding="utf-8")
    return folder


def test_every_command_counts_the_same_errors(weaklink: Run, files: Path) -> None:
    inspections = [inspect_trace(trace) for trace in traces_in(files)]
    errors = Counter(
        diagnostic.rule.code
        for inspection in inspections
        for diagnostic in inspection.diagnostics
        if is_error(diagnostic.rule.severity)
    )
    malformed = sum(
        step.outcome is StepOutcome.MALFORMED for inspection in inspections for step in inspection.chain.steps
    )
    steps = sum(len(inspection.chain.steps) for inspection in inspections)
    assert malformed > len(JOINED) * len(SHAPES)

    report = read_json(weaklink("import", "files", "--json"))
    imported = Counter[str]()
    for file in report["files"]:
        imported.update(file["diagnostics"])
    assert {code: count for code, count in imported.items() if code in errors} == errors

    rows = [json.loads(line) for line in weaklink("list", "--json", "--limit", "1000").stdout.splitlines()]
    assert len(rows) == len(inspections)
    assert sum(row["errors"] for row in rows) == errors.total()

    shown = [read_json(_shown(files.parent / ".local/share/weaklink/weaklink.db", row["id"])) for row in rows]
    counter = Counter(
        diagnostic["code"]
        for trace in shown
        for diagnostic in trace["diagnostics"]
        if diagnostic["severity"] == "error"
    )
    assert counter == errors
    assert sum(record["errors"] for record in shown) == errors.total()
    assert sum(step["outcome"] == "malformed" for trace in shown for step in trace["chain"]) == malformed

    measure = read_json(weaklink("stats", "--json"))["measures"]["well_formed"]
    assert (measure["trials"], measure["trials"] - measure["hits"]) == (steps, malformed)


def test_every_report_of_check_has_the_same_errors(weaklink: Run, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    for number, arguments in enumerate(JOINED):
        for file in set(SHAPES) - {"rows.jsonl"}:  # rows have the faults of training data too
            (folder / f"{number}-{file}").write_text(SHAPES[file](arguments), encoding="utf-8")
    count = sum(1 for _ in traces_in(folder))
    errors = Counter({"J110": count})
    checked = read_json(weaklink("check", "answers", "--output", "json", "--no-config"))
    assert (
        Counter(diagnostic["code"] for diagnostic in checked["diagnostics"] if diagnostic["severity"] == "error")
        == errors
    )
    sarif = read_json(weaklink("check", "answers", "--output", "sarif", "--no-config"))
    assert Counter(result["ruleId"] for result in sarif["runs"][0]["results"] if result["level"] == "error") == errors
    junit = ElementTree.fromstring(weaklink("check", "answers", "--output", "junit", "--no-config").stdout)
    assert len(junit.findall(".//testcase")) == count
    assert len(junit.findall(".//testcase[failure]")) == count


@pytest.mark.slow
def test_check_has_the_diagnostics_of_every_inspection(weaklink: Run, tmp_path: Path) -> None:
    """Only the rules on unreadable records and on rows of training data are the command's own."""
    for folder in ("sample_traces", "tests/cases/importers"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.py", "*.md", "__*"))
    done = read_json(weaklink("check", ".", "--output", "json", "--no-config", "--ignore", "C510,C511,D"))
    checked: dict[str, Counter[tuple[str, str]]] = {}
    for finding in done["diagnostics"]:
        for record in (finding, *(other for other in finding["related"] if "code" in other)):
            checked.setdefault(finding["path"], Counter())[record["code"], record["severity"]] += 1
    inspected: dict[str, Counter[tuple[str, str]]] = {}
    for file in done["files"]:
        for trace in traces_in(tmp_path / file["path"]):
            for diagnostic in inspect_trace(trace).diagnostics:
                counts = inspected.setdefault(file["path"], Counter())
                counts[diagnostic.rule.code, diagnostic.rule.severity.value] += 1
    assert len(inspected) > 60
    assert checked == inspected


def _shown(database: Path, number: int) -> Result:
    """What `show` gives of a trace, in this process: they are many, and what they count is the subject."""
    return CliRunner().invoke(show, [str(number), "--json", "--db", str(database)], catch_exceptions=False)


def is_error(severity: Severity) -> bool:
    return severity is Severity.ERROR


def read_json(done: Any) -> Any:
    return json.loads(done.stdout)
