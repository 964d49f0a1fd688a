"""A coding agent's call that it wrote as text is lost, wherever it is; one that it only quotes is no call."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from weaklink.inspector.chain.steps import Status, StepOutcome
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Part, Provenance, Role, ToolCall, Trace, Turn
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.ui.cli.group import weaklink

ASKED = "Which files are here?"
INVOKE = '<invoke name="Bash">\n<parameter name="command">ls -la</parameter>\n</invoke>'
HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls -la"}}\n</tool_call>'
STRAY = ["court\n", "count\n", ""]
RAN: list[Json] = [
    [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -la"}}],
    [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt\nb.txt"}],
]
ENDS: dict[str, list[str]] = {
    "text after": ["The folder has three files.", "assistant"],
    "a user turn": ["And which is the largest?", "user", "I cannot tell.", "assistant"],
    "the very end": [],
}


def line(number: int, role: str, content: Json) -> str:
    message: dict[str, Json] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-5"}
        message |= {"usage": {"input_tokens": 5, "output_tokens": 7}}
    record: dict[str, Json] = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/user/project",
        "sessionId": "session",
        "version": "2.0.1",
        "type": role,
        "message": message,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-02T10:00:{number:02d}.000Z",
    }
    return json.dumps(record)


def session(folder: Path, *turns: tuple[str, Json]) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(line(number, role, content) + "\n" for number, (role, content) in enumerate(turns)))
    return path


def said(text: str) -> tuple[str, Json]:
    return "assistant", [{"type": "text", "text": text}]


def read(path: Path) -> tuple[Trace, Inspection]:
    (trace,) = (record for record in read_source(path).records if isinstance(record, Trace))
    return trace, inspect_trace(trace)


def after(end: Sequence[str]) -> list[tuple[str, Json]]:
    return [said(text) if role == "assistant" else (role, text) for text, role in zip(end[::2], end[1::2], strict=True)]


@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("has_structured", [False, True])
def test_a_call_in_the_text_of_claude_code_is_lost(tmp_path: Path, end: str, stray: str, has_structured: bool) -> None:
    earlier: list[tuple[str, Json]] = [("assistant", RAN[0]), ("user", RAN[1])] if has_structured else []
    path = session(tmp_path, ("user", ASKED), *earlier, said(f"I list them.\n\n{stray}{INVOKE}"), *after(ENDS[end]))
    trace, inspection = read(path)
    assert trace.provenance.source == "claude-code"
    assert inspection.chain.status is Status.BROKEN
    assert inspection.chain.steps[-1].outcome is StepOutcome.UNANSWERED
    assert inspection.chain.broken is not None
    assert inspection.chain.broken.code == "L801"
    (lost,) = (diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.severity is Severity.ERROR)
    assert lost.rule.code == "L801"
    assert not any(diagnostic.rule.code == "T404" for diagnostic in inspection.diagnostics)


@pytest.mark.parametrize("end", ENDS)
def test_check_fails_on_a_lost_call(tmp_path: Path, end: str) -> None:
    path = session(tmp_path, ("user", ASKED), said(f"I list them.\n\ncourt\n{INVOKE}"), *after(ENDS[end]))
    done = CliRunner().invoke(weaklink, ["check", str(path)])
    assert done.exit_code == 1
    assert "call-lost-by-server" in done.output


def test_a_lost_call_that_the_agent_then_makes_is_recovered(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        ("user", ASKED),
        said(f"court\n{INVOKE}"),
        ("user", "No tool ran."),
        ("assistant", RAN[0]),
        ("user", RAN[1]),
        said("There are two files."),
    )
    inspection = read(path)[1]
    assert inspection.chain.status is Status.RECOVERED
    assert [step.outcome for step in inspection.chain.steps] == [StepOutcome.UNANSWERED, StepOutcome.OK]


def test_a_cut_call_in_the_text_is_malformed_and_an_error(tmp_path: Path) -> None:
    inspection = read(session(tmp_path, ("user", ASKED), said(f"court\n{INVOKE[:60]}")))[1]
    assert inspection.chain.status is Status.BROKEN
    assert inspection.chain.steps[0].outcome is StepOutcome.MALFORMED
    assert "F311" in {diagnostic.rule.code for diagnostic in inspection.diagnostics}


SYNTAXES = sorted(dialect.name for dialect in formats())


@pytest.mark.parametrize("name", SYNTAXES)
@pytest.mark.parametrize("source", ["claude-code", "codex"])
def test_a_call_in_any_syntax_is_lost(name: str, source: str) -> None:
    arguments = '{"command": "ls -la"}'
    call = ToolCall("Bash", {"command": "ls -la"}, arguments, valid=True, range=Range(0, 0))
    text = find_format(name).write_calls([call])
    turns = (Turn(Role.USER, (Part("text", ASKED),)), Turn(Role.ASSISTANT, (Part("text", text),)))
    inspection = inspect_trace(Trace(turns, model="claude-opus-4-5", format=name, provenance=Provenance(source)))
    assert inspection.chain.status is Status.BROKEN
    assert "L801" in {diagnostic.rule.code for diagnostic in inspection.diagnostics}


def indented(text: str) -> str:
    return "    " + text.replace("\n", "\n    ")


QUOTED = {
    "fence": f"The syntax is:\n\n```xml\n{INVOKE}\n```\n\nThat is all.",
    "fenced JSON": f"The syntax is:\n\n```\n{HERMES}\n```",
    "backticks": "Write `" + INVOKE.replace("\n", "") + "` in the text.",
    "JSON in backticks": "Write `" + HERMES.replace("\n", "") + "` in the text.",
    "block quote": "> " + INVOKE.replace("\n", "\n> "),
    "indented": f"For example:\n\n{indented(INVOKE)}\n\nDone.",
    "named in prose": 'The tag <invoke name="Bash"> begins a call, and </invoke> ends it.',
    "JSON named in prose": "A call begins with <tool_call> and ends with </tool_call>.",
}


@pytest.mark.parametrize("text", QUOTED.values(), ids=QUOTED)
@pytest.mark.parametrize("has_structured", [False, True])
def test_a_quoted_call_is_no_call(tmp_path: Path, text: str, has_structured: bool) -> None:
    earlier: list[tuple[str, Json]] = [("assistant", RAN[0]), ("user", RAN[1])] if has_structured else []
    inspection = read(session(tmp_path, ("user", ASKED), *earlier, said(text), ("user", "Thanks."), said("Fine.")))[1]
    assert inspection.chain.status is Status.OK
    assert len(inspection.chain.steps) == len(earlier) // 2
    assert not [diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "request_text",
    [
        "Show me an example of a tool call.",
        "What is the syntax of function calls?",
        "How does a call look in your prompt?",
        'Explain what <invoke name="Read"> means.',
    ],
)
def test_an_example_that_the_user_asked_for_is_no_call(tmp_path: Path, request_text: str) -> None:
    inspection = read(session(tmp_path, ("user", request_text), said(f"It is:\n\n{INVOKE}\n\nThis lists files.")))[1]
    assert inspection.chain.status is Status.OK
    assert not inspection.chain.steps


@pytest.mark.parametrize(
    "request_text",
    ["Fix the function in the folder `examples`.", "Call the build tool and show me what is written.", f"Run: {ASKED}"],
)
def test_a_request_for_work_asks_for_no_example(tmp_path: Path, request_text: str) -> None:
    inspection = read(session(tmp_path, ("user", request_text), said(f"court\n{INVOKE}")))[1]
    assert inspection.chain.status is Status.BROKEN
