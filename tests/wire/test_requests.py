"""Requests of every API: turns, tools, parameters; and which API a request is for."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.apis.providers import PROVIDERS, find_api, parse_request, read_request
from weaklink.inspector.model import Generation, Json
from weaklink.inspector.wire.events import DecodedRequest, settings_of, stop_words

CASES = sorted((Path(__file__).parent.parent / "cases" / "wire" / "requests").glob("*.request"))


def plain(request: DecodedRequest | None) -> dict[str, Any]:
    assert request is not None
    value: dict[str, Any] = msgspec.to_builtins(request)
    value["turns"] = [
        {
            "role": turn.role.value,
            "source_role": turn.source_role,
            "parts": {part.name: part.text for part in turn.parts},
            "calls": [[call.part, call.name, call.id] for call in turn.calls],
            "result": turn.result and [turn.result.call_id, turn.result.name, turn.result.is_error],
        }
        for turn in request.turns
    ]
    value["tools"] = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_request_gives_its_turns_and_tools(case: Path, *, update_goldens: bool) -> None:
    golden = case.with_suffix(".json")
    asked = json.loads(case.read_bytes())
    text = json.dumps(plain(read_request(asked["path"], asked["request"])), indent=1) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii"), "pytest --update-goldens rewrites the expected turns"


@pytest.mark.parametrize(
    ("path", "request_", "api"),
    [
        ("/v1/chat/completions", None, "chat.completions"),
        ("/v1/completions/", None, "completions"),
        ("https://example.com:8000/v1/completions#x", None, "completions"),
        ("/v1/messages", None, "messages"),
        ("/v1/messages/count_tokens", None, ""),
        ("/v1/messages/batches", None, ""),
        ("/v1/threads/thread_1/messages", None, ""),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", None, "messages"),
        ("/v1/responses", None, "responses"),
        ("/v1/responses/resp_1/cancel", None, ""),
        ("/v1/embeddings", {"input": "a", "model": "m"}, ""),
        ("/ollama/api/chat", None, "ollama.chat"),
        ("/api/generate", None, "ollama.generate"),
        ("/api/tags", None, ""),
        ("/v1/models/m:generateContent?key=k", None, "generate_content"),
        ("/v1/models/m:countTokens", {}, ""),
        ("/x", {"contents": []}, "generate_content"),
        ("/x", {"input": [], "model": "m"}, "responses"),
        ("/x", {"tools": [{"name": "f", "input_schema": {}}], "messages": []}, "messages"),
        ("/x", {"messages": []}, ""),
        ("/x", [], ""),
        ("", None, ""),
    ],
)
def test_path_and_body_tell_the_api(path: str, request_: Json, api: str) -> None:
    assert find_api(path, request_) == api


@pytest.mark.parametrize(
    ("path", "model", "streams"),
    [
        ("/v1beta/models/example-flash:streamGenerateContent?alt=sse", "example-flash", True),
        ("/v1beta/models/example-flash:generateContent", "example-flash", False),
        ("/openai/deployments/example/chat/completions", "example", False),
        ("/v1/publishers/anthropic/models/example-large@1:streamRawPredict", "example-large@1", True),
        ("/v1/chat/completions", "", False),
    ],
)
def test_a_path_may_name_the_model_and_ask_for_a_stream(path: str, model: str, *, streams: bool) -> None:
    request = read_request(path, {})
    assert request is not None
    assert (request.model, request.streams) == (model, streams)


def test_what_is_no_request_is_not_read() -> None:
    assert parse_request(b'\xef\xbb\xbf{"a": "\xff"}') == {"a": "\udcff"}
    assert parse_request(b"") is None
    assert parse_request(b"[" * 100_000) is None
    assert read_request("/v1/chat/completions", []) is None
    assert read_request("/v1/models", {"data": []}) is None


def test_a_request_says_what_it_says_of_the_generation() -> None:
    request = read_request("/v1/chat/completions", {"model": "m", "temperature": 0, "tools": [{"name": "f"}]})
    assert request is not None
    generation = request.generation()
    assert (generation.api, generation.requested_model) == ("chat.completions", "m")
    assert generation.parameters == '{"temperature":0}'
    assert [tool.name for tool in generation.tools] == ["f"]


_MEMBERS = """
model messages input instructions system tools contents parts role content type text functionCall functionResponse
function_response tool_use tool_result arguments call_id systemInstruction prompt stream request summary
"""
_KINDS = "user assistant model tool tool_use tool_result function_call message reasoning"
_KEYS = st.sampled_from(_MEMBERS.split())
_WORDS = st.sampled_from(_KINDS.split())


@pytest.mark.invariants
@given(
    request=st.dictionaries(
        _KEYS,
        st.recursive(
            json_values() | _WORDS,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
            max_leaves=12,
        ),
        max_size=6,
    )
)
def test_no_request_raises(request: dict[str, Json]) -> None:
    for provider in PROVIDERS:
        decoded = provider.read_request(request)
        assert decoded.api == provider.api
        assert all(turn.parts for turn in decoded.turns)
        for turn in decoded.turns:
            assert all(turn.part(call.part) for call in turn.calls)


@pytest.mark.parametrize(
    ("parameters", "settings", "words"),
    [
        ("", {}, []),
        (
            '{"stop": "a", "seed": 123456789012345678901234567890}',
            {"stop": "a", "seed": 123456789012345678901234567890},
            ["a"],
        ),
        ('{"stop": ["a", 1, "\\ud800"]}', {"stop": ["a", 1, "\ud800"]}, ["a", "\ud800"]),
        ('{"stop_sequences": ["b"]}', {"stop_sequences": ["b"]}, ["b"]),
        ('{"options": {"stop": ["c"]}}', {"options": {"stop": ["c"]}}, ["c"]),
        ('{"temperature": Infinity}', {"temperature": float("inf")}, []),
        ("not JSON", {}, []),
        ("[1]", {}, []),
        ("[" * 100_000, {}, []),
    ],
    ids=["none", "a large number", "half a letter", "Anthropic", "Ollama", "no number", "damaged", "a list", "nested"],
)
def test_the_settings_of_a_request_are_read_back(
    parameters: str, settings: dict[str, object], words: list[str]
) -> None:
    generation = Generation(parameters=parameters)
    assert settings_of(generation) == settings
    assert stop_words(generation) == words
