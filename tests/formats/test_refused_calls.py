"""A call that a server could not parse, and refused, is a malformed call with the text that the model wrote."""

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weaklink.inspector import Inspection, Trace, inspect_trace
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.json_text import Json, write_json
from weaklink.inspector.model import Part, ResultHeader, Role, Turn
from weaklink.inspector.wire.events import ERROR_PART, TurnAssembly

GEMINI = "/v1beta/models/gemini-3-pro:generateContent"
CHAT = "/v1/chat/completions"
OLLAMA = "/api/chat"
GROQ_SAYS = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."


def gemini(**members: Json) -> Json:
    return {"candidates": [{"content": {}, "index": 0, "finishReason": "MALFORMED_FUNCTION_CALL", **members}]}


def groq(text: str, message: str = GROQ_SAYS) -> Json:
    return {"error": {"message": message, "code": "tool_use_failed", "failed_generation": text}}


def ollama(arguments: str, why: str = "unexpected end of JSON input") -> str:
    return f"error parsing tool call: raw='{arguments}', err={why}"


def chat(finish_reason: str, **members: Json) -> Json:
    message: Json = {"role": "assistant", "content": None, **members}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def answer(path: str, status: int, document: Json, *, event: str | None = None) -> Turn:
    """The turn that a server's answer becomes; `event` is the beginning of the event that it is sent as."""
    is_streamed = event is not None
    kind = "text/event-stream" if is_streamed else "application/json"
    decoder = decoder_for(path, {"messages": [], "contents": [], "stream": is_streamed}, kind, status=status)
    body = write_json(document)
    assembly = TurnAssembly(decoder.api)
    assembly.extend(decoder.feed((f"{event}data: {body}\n\n" if is_streamed else body).encode()))
    assembly.extend(decoder.close())
    return assembly.decoded().turn


def inspected(*turns: Turn) -> Inspection:
    return inspect_trace(Trace(turns=(Turn(Role.USER, (Part("text", "How warm is it?"),)), *turns)))


@dataclass
class Refusal:
    path: str
    status: int
    document: Json
    written: str
    name: str | None
    returned: str
    event: str | None = None


PYTHON = "print(default_api.get_weather(city='Oslo',,))"
LLAMA = '<function=get_weather>{"city": "Oslo",}</function>'
OBJECT = '{"name": "get_weather", "arguments": {"city": "Oslo",}}'
ARGUMENTS = '{"city": "Oslo'
OLLAMA_SAYS = "error parsing tool call: unexpected end of JSON input"
REFUSED = "MALFORMED_FUNCTION_CALL"
BY_FILTER = f"function_call_filter: {REFUSED}"
INTRO = "Malformed function call: "
REFUSALS = {
    "gemini": Refusal(GEMINI, 200, gemini(finishMessage=INTRO + PYTHON), PYTHON, "get_weather", REFUSED),
    "gemini, streamed": Refusal(
        GEMINI.replace("generate", "streamGenerate"),
        200,
        gemini(finishMessage=INTRO + PYTHON),
        PYTHON,
        "get_weather",
        REFUSED,
        "",
    ),
    "gemini, without its text": Refusal(GEMINI, 200, gemini(), "", None, REFUSED),
    "gemini, for code assist": Refusal(
        GEMINI, 200, {"response": gemini(finishMessage=INTRO + PYTHON)}, PYTHON, "get_weather", REFUSED
    ),
    "gemini, for clients of openai": Refusal(CHAT, 200, chat(BY_FILTER), "", None, BY_FILTER),
    "gemini, behind a gateway": Refusal(CHAT, 200, chat(REFUSED.lower()), "", None, REFUSED.lower()),
    "groq": Refusal(CHAT, 400, groq(LLAMA), LLAMA, "get_weather", GROQ_SAYS.rstrip(".")),
    "groq, streamed": Refusal(CHAT, 200, groq(OBJECT), OBJECT, "get_weather", GROQ_SAYS.rstrip("."), "event: error\n"),
    "ollama": Refusal(OLLAMA, 500, {"error": ollama(ARGUMENTS)}, ARGUMENTS, None, OLLAMA_SAYS),
    "ollama, for clients of openai": Refusal(
        CHAT, 500, {"error": {"message": ollama(ARGUMENTS), "type": "api_error"}}, ARGUMENTS, None, OLLAMA_SAYS
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_call_is_malformed_and_shows_what_the_model_wrote(case: str) -> None:
    refusal = REFUSALS[case]
    turn = answer(refusal.path, refusal.status, refusal.document, event=refusal.event)
    inspection = inspected(turn)
    (step,) = inspection.chain.steps
    assert (inspection.chain.status, step.outcome) == ("broken", "malformed")
    assert (step.call.name, step.call.raw_arguments) == (refusal.name, refusal.written)
    (diagnostics,) = inspection.diagnostics
    assert diagnostics.rule.code == "J101"
    assert f"returned `{refusal.returned}` instead" in diagnostics.fault.message
    assert ("only this text shows" in diagnostics.fault.message) is bool(refusal.written)
    error = turn.part(ERROR_PART)
    assert error is not None
    shown = diagnostics.range.of(error.text)
    assert msgspec.json.decode(f'"{shown}"') == (refusal.written or refusal.returned)


@pytest.mark.parametrize(
    ("path", "document"),
    [
        (CHAT, groq("{}", "tool call validation failed: attempted to call tool 'x' which was not in request.tools")),
        (CHAT, groq("")),
        (CHAT, {"error": {"message": "no", "code": "json_validate_failed", "failed_generation": "{"}}),
        (CHAT, {"error": {"message": "error parsing tool call: raw='{"}}),
        (OLLAMA, {"error": "XML syntax error on line 3: element <parameter> closed by </function>"}),
        (GEMINI, {"error": {"code": 400, "message": "Malformed function call", "status": "INVALID_ARGUMENT"}}),
    ],
)
def test_another_error_is_no_call(path: str, document: Json) -> None:
    inspection = inspected(answer(path, 400, document))
    assert inspection.chain.status == "aborted"
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["C505"]


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_after_which_the_client_repeated_its_request_is_no_break(case: str) -> None:
    refusal = REFUSALS[case]
    first = answer(refusal.path, refusal.status, refusal.document, event=refusal.event)
    call: Json = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    second = answer(CHAT, 200, chat("tool_calls", tool_calls=[call]))
    assert second.generation is not None
    second = replace(second, generation=replace(second.generation, attempt=2))
    result = Turn(Role.TOOL, (Part("text", "3 degrees"),), result=ResultHeader("1", "get_weather"))
    inspection = inspected(first, second, result, answer(CHAT, 200, chat("stop", content="It is 3 degrees.")))
    assert inspection.chain.status == "ok"
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["C514"]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(), st.sampled_from(["groq", "ollama"]))
def test_every_text_of_a_refused_call_is_shown_whole(written: str, why: str, server: str) -> None:
    refused: Json = groq(written) if server == "groq" else {"error": ollama(written, why.replace("err=", ""))}
    turn = answer(CHAT if server == "groq" else OLLAMA, 400, refused)
    inspection = inspected(turn)
    (step,) = inspection.chain.steps
    assert (inspection.chain.status, step.call.raw_arguments) == ("broken", written)
    error = turn.part(ERROR_PART)
    assert error is not None
    spans = next(part for part in inspection.parts if part.part == ERROR_PART).spans
    assert "".join(span.range.of(error.text) for span in spans) == error.text
