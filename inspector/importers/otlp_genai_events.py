"""Messages as events: how OpenTelemetry's conventions for generative AI had them before they became attributes.

A message is an event named after its role (`gen_ai.user.message`) and each answer a `gen_ai.choice`; before those there
were `gen_ai.content.prompt` and `gen_ai.content.completion`. They are events of the span, log records, or, as Logfire
writes them, a JSON list in the attribute `events`. What they hold stands in their attributes, in the body of the log
record, or as JSON in one attribute.
"""

from collections.abc import Iterator

from inspector.importers.otlp_messages import RequestMessages
from inspector.importers.otlp_span import OtlpEvent, OtlpSpan, lenient_json, objects
from inspector.importers.otlp_told import SpanFacts
from inspector.importers.source import JsonObject
from inspector.model import Json

_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_BODIES = ("gen_ai.event.content", "event_body", "body")
_CHUNK = "gen_ai.content.completion.chunk"
_FIRST_TOKENS = frozenset({_CHUNK, "gen_ai.choice.chunk", "llm.content.completion.chunk"})
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"


def read_events(span: OtlpSpan, told: SpanFacts) -> None:
    """Add what the events of a span say."""
    asked: list[Json] = []
    for event in (*span.events, *_listed(span)):
        if event.name in _FIRST_TOKENS and told.first_token_s is None:
            told.first_token_s = event.at_s
            continue
        body = _body(event)
        if event.name in _ROLES:
            asked.append(_message(body, _ROLES[event.name]))
        elif event.name == "gen_ai.choice":
            _read_choice(body, told)
        elif event.name == _PROMPT:
            asked += _texts(body.get("gen_ai.prompt"), "user")
        elif event.name == _COMPLETION:
            told.answers += _texts(body.get("gen_ai.completion"), "assistant")
    if asked := asked or _texts(span.attributes.get("gen_ai.prompt"), "user"):
        told.asked = RequestMessages(asked)
    if not told.answers:
        told.answers += _texts(span.attributes.get("gen_ai.completion"), "assistant")


def _listed(span: OtlpSpan) -> Iterator[OtlpEvent]:
    for one in objects(lenient_json(span.attributes.get("events"))):
        name = one.get("event.name")
        if isinstance(name, str):
            yield OtlpEvent(name, None, one)


def _body(event: OtlpEvent) -> JsonObject:
    """What an event holds, wherever it stands."""
    held = dict(event.attributes)
    for key in _BODIES:
        inner = lenient_json(held.get(key))
        if isinstance(inner, dict):
            held |= inner
        elif isinstance(inner, str) and inner:
            held.setdefault("content", inner)
    return held


def _message(body: JsonObject, role: str) -> Json:
    kept: JsonObject = {"role": role}
    named = body.get("role")
    if isinstance(named, str) and named:
        kept["role"] = named
    if (calls := lenient_json(body.get("tool_calls"))) is not None:
        kept["tool_calls"] = calls
    for key in ("content", "reasoning_content", "reasoning", "name"):
        if key in body:
            kept[key] = body[key]
    if role == "tool":
        kept["tool_call_id"] = body.get("id", body.get("tool_call_id"))
    return kept


def _read_choice(body: JsonObject, told: SpanFacts) -> None:
    held = lenient_json(body.get("message"))
    message = held if isinstance(held, dict) else {"content": body.get("content", "") if held is None else held}
    calls = body.get("tool_calls")
    told.answers.append(_message(message if calls is None else {"tool_calls": calls, **message}, "assistant"))
    finish = body.get("finish_reason")
    if isinstance(finish, str) and not told.finish_reason:
        told.finish_reason = finish


def _texts(value: Json, role: str) -> list[Json]:
    """A prompt or completion: messages as JSON, or a text."""
    if value is None or value == "":
        return []
    held = lenient_json(value)
    listed = objects(held)
    if listed and all({"role", "content"} & one.keys() for one in listed):
        return [{"role": role, **one} for one in listed]
    return [{"role": role, "content": value}]
