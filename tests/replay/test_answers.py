"""Answers that are rebuilt from a turn say what the turn says, in every API, whole and streamed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.apis.providers import decoder_for, parse_request
from weaklink.inspector.model import CallHeader, Json, Part, Role, Trace, Turn
from weaklink.inspector.replay.answers import rebuilt_answer
from weaklink.inspector.replay.matching import Match, ReplayDivergence, Replayer, recording_of
from weaklink.inspector.wire.events import TurnAssembly

_REQUESTS: dict[str, dict[str, Json]] = {
    "/v1/chat/completions": {"messages": []},
    "/v1/responses": {"input": []},
    "/v1/messages": {"messages": []},
    "/api/chat": {"messages": [], "stream": False},
    "/v1beta/models/g:generateContent": {"contents": []},
    "/v1beta/models/g:streamGenerateContent?alt=sse": {"contents": []},
}
_WORDS = st.text(st.sampled_from('ab \u20ac\U0001f600\n"\\<>'), min_size=1, max_size=12)
_CALLS = st.lists(
    st.tuples(st.sampled_from(["weather", "news"]), st.dictionaries(_WORDS, _WORDS, max_size=2)), max_size=3
)


def _turn(text: str, calls: list[tuple[str, dict[str, str]]]) -> Turn:
    parts = [Part("text", text), *(Part(f"call:{index}", json.dumps(given)) for index, (_, given) in enumerate(calls))]
    headers = [CallHeader(f"call:{index}", name, f"id_{index}") for index, (name, _) in enumerate(calls)]
    return Turn(Role.ASSISTANT, tuple(parts), calls=tuple(headers))


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("path", _REQUESTS)
@given(text=_WORDS, calls=_CALLS)
def test_a_rebuilt_answer_is_read_as_its_turn(
    path: str, is_stream: bool, text: str, calls: list[tuple[str, dict[str, str]]]
) -> None:
    turn = _turn(text, calls)
    body = json.dumps({**_REQUESTS[path], "stream": is_stream}).encode()
    kind, answer = rebuilt_answer(turn, path, body)
    decoder = decoder_for(path, parse_request(body), kind, status=200)
    assembly = TurnAssembly(decoder.api, streamed=decoder.streamed)
    assembly.extend([*decoder.feed(answer, None), *decoder.close()])
    read = assembly.decoded().turn
    texts = {part.name: part.text for part in read.parts}
    assert texts["text"] == text
    assert [(call.name, json.loads(texts[call.part])) for call in read.calls] == calls
    assert not any(name.startswith("wire:") for name in texts), texts


def test_an_imported_session_answers_what_its_turns_say() -> None:
    first = _turn("I look.", [("weather", {"city": "Oslo"})])
    trace = Trace(
        (
            Turn(Role.SYSTEM, (Part("text", "Logged without this."),)),
            Turn(Role.USER, (Part("text", "Is it warm?"),)),
            first,
            Turn(Role.TOOL, (Part("text", "12"),)),
            _turn("Yes.", []),
        )
    )
    recording = recording_of([(trace, ())])
    assert (len(recording.exchanges), recording.rebuilt) == (2, 2)
    replayer = Replayer(recording)
    call: Json = {"id": "x", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
    messages: list[Json] = [{"role": "system", "content": "Now with it."}, {"role": "user", "content": "Is it warm?"}]
    position = replayer.find("POST", "/v1/chat/completions", json.dumps({"messages": messages}).encode())
    assert isinstance(position, Match)
    assert position.turn is first
    messages += [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "13"},
    ]
    other = replayer.find("POST", "/v1/chat/completions", json.dumps({"messages": messages}).encode())
    assert isinstance(other, ReplayDivergence)
    assert [(difference.pointer, difference.message) for difference in other.differences] == [
        ("/messages/2/content", 3)
    ]
