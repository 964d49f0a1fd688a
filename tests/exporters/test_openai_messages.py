"""A trace as OpenAI messages: what the importer reads again is what was there."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.exporters import messages_row
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    GenerationError,
    Part,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)

CASES = Path(__file__).parents[1] / "cases" / "importers"
FILES = sorted(path for path in CASES.glob("*/*") if not path.name.endswith(".expected"))
KEPT = re.compile(r"text|reasoning|refusal|content:\d+")


def again(trace: Trace, folder: Path) -> Trace:
    """The trace, exported and imported."""
    path = folder / "rows.jsonl"
    path.write_text(write_json(messages_row(trace).value) + "\n", encoding="ascii")
    (records,) = read_source(path, "openai-messages").records
    assert isinstance(records, Trace)
    return records


def said(turn: Turn) -> tuple[object, ...]:
    """All that messages can hold of a turn."""
    parts = {part.name: part.text for part in turn.parts}
    rest = {name: text for name, text in parts.items() if text and KEPT.fullmatch(name)}
    calls = [(header.name, header.id, parts[header.part]) for header in turn.calls]
    result = (turn.result.call_id, turn.result.name, turn.result.is_error) if turn.result else (None, None, None)
    return turn.role, rest, calls, result


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_same_turns_and_calls_come_back(path: Path, tmp_path: Path) -> None:
    for trace in read_source(path).records:
        if not isinstance(trace, Trace):
            continue
        back = again(trace, tmp_path)
        left_out = {int(number) for number in re.findall(r"Turn (\d+) is left out", str(messages_row(trace).dropped))}
        turns = [turn for number, turn in enumerate(trace.turns, 1) if number not in left_out]
        assert list(map(said, back.turns)) == list(map(said, turns))
        known = inspect_trace(trace)
        inspection = inspect_trace(back, format=known.format)
        calls = [(call.name, call.raw_arguments, call.valid) for part in known.parts for call in part.calls]
        assert [
            (call.name, call.raw_arguments, call.valid) for part in inspection.parts for call in part.calls
        ] == calls


def test_a_tool_of_another_shape_is_put_into_this_one() -> None:
    turn = read_message({"role": "assistant", "content": "Hi"})
    assert turn.role is Role.ASSISTANT
    tool = ToolDefinition("now", "The time.", {"type": "object"}, '{"name":"now","input_schema":{"type":"object"}}')
    trace = Trace(tuple(replace(turn, generation=Generation(tools=(tool,))) for _ in range(2)))
    assert messages_row(trace).value["tools"] == [
        {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object"}}}
    ]


def test_an_attempt_that_failed_is_no_message() -> None:
    error = GenerationError(ErrorPhase.HTTP, "Slow down, please.", 429)
    cut = GenerationError(ErrorPhase.TRANSPORT, "The connection broke.")
    turns = [
        Turn(Role.USER, (Part("text", "Hi"),)),
        Turn(Role.ASSISTANT, (Part("wire:error", "{}"),), generation=Generation(error=error)),
        Turn(Role.ASSISTANT, (Part("text", "Hel"),), generation=Generation(attempt=2, error=cut)),
        Turn(Role.ASSISTANT, (Part("text", "Hello"),), generation=Generation(attempt=3)),
        Turn(Role.USER, (Part("text", "More"),)),
        Turn(Role.ASSISTANT, (Part("text", "It i"),), generation=Generation(error=cut)),
        Turn(Role.USER, (Part("text", "Go on"),)),
        Turn(Role.ASSISTANT, (Part("wire:error", "{}"),), generation=Generation(error=error)),
    ]
    row = messages_row(Trace(tuple(turns)))
    assert row.value == {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "More"},
            {"role": "assistant", "content": "It i"},
            {"role": "user", "content": "Go on"},
        ]
    }
    assert row.dropped == (
        "Turn 2 is left out: its request failed (`Slow down, please`).",
        "Turn 3 is left out: its request failed (`The connection broke`).",
        "That turn 6 broke off (`The connection broke`): OpenAI's messages cannot contain it.",
        "Turn 8 is left out: its request failed (`Slow down, please`).",
    )


def test_what_messages_cannot_hold_is_told() -> None:
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", "Hi"), Part("choice1:text", "Hello"))),))
    row = messages_row(trace)
    assert row.value == {"messages": [{"role": "assistant", "content": "Hi"}]}
    assert row.dropped == ("The part `choice1:text` of turn 1: OpenAI's messages cannot contain it.",)


@pytest.mark.parametrize("text", ["The answer beg", ""])
def test_that_the_only_answer_broke_off_is_reported_since_messages_do_not_say_it(text: str) -> None:
    question = Turn(Role.USER, (Part("text", "Is it?"),))
    error = GenerationError(ErrorPhase.TRANSPORT, "The connection broke.")
    for generation, reason in (
        (Generation(error=error), "That turn 2 broke off (`The connection broke`)"),
        (Generation(body=BodyState.TRUNCATED), "That turn 2 is cut off"),
    ):
        trace = Trace((question, Turn(Role.ASSISTANT, (Part("text", text),), generation=generation)))
        (sentence,) = messages_row(trace).dropped
        is_left_out = generation.error is not None and not text
        assert sentence.startswith("Turn 2 is left out" if is_left_out else reason)
