"""Bare JSON and Python-like calls in the text of a coding agent: lost where they are calls, and no calls in prose."""

from pathlib import Path

import pytest

from tests.ui.conftest import ROOT
from tests.verdicts.test_calls_in_text import ASKED, read, said, session
from weaklink.inspector.chain.steps import Status, StepOutcome
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.rules.rule import Severity

_EDITED: list[Json] = [
    {"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": {"file_path": "a.py", "old": "1", "new": "2"}}
]
_RAN: list[Json] = [
    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls", "timeout": 5}},
    {"type": "tool_use", "id": "toolu_3", "name": "Bash", "input": {"command": "pwd"}},
]
_RESULTS: list[Json] = [
    {"type": "tool_result", "tool_use_id": id_, "content": "done"} for id_ in ("toolu_1", "toolu_2", "toolu_3")
]
_CALLS = {
    "JSON": '{"name": "Bash", "arguments": {"command": "ls -la"}}',
    "JSON of the API": '{"type": "tool_use", "name": "Bash", "input": {"command": "ls -la"}}',
    "JSON on lines": '{\n  "name": "Edit",\n  "arguments": {"file_path": "b.py", "old": "x", "new": "y"}\n}',
    "Python": 'Edit(file_path="b.py", old="x", new="y")',
    "Python, an optional argument": 'Bash(command="ls -la", timeout=5)',
}
_NO_CALLS = {
    "a fenced example": '```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```',
    "fenced Python": '```python\nEdit(file_path="b.py", old="x", new="y")\n```',
    "an indented block": 'For example:\n\n    {"name": "Bash", "arguments": {"command": "ls"}}\n',
    "within a sentence": 'I used Bash(command="ls") before.',
    "JSON within a sentence": 'It logs {"name": "Bash", "arguments": {"command": "ls"}} for each call.',
    "in backticks": '`Bash(command="ls")`',
    "a required argument is missing": 'Edit(file_path="b.py")',
    "an unknown argument": 'Bash(command="ls", cwd="/")',
    "another tool": 'Grep(pattern="x")',
    "another spelling": 'bash(command="ls")',
    "a signature": "Bash(command: str, timeout: int)",
    "no arguments": "Bash()",
    "other JSON": '{"name": "Bash", "version": {"command": "ls -la"}}',
    "Python that defines it": 'def Bash(command):\n    pass\n\nBash(command="ls")',
}


def _inspected(folder: Path, text: str, *after: tuple[str, Json]) -> Inspection:
    before: list[tuple[str, Json]] = [("user", ASKED), ("assistant", [*_RAN, *_EDITED]), ("user", _RESULTS)]
    return read(session(folder, *before, said(text), *after))[1]


@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("lead", ["", "I will do it now.\n\n"])
@pytest.mark.parametrize("tail", ["", "\n\nOne moment."])
def test_a_bare_call_of_a_tool_of_the_session_is_lost(tmp_path: Path, call: str, lead: str, tail: str) -> None:
    text = f"{lead}{_CALLS[call]}{tail}"
    inspection = _inspected(tmp_path, text)
    errors = [diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.severity is Severity.ERROR]
    (lost,) = (error for error in errors if error.range.of(text) == _CALLS[call])
    if "JSON" in call and not lead:
        assert lost.rule.code in ("F309", "F317", "L801")  # some formats read a text that begins with a call
    else:
        assert lost.rule.code == "F317"
        assert "is written here as text. This log stores calls apart from the text, so no tool" in lost.fault.message
    assert inspection.chain.status is Status.BROKEN
    assert len(inspection.chain.steps) == 4
    assert inspection.chain.steps[-1].outcome is not StepOutcome.OK


@pytest.mark.parametrize("text", _NO_CALLS)
def test_what_only_looks_like_a_call_is_none(tmp_path: Path, text: str) -> None:
    inspection = _inspected(tmp_path, _NO_CALLS[text])
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.rule.code == "F317"] == []
    assert len(inspection.chain.steps) == 3


def test_a_bare_call_that_the_agent_then_makes_is_recovered(tmp_path: Path) -> None:
    made: list[Json] = [{"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": "ls -la"}}]
    results: list[Json] = [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "a.txt"}]
    again: list[tuple[str, Json]] = [
        ("user", "No tool ran."),
        ("assistant", made),
        ("user", results),
        said("There is one file."),
    ]
    assert _inspected(tmp_path, _CALLS["JSON"], *again).chain.status is Status.RECOVERED


def test_what_the_user_asked_for_as_an_example_is_no_call(tmp_path: Path) -> None:
    again = (("user", "What is the syntax of a tool call?"), said(_CALLS["Python"]))
    inspection = _inspected(tmp_path, "Done.", *again)
    assert len(inspection.chain.steps) == 3


def test_no_recorded_session_of_the_cases_has_such_a_call() -> None:
    for path in sorted((ROOT / "tests/cases/importers").glob("c*/*.jsonl")):
        for trace in read_source(path).records:
            if isinstance(trace, Trace):
                messages = [diagnostic.fault.message for diagnostic in inspect_trace(trace).diagnostics]
                assert not [message for message in messages if "is written here as text" in message], path
