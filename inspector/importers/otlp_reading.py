"""An OpenTelemetry span read with every convention that its attributes follow: what it tells of a trace."""

import re
from collections.abc import Iterator
from dataclasses import replace

from inspector.importers.framework_messages import KnownMessages
from inspector.importers.otlp_genai import read_genai
from inspector.importers.otlp_langfuse import with_langfuse
from inspector.importers.otlp_messages import Messages, RequestMessages
from inspector.importers.otlp_openinference import read_openinference
from inspector.importers.otlp_openllmetry import read_openllmetry
from inspector.importers.otlp_span import ERROR, OtlpSpan, objects
from inspector.importers.otlp_told import SpanFacts, filled_usage, together
from inspector.importers.several_answers import one_answer
from inspector.importers.spans import ModelCall, OperationKind, TracedSpan
from inspector.model import (
    BodyState,
    ErrorPhase,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    Json,
    Part,
    Role,
    Turn,
)
from inspector.sessions.fingerprints import message_digest, says_nothing
from inspector.wire.assembly import DecodedTurn, TurnAssembly
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import compact_json, parse_json
from inspector.wire.providers import decoder_for, read_request
from inspector.wire.request import DecodedRequest

NO_CHUNKS = "the source keeps no chunks of answers"
_REWRITTEN = "the source parsed the arguments of calls that are JSON and wrote them anew"
_NO_CONTENT = "the source kept no words of some answers: instrumentations keep them only when told to"
_CUT = "the source cut long texts off"
_DROPPED = "the source dropped attributes or events beyond its limits"
_REDACTED = "__REDACTED__"
_STATUS = re.compile(r"(?:error code|status(?: code)?|http)\W{1,3}([45]\d\d)\b", re.IGNORECASE)
_CODE = re.compile(r"[45]\d\d")
_ABORTED = re.compile(r"cancel|abort|generatorexit|keyboardinterrupt", re.IGNORECASE)
_UNREACHED = re.compile(r"connect|dns|resolve", re.IGNORECASE)
_ANSWER_KEYS = ("choices", "candidates", "output", "content")


def read_span(span: OtlpSpan, messages: Messages, known: KnownMessages | None = None) -> TracedSpan:
    """What a span tells; `messages` and `known` are those of its session. Never raises."""
    return with_langfuse(_read(span, messages), span, KnownMessages() if known is None else known)


def _read(span: OtlpSpan, messages: Messages) -> TracedSpan:
    told = together((read_openinference(span), read_genai(span), read_openllmetry(span)))
    kind = told.kind or _guessed_kind(span)
    read = TracedSpan(
        span.id,
        span.parent_id,
        kind,
        (told.agent or span.name) if kind is OperationKind.AGENT else span.name,
        span.started,
        span.ended,
        span_trace=span.trace_id,
    )
    if kind is OperationKind.MODEL:
        call = _call(span, told, messages)
        return replace(read, call=call, warnings=tuple(_warnings(span, told, call)))
    if kind is OperationKind.TOOL and told.run is not None:
        failure = _error(span, has_words=True)
        result = told.run.result if told.run.result is not None or failure is None else failure.message
        return replace(read, run=replace(told.run, result=result, failed=True if failure else None))
    return read


def _guessed_kind(span: OtlpSpan) -> OperationKind:
    """What goes on during a span that names a model and no operation, as the first drafts of conventions had it."""
    names_model = span.text("gen_ai.request.model") and "embed" not in span.name.lower()
    return OperationKind.MODEL if names_model else OperationKind.OTHER


def _call(span: OtlpSpan, told: SpanFacts, messages: Messages) -> ModelCall:
    request = _request(told, messages)
    answer = _answer(told.answers, messages)
    raw = _raw_answer(told, answer)
    is_rewritten = raw is None and any(map(_has_values, objects(told.answers)))
    known = Generation()
    if raw is not None:
        known = raw.turn.generation or known
        answer = raw.turn
    finish = told.finish_reason or known.finish_reason
    generation = replace(
        known,
        answered_model=told.answered_model or known.answered_model,
        started=span.started,
        first_token=None if told.first_token_s is None else Instant(told.first_token_s),
        ended=span.ended,
        usage=filled_usage(told.usage, known.usage),
        finish_reason=finish,
        finish=finish_meaning(finish) if finish else None,
    )
    response_id = told.response_id or (raw.response_id if raw is not None else "")
    turn = replace(answer, generation=_ended(generation, span, told, answer))
    return ModelCall(request, turn, response_id, is_rewritten)


def _request(told: SpanFacts, messages: Messages) -> DecodedRequest:
    raw = read_request("", told.raw_request) if _is_request(told.raw_request) else None
    known = raw or DecodedRequest("", "", ())
    turns = messages.read(told.asked)
    return replace(
        known,
        model=told.requested_model or known.model,
        turns=turns or known.turns,
        tools=told.tools or known.tools,
        parameters=compact_json(told.parameters) if told.parameters else known.parameters,
        continues=told.continues or known.continues,
    )


def _is_request(value: Json) -> bool:
    """Whether a span's input is the request's body, and not what a framework was given."""
    if not isinstance(value, dict):
        return False
    listed = value.get("messages", value.get("input", value.get("contents")))
    return isinstance(listed, list) and bool(listed) and all(isinstance(one, dict) for one in listed)


def _answer(answers: list[Json], messages: Messages) -> Turn:
    """All output messages as one answer."""
    said = messages.read(RequestMessages(answers))
    return one_answer(said) if said else Turn(Role.ASSISTANT, (Part("text", ""),))


def _raw_answer(told: SpanFacts, answer: Turn) -> DecodedTurn | None:
    """The answer out of its body as the API sent it, if that is kept and says the same."""
    if not told.raw_answer.lstrip().startswith("{"):
        return None
    try:
        body = parse_json(told.raw_answer)
    except ValueError:
        return None
    if not isinstance(body, dict) or not any(isinstance(body.get(key), list) for key in _ANSWER_KEYS):
        return None
    decoder = decoder_for("", told.raw_request, "application/json", status=200)
    events = decoder.feed(told.raw_answer.encode("utf-8", "surrogatepass"))
    assembly = TurnAssembly(decoder.api, streamed=False)
    assembly.extend([*events, *decoder.close()])
    read = assembly.decoded()
    if says_nothing(read.turn) or not (told.answers == [] or message_digest(read.turn) == message_digest(answer)):
        return None
    return read


def _has_values(message: dict[str, Json]) -> bool:
    """Whether arguments of a message's calls are values and not texts."""
    functions = (call.get("function", call) for call in objects(message.get("tool_calls")))
    return any(isinstance(one, dict) and isinstance(one.get("arguments"), dict | list) for one in functions)


def _ended(generation: Generation, span: OtlpSpan, told: SpanFacts, answer: Turn) -> Generation:
    error = _error(span, has_words=not says_nothing(answer))
    if error is not None:
        is_abort = error.phase is ErrorPhase.CLIENT_ABORT
        return replace(generation, error=error, finish=generation.finish if is_abort else FinishReason.ERROR)
    text = answer.part("text")
    if text is not None and text.text == _REDACTED:
        return replace(generation, body=BodyState.REDACTED)
    if any(isinstance(one, str) for one in told.answers):
        return replace(generation, body=BodyState.TRUNCATED)
    has_words = bool(told.answers) or any(part.text for part in answer.parts)
    return generation if has_words else replace(generation, body=BodyState.NOT_STORED)


def _error(span: OtlpSpan, *, has_words: bool) -> GenerationError | None:
    """How a span failed, by its status, its `error.type` and its event `exception`; None where it did not."""
    raised = next((event.attributes for event in span.events if event.name == "exception"), {})
    code = span.text("error.type") or _text(raised.get("exception.type"))
    if span.status != ERROR and not span.text("error.type"):
        return None
    message = span.message or _text(raised.get("exception.message")) or span.text("error.message", "exception.message")
    status = span.number("http.response.status_code", "http.status_code")
    found = _STATUS.search(message) or (_CODE.fullmatch(code))
    if status is None and found is not None:
        status = int(found[found.lastindex or 0])
    words = message or f"The span failed{f' with `{code}`' if code else ''} and says no more."
    return GenerationError(_phase(code, status, has_words=has_words), words, status, code or None)


def _phase(code: str, status: int | None, *, has_words: bool) -> ErrorPhase:
    if status is not None and status >= 400:
        return ErrorPhase.HTTP
    if _ABORTED.search(code):
        return ErrorPhase.CLIENT_ABORT
    if _UNREACHED.search(code):
        return ErrorPhase.CONNECT
    return ErrorPhase.IN_STREAM if has_words else ErrorPhase.TRANSPORT


def _warnings(span: OtlpSpan, told: SpanFacts, call: ModelCall) -> Iterator[str]:
    if call.is_rewritten:
        yield _REWRITTEN
    generation = call.answer.generation
    if generation is not None and generation.body is BodyState.NOT_STORED:
        yield _NO_CONTENT
    if told.is_cut:
        yield _CUT
    if span.dropped:
        yield _DROPPED


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
