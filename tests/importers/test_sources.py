"""What single sources mean: their words, turn by turn, as they were written."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.data.conversation_rows import read_conversations
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.memory import TOO_MANY_ROWS
from weaklink.inspector.model import CallHeader, ErrorPhase, InstantSource, Outcome, Part, RecognisedBy, Role, Trace

TOOL = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}


def traces(tmp_path: Path, *rows: object, source: str | None = None, name: str = "file.jsonl") -> list[Trace]:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    records = list(read_source(path, source).records)
    assert not [record for record in records if isinstance(record, Skipped)]
    return [record for record in records if isinstance(record, Trace)]


def conversation(*messages: tuple[str, object], **beside: object) -> dict[str, object]:
    return {"conversations": [{"from": role, "value": value} for role, value in messages], **beside}


def test_sharegpt_keeps_every_value_as_it_stands(tmp_path: Path) -> None:
    raw = " <think>\n</think>\n<tool_call>\n{'name': 'tide',}\n</tool_call>\n"
    (trace,) = traces(tmp_path, conversation(("human", "x"), ("gpt", raw), ("tool", "<tool_response>"), ("gpt", "")))
    assert [turn.parts for turn in trace.turns] == [(Part("text", text),) for text in ("x", raw, "<tool_response>", "")]
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert [turn.generation is not None for turn in trace.turns] == [False, True, False, True]
    assert trace.format == ""


@pytest.mark.parametrize("tools", [[TOOL], json.dumps([TOOL])])
def test_sharegpt_offers_a_rows_tools_to_every_answer(tools: object, tmp_path: Path) -> None:
    (trace,) = traces(tmp_path, conversation(("human", "x"), ("gpt", "y"), ("human", "z"), ("gpt", "!"), tools=tools))
    offered = [turn.generation.tools for turn in trace.turns if turn.generation]
    assert [[tool.name for tool in one] for one in offered] == [["tide"], ["tide"]]


@pytest.mark.parametrize(
    ("value", "header", "arguments"),
    [
        ('{"name": "tide", "arguments": {"at" :1.50}}', CallHeader("call:0", "tide"), '{"at" :1.50}'),
        ('{"arguments": {}, "id": "c1", "name": "tide"}', CallHeader("call:0", "tide", "c1"), "{}"),
        ('{"name": "tide", "arguments": "{\\"at\\": 1"}', CallHeader("call:0", "tide"), '{"at": 1'),
        ('{"name": "tide"}', CallHeader("call:0", "tide"), ""),
        ('{"name": "tide", "arguments": {},}', CallHeader("call:0", None), '{"name": "tide", "arguments": {},}'),
        ("tide(1)", CallHeader("call:0", None), "tide(1)"),
        ("[]", CallHeader("call:0", None), "[]"),
    ],
)
def test_sharegpt_function_calls_keep_their_arguments_text(
    value: str, header: CallHeader, arguments: str, tmp_path: Path
) -> None:
    (trace,) = traces(tmp_path, conversation(("human", "x"), ("function_call", value)))
    assert trace.turns[1].calls == (header,)
    assert trace.turns[1].parts == (Part("call:0", arguments),)


def test_hermes_agent_says_when_and_how_it_ended(tmp_path: Path) -> None:
    row = conversation(("human", "x"), ("gpt", "y"), timestamp="1970-01-02T00:00:01", model="m", completed=False)
    (trace,) = traces(tmp_path, row)
    assert trace.started is not None
    assert (trace.started.at_s, trace.started.source) == (86_401.0, InstantSource.DERIVED)
    assert (trace.outcome, trace.model, trace.provenance.source_version) == (
        Outcome(completed=False),
        "m",
        "hermes-agent",
    )


def test_the_same_answer_of_two_models_is_two_traces(tmp_path: Path) -> None:
    row = {"id": "simple_0", "result": "text"}
    found = []
    for model in ("model-a-8b", "model-b-70b"):
        (tmp_path / model / "non_live").mkdir(parents=True)
        found += traces(tmp_path, row, name=f"{model}/non_live/simple_result.json")
    assert [trace.model for trace in found] == ["model-a-8b", "model-b-70b"]
    assert found[0].external_ids != found[1].external_ids
    assert "folder" in found[0].provenance.warnings[1]


def test_a_failed_bfcl_answer_is_an_error_and_no_words(tmp_path: Path) -> None:
    (trace,) = traces(tmp_path, {"id": 0, "result": "Error during inference: 500"})
    (turn,) = trace.turns
    assert turn.parts == (Part("text", ""),)
    assert turn.generation is not None
    assert turn.generation.error is not None
    assert turn.generation.error.phase is ErrorPhase.TRANSPORT
    assert trace.model == ""


def test_a_named_session_is_known_by_its_name_alone(tmp_path: Path) -> None:
    rows = [{"session_id": "s1", "id": n, "messages": [{"role": "user", "content": "x"}] * n} for n in (1, 2)]
    first, second = traces(tmp_path, *rows)
    assert first.external_ids == second.external_ids
    assert [(known.name, known.value) for known in first.external_ids] == [("session_id", "s1")]
    assert first.recognised_by is RecognisedBy.FIELD


def test_logs_that_hold_more_than_messages_are_not_taken_for_training_data(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "x"}], "response": {"id": "r"}}))
    with pytest.raises(UnreadableFileError, match="unknown format: the first row has"):
        read_source(path)


def _log(*words: str, **beside: object) -> list[dict[str, object]]:
    """Messages, the user's and the assistant's by turns."""
    return [{"role": ("user", "assistant")[at % 2], "content": said, **beside} for at, said in enumerate(words)]


def test_a_message_a_line_is_one_conversation_known_again_when_it_has_grown(tmp_path: Path) -> None:
    messages = _log("Hi", "Hello!", "Bye", "Bye!")
    (before,) = traces(tmp_path, *messages[:2])
    (after,) = traces(tmp_path, *messages)
    (other,) = traces(tmp_path, *_log("Hi", "Good day!"))
    assert [len(trace.turns) for trace in (before, after, other)] == [2, 4, 2]
    assert before.external_ids == after.external_ids != other.external_ids
    assert after.recognised_by is RecognisedBy.FILE


def test_the_same_talk_in_another_folder_is_another_conversation(tmp_path: Path) -> None:
    found = []
    for folder in ("run1", "run2"):
        (tmp_path / folder).mkdir()
        found += traces(tmp_path, *_log("Hi", "Hello!"), name=f"{folder}/chat.jsonl")
    assert found[0].external_ids != found[1].external_ids


def test_messages_among_rows_of_another_log_are_not_taken_for_a_conversation(tmp_path: Path) -> None:
    items = [{"type": "message", **message} for message in _log("Hi", "Hello!")]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(item) + "\n" for item in [*items, {"type": "turn_ended", "name": "f"}]))
    with pytest.raises(UnreadableFileError, match="unknown format: the first row has"):
        read_source(path)


def test_messages_among_items_are_a_conversation_with_its_calls(tmp_path: Path) -> None:
    items: list[dict[str, object]] = [{"type": "message", **message} for message in _log("Hi", "Hello!")]
    (trace,) = traces(tmp_path, *items, {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": '})
    assert [turn.parts[-1].text for turn in trace.turns] == ["Hi", '{"a": ']
    assert trace.turns[1].calls == (CallHeader("call:0", "f", "c"),)


def test_messages_of_several_sessions_are_put_together_by_session(tmp_path: Path) -> None:
    one, two = _log("a", "b", "c", session_id="one"), _log("x", "y", session_id="two")
    first, second = traces(tmp_path, one[0], two[0], one[1], two[1], one[2])
    assert [turn.parts[0].text for turn in first.turns] == ["a", "b", "c"]
    assert [turn.parts[0].text for turn in second.turns] == ["x", "y"]
    assert [(known.name, known.value) for known in second.external_ids] == [("session_id", "two")]
    assert first.recognised_by is RecognisedBy.FIELD


def test_messages_beyond_the_bound_are_not_read_and_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(message) + "\n" for message in _log(*("x" * 40 for _ in range(9)))))
    skipped, row = read_conversations(SourceFile(path), bool, bool, limit=5_000)
    assert skipped == Skipped("line 5", TOO_MANY_ROWS)
    assert not isinstance(row, Skipped)
    assert row.value["messages"] == _log(*["x" * 40] * 4)


@given(
    prompt=texts().map(lambda text: f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"),
    pieces=st.lists(texts(max_size=3), max_size=4),
)
def test_completions_add_up_to_prompt_and_pieces(
    prompt: str, pieces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    row = {"prompt": prompt, "deltas": pieces}
    (trace,) = traces(tmp_path_factory.mktemp("x"), row, source="completions")
    written = json.loads(json.dumps([prompt, *pieces]))  # two halves of a pair become one character in JSON
    assert "".join(part.text for turn in trace.turns for part in turn.parts) == "".join(written)
    for turn in trace.turns:
        assert turn.generation is None or turn.role is Role.ASSISTANT
        for part in turn.parts:
            assert "".join(chunk.text for chunk in part.arrivals()) in ("", part.text)
