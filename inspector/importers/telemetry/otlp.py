"""OpenTelemetry traces of agents: OTLP as JSON lines, JSON documents, or protobuf bodies.

Each span is read with every attribute convention that it follows: OpenTelemetry's own, OpenInference, OpenLLMetry
and Langfuse.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import CALLS
from weaklink.inspector.apis.providers import decoder_for, read_request
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import read_rows
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.importers.telemetry import otlp_span
from weaklink.inspector.importers.telemetry.framework_calls import one_answer
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.genai_convention import read_genai, session_notes
from weaklink.inspector.importers.telemetry.langfuse_attributes import with_langfuse
from weaklink.inspector.importers.telemetry.openinference import read_openinference
from weaklink.inspector.importers.telemetry.openllmetry import read_openllmetry
from weaklink.inspector.importers.telemetry.otlp_bodies import is_otlp, read_protobuf
from weaklink.inspector.importers.telemetry.otlp_json import has_resources, merged_spans, spans_of
from weaklink.inspector.importers.telemetry.span_spool import TRACE, SpanSpool
from weaklink.inspector.importers.telemetry.span_traces import traces_of_spans
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, TracedSpan, filled
from weaklink.inspector.json_text import compact_json, word_of
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.fingerprints import has_no_content, message_digest
from weaklink.inspector.wire.answer_reader import finish_meaning
from weaklink.inspector.wire.decoder import decode_answer
from weaklink.inspector.wire.events import DecodedRequest, DecodedTurn
from weaklink.inspector.wire.provider_json import parse_json

SESSION_KEYS = (
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
    "langfuse.session.id",
    "langsmith.trace.session_id",
    "ai.telemetry.metadata.sessionId",
    "session_id",
)
"""Attributes that name the session of a span, in order of priority."""

_NO_TIME = float("inf")
_RESOURCES = lazy_pattern(r'\{\s*"resource_?(?:[Ss]pans|[Ll]ogs)"\s*:\s*\[')
_NO_SPANS = "the row is not OTLP: it has neither `resourceSpans` nor `resourceLogs`"
TOO_DEEP = "the values are nested too deeply"
"""The reason for skipping a record that Python cannot read."""

NO_CHUNKS = "the source does not store the chunks of answers"
_REWRITTEN = "the source stores JSON arguments of calls parsed; their original text is lost"
_NO_CONTENT = "the source did not store the text of some answers: instrumentations record it only if configured to"
_CUT = "the source truncated long texts"
_DROPPED = "the source dropped attributes or events beyond its limits"
_REDACTED = "__REDACTED__"
_STATUS = lazy_pattern(r"(?:error code|status(?: code)?|http)\W{1,3}([45]\d\d)\b", re.IGNORECASE)
_CODE = lazy_pattern(r"[45]\d\d")
_ABORTED = lazy_pattern(r"cancel|abort|generatorexit|keyboardinterrupt", re.IGNORECASE)
_UNREACHED = lazy_pattern(r"connect|dns|resolve", re.IGNORECASE)
_BODY_STATES = frozenset(model.BodyState)
_PHASES = frozenset(model.ErrorPhase)
_EXCEPTIONS = frozenset({"gen_ai.execute_tool.exception", "gen_ai.client.operation.exception"})
_CONVENTIONS = (read_openinference, read_genai, read_openllmetry)  # the first that has a fact counts
_ANSWER_KEYS = ("choices", "candidates", "output", "content")


def session_of(span: otlp_span.OtlpSpan) -> model.ExternalId | None:
    """The session that a span names; None if it names none."""
    for key in SESSION_KEYS:
        value = span.attributes.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return model.ExternalId(key, str(value))
    return None


def _score(sample: FileSample) -> float:
    """By the member that contains the spans, or by the shape of a protobuf body."""
    if _RESOURCES.match(sample.text.lstrip("\ufeff \t\r\n")):
        return 0.9
    return 0.8 if is_otlp(sample.head) else 0.0


def _traces(file: SourceFile) -> Iterator[model.Trace | Skipped]:
    return spooled_sessions(read_protobuf(file) if is_otlp(file.head) else _of_rows(file))


def spooled_sessions(spans: Iterable[otlp_span.OtlpSpan | Skipped]) -> Iterator[model.Trace | Skipped]:
    """The traces of all sessions in these spans, after the last one; a Skipped comes at once.

    A trace belongs to the session that the earliest of its spans names.
    """
    with SpanSpool(otlp_span.OtlpSpan) as spool:
        for span in spans:
            if isinstance(span, Skipped):
                yield span
            elif not span.id:
                yield Skipped(f"span `{span.name}`", "the span has no id")
            else:
                start_s = _NO_TIME if span.start_s is None else span.start_s
                try:
                    spool.put(span.trace_id, span, trace=span.trace_id, session=session_of(span), started_s=start_s)
                except RecursionError:
                    yield Skipped(f"span {span.id}", TOO_DEEP)
        yield from traces_in((id_, spool.rows(keys)) for id_, keys in spool.sessions().items())


def traces_in(
    sessions: Iterable[tuple[model.ExternalId, Iterable[otlp_span.OtlpSpan]]],
    take_damage: Callable[[], Sequence[Skipped]] = tuple,
) -> Iterator[model.Trace | Skipped]:
    """The traces of sessions; a Skipped counts those that have none.

    `take_damage` returns what of a session could not be read: it comes before the session's traces.
    """
    without = 0
    for id_, spans in sessions:
        traces = session_traces(id_, spans)
        first = next(traces, None)
        damage = take_damage()
        yield from damage
        without += first is None and not damage
        yield from () if first is None else (first, *traces)
    if without:
        reason = f"{without} of the traces in this file contain neither a request to a model nor the run of a tool"
        yield Skipped("other spans", reason, is_irrelevant=True)


def session_traces(id_: model.ExternalId, spans: Iterable[otlp_span.OtlpSpan]) -> Iterator[model.Trace]:
    """The traces that the spans of one session make up."""
    known = KnownMessages()
    merged = merged_spans(spans)
    notes = tuple(session_notes(merged))
    read = [read_span(span, known) for span in merged]
    found = model.RecognisedBy.FIELD if id_.name != TRACE else model.RecognisedBy.RECORD
    return traces_of_spans(read, (id_,), recognised_by=found, warnings=(NO_CHUNKS, *notes))


def _of_rows(file: SourceFile) -> Iterator[otlp_span.OtlpSpan | Skipped]:
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
        elif not has_resources(row.value):
            yield Skipped(row.record, _NO_SPANS, is_irrelevant=isinstance(row.value.get("resourceMetrics"), list))
        else:
            try:
                yield from spans_of(row.value)
            except RecursionError:
                yield Skipped(row.record, TOO_DEEP)


def read_span(span: otlp_span.OtlpSpan, known: KnownMessages) -> TracedSpan:
    """A span as its conventions describe it; `known` are the messages of its session. Never raises."""
    return with_langfuse(_read(span, known), span, known)


def _read(span: otlp_span.OtlpSpan, known: KnownMessages) -> TracedSpan:
    facts = otlp_span.merged_facts(read_convention(span) for read_convention in _CONVENTIONS)
    kind = facts.kind or _guessed_kind(span)
    read = TracedSpan(
        span.id,
        span.parent_id,
        kind,
        (facts.agent or _agent_of(span.name)) if kind is OperationKind.AGENT else span.name,
        span.started,
        span.ended,
        span_trace=span.trace_id,
    )
    if kind is OperationKind.MODEL:
        call = _call(span, facts, known)
        return structs.replace(read, call=call, warnings=tuple(_warnings(span, facts, call)))
    if kind is OperationKind.TOOL and facts.run is not None:
        failure = None if span.text("weaklink.outcome") else _error(span, has_words=True)  # that is our own verdict
        result = facts.run.result if facts.run.result is not None or failure is None else failure.message
        failed = True if failure else facts.run.failed
        return structs.replace(read, run=structs.replace(facts.run, result=result, failed=failed))
    if kind is OperationKind.AGENT:
        call = _call(span, facts, known)
        has_words = bool(call.request.turns) or any(part.text for part in call.answer.parts)
        return structs.replace(read, conversation=call if has_words else None)
    return read


def _agent_of(span_name: str) -> str:
    """The agent in the name of its span, which is the operation and a name if there is one: `invoke_agent planner`."""
    operation, _, agent = span_name.partition(" ")
    return agent.strip() if operation == "invoke_agent" else span_name


def _guessed_kind(span: otlp_span.OtlpSpan) -> OperationKind:
    """The kind of a span that names a model and no operation, as in the first drafts of the conventions."""
    names_model = span.text("gen_ai.request.model") and "embed" not in span.name.lower()
    return OperationKind.MODEL if names_model else OperationKind.OTHER


def _call(span: otlp_span.OtlpSpan, facts: otlp_span.SpanFacts, known: KnownMessages) -> ModelCall:
    request = _request(facts, known)
    answer = _answer(facts.answers, known)
    raw = _raw_answer(facts, answer)
    is_rewritten = raw is None and any(map(_has_values, otlp_span.objects(facts.answers)))
    stored = model.Generation()
    if raw is not None:
        stored = raw.turn.generation or stored
        answer = raw.turn
    finish = facts.finish_reason or stored.finish_reason
    generation = structs.replace(
        stored,
        answered_model=facts.answered_model or stored.answered_model,
        started=span.started,
        first_token=None if facts.first_token_s is None else model.Instant(facts.first_token_s),
        ended=span.ended,
        usage=filled(facts.usage, stored.usage),
        finish_reason=finish,
        finish=finish_meaning(finish) if finish else None,
        attempt=max(span.number("weaklink.attempt") or 1, 1),
    )
    response_id = facts.response_id or (raw.response_id if raw is not None else "")
    turn = structs.replace(answer, generation=_ended(generation, span, facts, answer))
    # Our own export lists the tools where they change.
    repeats_tools = bool(span.text("weaklink.continues")) and "gen_ai.tool.definitions" not in span.attributes
    return ModelCall(request, turn, response_id, is_rewritten, repeats_tools)


def _request(facts: otlp_span.SpanFacts, known: KnownMessages) -> DecodedRequest:
    raw = read_request("", facts.raw_request) if _is_request(facts.raw_request) else None
    body = raw or DecodedRequest("", "", ())
    turns = facts.request_messages.turns(known)
    return structs.replace(
        body,
        model=facts.requested_model or body.model,
        turns=turns or body.turns,
        tools=facts.tools or body.tools,
        parameters=compact_json(facts.parameters) if facts.parameters else body.parameters,
        continues=facts.continues or body.continues,
    )


def _is_request(value: model.Json) -> bool:
    """Whether a span's input is the body of the request, not the input of a framework."""
    if not isinstance(value, dict):
        return False
    listed = value.get("messages", value.get("input", value.get("contents")))
    return isinstance(listed, list) and bool(listed) and all(isinstance(one, dict) for one in listed)


def _answer(answers: list[model.Json], known: KnownMessages) -> model.Turn:
    """All output messages as one answer."""
    turns = otlp_span.RequestMessages(answers).turns(known)
    return one_answer(turns) if turns else model.Turn(model.Role.ASSISTANT, (model.Part("text", ""),))


def _raw_answer(facts: otlp_span.SpanFacts, answer: model.Turn) -> DecodedTurn | None:
    """The answer from its body as the API sent it, if that is stored and has the same content."""
    if not facts.raw_answer.lstrip().startswith("{"):
        return None
    try:
        body = parse_json(facts.raw_answer)
    except ValueError:
        return None
    if not isinstance(body, dict) or not any(isinstance(body.get(key), list) for key in _ANSWER_KEYS):
        return None
    decoder = decoder_for("", facts.raw_request, "application/json", status=200)
    read = decode_answer(decoder, [(None, facts.raw_answer.encode("utf-8", "surrogatepass"))])
    if has_no_content(read.turn) or not (facts.answers == [] or message_digest(read.turn) == message_digest(answer)):
        return None
    return read


def _has_values(message: dict[str, model.Json]) -> bool:
    """Whether the arguments of a message's calls are parsed values, not texts."""
    functions = (call.get("function", call) for call in otlp_span.objects(message.get(CALLS)))
    return any(
        isinstance(function, dict) and isinstance(function.get("arguments"), dict | list) for function in functions
    )


def _ended(
    generation: model.Generation, span: otlp_span.OtlpSpan, facts: otlp_span.SpanFacts, answer: model.Turn
) -> model.Generation:
    error = _error(span, has_words=not has_no_content(answer))
    if error is not None:
        is_abort = error.phase is model.ErrorPhase.CLIENT_ABORT
        return structs.replace(
            generation, error=error, finish=generation.finish if is_abort else model.FinishReason.ERROR
        )
    if (body := span.text("weaklink.body")) in _BODY_STATES:  # our own export
        return structs.replace(generation, body=model.BodyState(body))
    text = answer.part("text")
    if text is not None and text.text == _REDACTED:
        return structs.replace(generation, body=model.BodyState.REDACTED)
    if any(isinstance(one, str) for one in facts.answers):
        return structs.replace(generation, body=model.BodyState.TRUNCATED)
    has_words = bool(facts.answers) or any(part.text for part in answer.parts)
    return generation if has_words else structs.replace(generation, body=model.BodyState.NOT_STORED)


def _error(span: otlp_span.OtlpSpan, *, has_words: bool) -> model.GenerationError | None:
    """How a span failed, from its status, its `error.type` and its exception; None if it did not fail.

    An event `exception` may be one that was caught; the events of GenAI operations are of one that ended the operation.
    """
    ending = next((event.attributes for event in span.events if event.name in _EXCEPTIONS), None)
    raised = ending or next((event.attributes for event in span.events if event.name == "exception"), {})
    code = span.text("error.type") or word_of(raised.get("exception.type"))
    if span.status != otlp_span.ERROR and not span.text("error.type") and ending is None:
        return None
    message = (
        span.message or word_of(raised.get("exception.message")) or span.text("error.message", "exception.message")
    )
    if span.text("weaklink.error.phase") in _PHASES:  # our own export
        phase = model.ErrorPhase(span.text("weaklink.error.phase"))
        return model.GenerationError(
            phase, message, span.number("weaklink.error.status"), code if code != phase.value else None
        )
    status = span.number("http.response.status_code", "http.status_code")
    match = _STATUS.search(message) or (_CODE.fullmatch(code))
    if status is None and match is not None:
        status = int(match[match.lastindex or 0])
    words = message or f"The span failed{f' with `{code}`' if code else ''}, without details."
    return model.GenerationError(_phase(code, status, has_words=has_words), words, status, code or None)


def _phase(code: str, status: int | None, *, has_words: bool) -> model.ErrorPhase:
    if status is not None and status >= 400:
        return model.ErrorPhase.HTTP
    if _ABORTED.search(code):
        return model.ErrorPhase.CLIENT_ABORT
    if _UNREACHED.search(code):
        return model.ErrorPhase.CONNECT
    return model.ErrorPhase.IN_STREAM if has_words else model.ErrorPhase.TRANSPORT


def _warnings(span: otlp_span.OtlpSpan, facts: otlp_span.SpanFacts, call: ModelCall) -> Iterator[str]:
    if call.is_rewritten:
        yield _REWRITTEN
    generation = call.answer.generation
    if generation is not None and generation.body is model.BodyState.NOT_STORED:
        yield _NO_CONTENT
    if facts.is_cut:
        yield _CUT
    if span.dropped:
        yield _DROPPED


OTLP = LogSource(
    name="otlp",
    signs="`resourceSpans`, or a protobuf body that contains them",
    is_row=has_resources,
    confidence=0.9,
    score=_score,
    reader=_traces,
)
"""One trace per conversation, from the requests to models in the spans of one session or of one trace."""
