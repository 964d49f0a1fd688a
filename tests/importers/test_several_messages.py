"""Output messages, phases of a request, and results in a list: what belongs together is joined, nothing is lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.importers.telemetry.framework_calls import one_answer, read_answer_output
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.otlp import read_span
from weaklink.inspector.importers.telemetry.otlp_span import OtlpSpan
from weaklink.inspector.importers.telemetry.span_traces import traces_of_spans
from weaklink.inspector.importers.telemetry.spans import merge_duplicates
from weaklink.inspector.model import CallHeader, Json, Part, Role, Trace, Turn

WORDS = st.text("ab\n", max_size=4)


@st.composite
def messages(draw: st.DrawFn) -> Turn:
    calls = tuple(CallHeader(f"call:{at}", "f", None) for at in range(draw(st.integers(0, 2))))
    parts = [Part("text", draw(WORDS))] if draw(st.booleans()) else []
    parts += [Part(header.part, draw(WORDS)) for header in calls]
    return Turn(Role.ASSISTANT, tuple(parts), calls=calls)


@given(st.lists(messages(), min_size=1, max_size=4))
def test_no_text_and_no_call_of_any_message_is_dropped(several: list[Turn]) -> None:
    one = one_answer(several)
    assert len({part.name for part in one.parts}) == len(one.parts)
    assert {header.part for header in one.calls} <= {part.name for part in one.parts}
    said = "".join(part.text for turn in several for part in turn.parts)
    kept = "".join(part.text for part in one.parts)
    assert sorted(said) == sorted(kept) or sorted(kept.replace("\n", "")) == sorted(said.replace("\n", ""))
    with_calls = [turn for turn in several if turn.calls]
    if 0 < len(with_calls) < len(several):
        assert len(one.calls) == sum(len(turn.calls) for turn in several)


TEXT: Json = {"role": "assistant", "content": "Let me look."}
CALL: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_tide", "arguments": "{}"}}],
}
ASKED: Json = {"role": "user", "content": "High tide?"}
RESULT: Json = {"role": "tool", "tool_call_id": "c0", "content": "06:40"}


@pytest.mark.parametrize("output", [[TEXT, CALL], {"messages": [TEXT, CALL]}, [ASKED, CALL, RESULT, TEXT, CALL]])
def test_a_call_in_a_later_output_message_is_part_of_the_answer(output: Json) -> None:
    turn = read_answer_output(output).turn
    assert [(part.name, part.text) for part in turn.parts] == [("text", "Let me look."), ("call:0", "{}")]
    assert [header.name for header in turn.calls] == ["get_tide"]


def phase(id: str, name: str, at_s: float, **attributes: Json) -> OtlpSpan:
    known: dict[str, Json] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **attributes}
    return OtlpSpan("t", id, "", name, at_s, at_s, known)


def asked(words: str) -> dict[str, Json]:
    return {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": words}]}])}


def said(words: str) -> dict[str, Json]:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": words}]}]
    return {"gen_ai.output.messages": json.dumps(said)}


def kept(*spans: OtlpSpan) -> list[str]:
    return [span.id for span in merge_duplicates([read_span(span, KnownMessages()) for span in spans])]


def test_start_success_and_finish_are_one_request() -> None:
    first = (
        phase("1", "llm.start", 1.0, **asked("a")),
        phase("2", "llm.success", 2.0, **said("b")),
        phase("3", "llm.finish", 3.0),
    )
    again = (phase("4", "llm.start", 4.0, **asked("a")), phase("5", "llm.success", 5.0, **said("b")))
    assert kept(*first) == ["1"]
    assert kept(*first, *again) == ["1", "4"]
    one = merge_duplicates([read_span(span, KnownMessages()) for span in first])[0].call
    assert one is not None
    assert [part.text for part in one.answer.parts] == ["b"]
    assert [turn.parts[0].text for turn in one.request.turns] == ["a"]


def test_phases_that_disagree_or_have_other_parents_are_requests_of_their_own() -> None:
    start = phase("1", "llm.start", 1.0, **asked("a"))
    assert kept(start, phase("2", "llm.success", 2.0, **asked("x"), **said("b"))) == ["1", "2"]
    assert kept(start, phase("2", "other.success", 2.0, **said("b"))) == ["1", "2"]
    assert kept(start, replace(phase("2", "llm.success", 2.0, **said("b")), parent_id="9")) == ["1", "2"]
    assert kept(phase("1", "restart", 1.0), phase("2", "unfinished", 2.0)) == ["1", "2"]


def test_what_lies_beside_a_sub_agents_rows_names_it_and_is_no_session_of_its_own(tmp_path: Path) -> None:
    row = {"type": "user", "uuid": "1", "sessionId": "s", "isSidechain": True, "agentId": "a1"}
    rows = tmp_path / "agent-a1.jsonl"
    rows.write_text(json.dumps({**row, "message": {"role": "user", "content": "Read it."}}) + "\n")
    meta = tmp_path / "agent-a1.meta.json"
    meta.write_text(json.dumps({"agentType": "Explore", "description": "Find the harbour"}))
    (trace,) = read_source(rows).records
    assert isinstance(trace, Trace)
    assert trace.name == "Explore: Find the harbour"
    beside = read_source(meta)
    assert beside.source == "claude-code"
    told = "it describes the sub-agent whose session is in agent-a1.jsonl; that trace uses its name"
    assert list(beside.records) == [Skipped("file", told, is_irrelevant=True)]
    alone = meta.rename(tmp_path / "agent-a2.meta.json")
    told = "it describes a sub-agent whose session, agent-a2.jsonl, is not in the same folder"
    assert list(read_source(alone).records) == [Skipped("file", told, is_irrelevant=True)]
    meta.write_text("{")
    (trace,) = read_source(rows).records
    assert not isinstance(trace, Skipped)
    assert trace.name == "Read it."


def chat(id: str, at_s: float, asked: list[Json], answer: list[Json]) -> OtlpSpan:
    known: dict[str, Json] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps(asked),
        "langfuse.observation.output": json.dumps(answer),
    }
    return OtlpSpan("t", id, "", "chat", at_s, at_s + 0.5, known)


@pytest.mark.parametrize(
    ("answer", "history", "turns"),
    [
        ([TEXT, CALL], [TEXT, CALL], 4),  # the messages of one answer, one by one
        ([TEXT], [TEXT, {"role": "assistant", "content": "By the way."}], 5),  # a message that no answer said
    ],
)
def test_the_messages_of_one_answer_are_that_answer_in_the_next_request(
    answer: list[Json], history: list[Json], turns: int
) -> None:
    result: Json = {"role": "tool", "tool_call_id": "c1", "content": "06:40"}
    last: Json = {"role": "assistant", "content": "At 06:40."}
    spans = [chat("1", 1.0, [ASKED], answer), chat("2", 2.0, [ASKED, *history, result], [last])]
    (trace,) = traces_of_spans([read_span(span, KnownMessages()) for span in spans], ())
    assert len(trace.turns) == turns
    assert [turn.generation is not None for turn in trace.turns].count(True) == 2
