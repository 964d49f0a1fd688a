"""Descriptions of records: what paths mean, and what an answer and a result are made of."""

import pytest
from hypothesis import given

from tests.strategies import json_values
from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.record_maps import (
    Answer,
    Calls,
    Facts,
    Result,
    TokenCounts,
    objects_at,
    value_at,
    words_at,
)
from weaklink.inspector.model import Json, Part, ResultHeader, Role

MESSAGE: dict[str, Json] = {
    "content": [
        {"type": "text", "text": "a"},
        {"type": "call", "id": 7, "args": {}},
        {"type": "text", "text": "b"},
        "c",
    ],
    "plain": "d",
    "empty": "",
    "none": None,
    "deep": {"in": {"x": 5}},
}


@pytest.mark.parametrize(
    ("paths", "value"),
    [
        ("content[text].text", "ab"),
        ("content[].text", "ab"),
        ("content[call].text", ""),
        ("plain[text].text", "d"),
        ("plain[].text", "d"),
        ("plain[].thinking", ""),
        ("deep.in.x", 5),
        ("deep.in.y", None),
        ("plain.in", None),
        ("empty plain", "d"),
        ("missing empty", ""),
        ("empty missing", ""),
        ("none missing", None),
        ("", None),
    ],
)
def test_a_path_has_the_first_value_that_is_not_empty(paths: str, value: Json) -> None:
    assert value_at(MESSAGE, paths) == value
    assert words_at(MESSAGE, paths) == (value if isinstance(value, str) else "")


def test_objects_of_a_list_may_be_of_one_type_or_of_any() -> None:
    assert len(objects_at(MESSAGE, "content[]")) == 3
    assert objects_at(MESSAGE, "content[call]") == [{"type": "call", "id": 7, "args": {}}]
    assert objects_at(MESSAGE, "deep.in") == [{"x": 5}]
    assert objects_at(MESSAGE, "content") == []


def test_an_answer_has_what_its_paths_have() -> None:
    session = AgentSession("notes", (("id", "1"),), "line 1")
    session.model = "m-1"
    answer = Answer(
        content="content[text].text",
        calls=Calls("content[call]", arguments="raw args"),
        usage=TokenCounts("deep.in.x", "none"),
        finish="plain",
        is_of_session=True,
    )
    answer(MESSAGE, session)
    (turn,) = session.turns
    assert turn.parts == (Part("text", "ab"), Part("call:0", "{}"))
    assert [(call.id, call.name) for call in turn.calls] == [("7", None)]
    assert turn.generation is not None
    assert (turn.generation.requested_model, turn.generation.finish_reason) == ("m-1", "d")
    assert (turn.generation.usage.input_tokens, turn.generation.usage.output_tokens) == (5, None)


@pytest.mark.parametrize(
    ("state", "header"),
    [
        ("done", ResultHeader("c", None, is_error=False)),
        ("failed", ResultHeader("c", None, is_error=True)),
        ("running", None),
        (None, None),
        (5, None),
        ([], None),
    ],
)
def test_a_result_that_may_be_pending_needs_a_state(state: Json, header: ResultHeader | None) -> None:
    session = AgentSession("notes", (("id", "1"),), "line 1")
    states: dict[Json, bool] = {"done": False, "failed": True}
    Result("id", "out", is_error="state", states=states, may_be_pending=True)({"id": "c", "state": state}, session)
    assert [turn.result for turn in session.turns] == ([] if header is None else [header])


@given(json_values())
def test_no_record_makes_a_description_raise(value: Json) -> None:
    session = AgentSession("notes", (("id", "1"),), "line 1")
    record: dict[str, Json] = {"a": value, "b": [value, {"type": "x", "c": value}], "c": {"a": value}}
    for path in ("a", "b[x].c", "a[].b", "c.a.b[]"):
        Facts(title=path, version=path, started=path, parent=path)(record, session)
        Answer(content=path, reasoning=path, calls=Calls(path, *"abc"), model=path, ended=path)(record, session)
        Result(path, path, path, is_error=path, recorded=path)(record, session)
    assert {turn.role for turn in session.turns} <= {Role.ASSISTANT, Role.TOOL}
