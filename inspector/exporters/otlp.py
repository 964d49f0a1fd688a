"""A trace and its diagnostics as an OTLP request, which Phoenix, Langfuse and every OpenTelemetry collector accept.

One `ExportTraceServiceRequest` (opentelemetry-proto: trace_service.proto) in its JSON form, with the attributes of the
GenAI semantic conventions: a span `invoke_agent` for the session, `chat` for each answer and `execute_tool` for each
call. The results of weaklink are attributes under `weaklink.`, documented in docs/opentelemetry.md: the verdict on the
session's span, the outcome on the call's, and each diagnostic as an event of the span that contains it. The conventions
have names for two of them: the verdict is also an event `gen_ai.evaluation.result` of the session's span, and a tool's
own error an event `gen_ai.execute_tool.exception` of the call's. A chat span contains only what was new in its request,
the session's span the whole conversation: full histories would grow with the square of the turns.

A message is `{"role", "parts": [{"type": "text", "content"}, ...]}`. A call's arguments are an object if they are
strict JSON, else their raw text, like instrumentations send what they could not parse. Other content is the block as
the API has it. Source: open-telemetry/semantic-conventions-genai, docs/gen-ai (read on 2026-11-29; in development,
after semantic-conventions 1.43).

The OTLP specification (opentelemetry-proto: docs/specification.md, "JSON Protobuf Encoding"): ids are hexadecimal, not
base64 as in protobuf's own mapping; 64-bit integers and times are decimal strings; enumerations are numbers.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from math import isfinite
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import BLOCK_PART, write_tool
from weaklink.inspector.chain.steps import Break, Chain, Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import object_of, write_json
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    Json,
    RecordedState,
    Role,
    ToolDefinition,
    ToolResult,
    Trace,
    Turn,
)
from weaklink.inspector.model.exchange import with_model_ids
from weaklink.inspector.text import digest_of, lone_surrogates
from weaklink.inspector.version import __version__
from weaklink.inspector.wire.provider_json import parse_json

_INT_64 = 1 << 63
_INTERNAL, _CLIENT = 1, 3
_UNSET, _ERROR = 0, 2
_SESSION = "session"
_STEP_S = 0.000_001  # the resolution of `nanoseconds`
VERDICT = "weaklink.status"
"""The name of the evaluation whose label is the verdict."""

# Whose API it is, as far as the API tells: servers with OpenAI's API count as OpenAI, as in instrumentations.
_PROVIDERS = {
    "chat.completions": "openai",
    "completions": "openai",
    "responses": "openai",
    "messages": "anthropic",
    "generate_content": "gcp.gen_ai",
}


class TimeProvenance(StrEnum):
    """Whether a span's times are the source's, or derived from its neighbours' because a span must have times."""

    RECORDED = "recorded"
    DERIVED = "derived"
    UNKNOWN = "unknown"


class SpanTimes(Struct, frozen=True):
    """The start and the end of a span, in seconds since 1970-01-01 UTC."""

    start_s: float
    end_s: float
    known: TimeProvenance


class Times(Struct, frozen=True):
    """The times of a whole trace, and of each of its turns in order; a turn never begins before the one before it."""

    whole: SpanTimes
    turns: tuple[SpanTimes, ...]


def times_of(trace: Trace, *, unknown_at_s: float) -> Times:
    """The times of a trace; if its source kept none, it begins at `unknown_at_s`.

    An answer without a time of its own begins a microsecond after the turn before it: viewers sort spans by time.
    """
    generations = [turn.generation for turn in trace.turns]
    moments = [
        trace.started,
        *(moment for generation in generations if generation for moment in (generation.started, generation.ended)),
    ]
    known = [moment.at_s for moment in moments if moment is not None]
    at_s = min(known) if known else unknown_at_s
    began_s = at_s
    turns: list[SpanTimes] = []
    for turn, generation in zip(trace.turns, generations, strict=True):
        started, ended = (generation.started, generation.ended) if generation else (None, None)
        start_s = max(at_s, started.at_s) if started else at_s + (_STEP_S if _is_answer(turn) else 0.0)
        at_s = max(start_s, ended.at_s) if ended else start_s
        is_recorded = started is not None and ended is not None
        turns.append(
            SpanTimes(
                start_s,
                at_s,
                TimeProvenance.RECORDED if is_recorded else TimeProvenance.DERIVED if known else TimeProvenance.UNKNOWN,
            )
        )
    how = TimeProvenance.RECORDED if known else TimeProvenance.UNKNOWN
    return Times(SpanTimes(began_s, max((*known, at_s)), how), tuple(turns))


OtlpValue: TypeAlias = str | int | float | bool | list[str] | None
"""The value of an attribute; None means no attribute."""


def attributes(values: Mapping[str, OtlpValue]) -> list[Json]:
    """A list of `KeyValue`s; None and empty texts are left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None and value != ""]


def nanoseconds(at_s: float) -> str:
    """A moment in seconds since 1970 as nanoseconds, within the bounds of the protocol."""
    bounded = min(max(at_s, 0.0), 1.8e10) if isfinite(at_s) else 0.0
    return str(round(bounded * 1_000_000) * 1_000)


def trace_id(trace: Trace) -> str:
    """32 hexadecimal digits, always the same: from the source's ids, or from all texts if it has none."""
    ids = sorted((id_.name, id_.value) for id_ in trace.external_ids)
    known = [trace.provenance.source, *(side for pair in ids for side in pair)]
    if not ids:
        known += [trace.provenance.record, *(part.text for turn in trace.turns for part in turn.parts)]
    return digest_of(known)[:32]


def span_id(trace: str, name: str) -> str:
    """16 hexadecimal digits for the span that has this name within a trace."""
    return digest_of([trace, name])[:16]


def utf_8(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which protobuf's strings cannot represent."""
    if next(iter(lone_surrogates(text)), None) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _value(value: OtlpValue) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT_64 <= value < _INT_64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": utf_8(text)} for text in value]}}
    return {"stringValue": utf_8(value or "")}


def otlp_request(trace: Trace, inspection: Inspection, *, unknown_at_s: float) -> dict[str, Json]:
    """The request for one trace. If its source kept no time at all, every span is at `unknown_at_s`.

    Ids are derived from the session's own ids, so sending a trace again gives the same spans. `weaklink.times` states
    for each span whether its times were recorded.
    """
    trace = structs.replace(trace, turns=tuple(with_model_ids(trace.turns)))
    spans = list(_Spans(trace, inspection, times_of(trace, unknown_at_s=unknown_at_s)).every())
    resource = attributes({"service.name": "weaklink", "service.version": __version__})
    scope: Json = {"name": "weaklink", "version": __version__}
    return {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


class _Spans:
    """The spans of one trace."""

    def __init__(self, trace: Trace, inspection: Inspection, times: Times) -> None:
        self._trace, self._inspection, self._times = trace, inspection, times
        self._id = trace_id(trace)
        self._answers = [number for number, turn in enumerate(trace.turns, 1) if _is_answer(turn)]
        self._diagnostics: dict[int, list[Diagnostic]] = {}
        for diagnostic in inspection.diagnostics:
            self._diagnostics.setdefault(diagnostic.location.turn, []).append(diagnostic)

    def every(self) -> Iterator[Json]:
        """The session's span, then the others in the order of their turns."""
        yield self._session()
        steps: dict[int, list[Step]] = {}
        for step in self._inspection.chain.steps:
            steps.setdefault(step.location.turn, []).append(step)
        before = 0
        for number, turn in enumerate(self._trace.turns, 1):
            if _is_answer(turn):
                yield self._answer(number, turn, before)
                before = number
            yield from map(self._call, steps.get(number, ()))

    def _session(self) -> Json:
        trace, chain = self._trace, self._inspection.chain
        last = self._answers[-1] if self._answers else len(trace.turns) + 1
        values: dict[str, OtlpValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": trace.name,
            "gen_ai.conversation.id": trace.external_ids[0].value if trace.external_ids else None,
            "gen_ai.request.model": trace.model,
            "gen_ai.input.messages": messages_text(trace.turns[: last - 1]),
            "gen_ai.output.messages": messages_text(trace.turns[last - 1 :]),
            "weaklink.source": trace.provenance.source,
            "weaklink.file": trace.provenance.file,
            "weaklink.record": trace.provenance.record,
            "weaklink.format": self._inspection.format,
            "weaklink.status": chain.status.value,
            "weaklink.certainty": chain.certainty.value,
            "weaklink.abort_reason": chain.abort_reason,
            **_break(chain.broken),
            **{f"weaklink.external_id.{id_.name}": id_.value for id_ in trace.external_ids},
        }
        has_failed = chain.status in (Status.BROKEN, Status.ABORTED)
        other_turns = {number for number in self._diagnostics if not _is_answer(trace.turns[number - 1])}
        reason = chain.broken.message if chain.broken else f"aborted: {chain.abort_reason}"
        return self._span(
            _SESSION,
            self._times.whole,
            values,
            name=f"invoke_agent {trace.name}".strip(),
            failed=reason if has_failed else None,
            diagnostics=[diagnostic for number in sorted(other_turns) for diagnostic in self._diagnostics[number]],
            event=_evaluation(chain, self._times.whole),
        )

    def _answer(self, number: int, turn: Turn, before: int) -> Json:
        generation = turn.generation or Generation()
        usage, error = generation.usage, generation.error
        model = generation.requested_model or generation.answered_model or self._trace.model
        values: dict[str, OtlpValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(generation.api),
            "gen_ai.request.model": model,
            "gen_ai.response.model": generation.answered_model,
            "gen_ai.response.id": generation.response_id,
            "gen_ai.response.finish_reasons": [generation.finish_reason] if generation.finish_reason else None,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.input.messages": messages_text(self._trace.turns[before : number - 1]),
            "gen_ai.output.messages": messages_text([turn]),
            "gen_ai.tool.definitions": self._tools(number, before, generation),
            "weaklink.answer": span_id(self._id, f"turn {number}"),
            "weaklink.continues": span_id(self._id, f"turn {before}") if before else None,
            "weaklink.turn": number,
            "weaklink.attempt": generation.attempt,
            "weaklink.body": None if generation.body is BodyState.COMPLETE else generation.body.value,
            "weaklink.error.phase": error.phase.value if error else None,
            "weaklink.error.status": error.status if error else None,
            "error.type": (error.code or error.phase.value) if error else None,
            "http.response.status_code": error.status if error and error.phase is ErrorPhase.HTTP else None,
        }
        return self._span(
            f"turn {number}",
            self._times.turns[number - 1],
            values,
            name=f"chat {model}".strip(),
            kind=_CLIENT,
            failed=error.message if error else None,
            diagnostics=self._diagnostics.get(number, ()),
        )

    def _tools(self, number: int, before: int, generation: Generation) -> str | None:
        """The tools of a request as JSON text; None if the request before it had the same, or none ever had any."""
        earlier = self._trace.turns[before - 1].generation if before else None
        if generation.tools == (earlier.tools if earlier is not None else ()):
            return None
        return write_json([_tool_object(tool) for tool in generation.tools], ascii_only=False)

    def _call(self, step: Step) -> Json:
        result = step.result
        values: dict[str, OtlpValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": step.call.id,
            "gen_ai.tool.call.arguments": step.call.raw_arguments,
            "gen_ai.tool.call.result": result.content if result else None,
            "weaklink.turn": step.location.turn,
            "weaklink.step": step.number,
            "weaklink.outcome": step.outcome.value,
            "weaklink.recovery": step.recovery and step.recovery.value,
            "weaklink.recovered_by": step.recovered_by,
            "weaklink.result_kind": step.result_kind and step.result_kind.value,
            "weaklink.said": step.said and step.said.value,
            **_ending(result),
            "error.type": step.outcome.value if step.outcome.failed else None,
        }
        name = f"execute_tool {step.call.name or ''}".strip()
        failed = f"the call's outcome is {step.outcome.value}" if step.outcome.failed else None
        times = self._until_answered(step)
        event = _exception(step, times) if step.outcome is StepOutcome.ERROR_RESULT else None
        return self._span(f"step {step.number}", times, values, name=name, failed=failed, event=event)

    def _until_answered(self, step: Step) -> SpanTimes:
        """From the end of the calling turn to the result's turn; no source records when a tool itself ran."""
        began_s = self._times.turns[step.location.turn - 1].end_s
        answered = step.result_location.turn if step.result_location else step.location.turn
        ended_s = max(began_s, self._times.turns[answered - 1].start_s)
        is_unknown = self._times.whole.known is TimeProvenance.UNKNOWN
        return SpanTimes(began_s, ended_s, TimeProvenance.UNKNOWN if is_unknown else TimeProvenance.DERIVED)

    def _span(
        self,
        key: str,
        times: SpanTimes,
        values: Mapping[str, OtlpValue],
        *,
        name: str,
        kind: int = _INTERNAL,
        failed: str | None = None,
        diagnostics: Iterable[Diagnostic] = (),
        event: Json = None,
    ) -> Json:
        """The session's span, or a span below it; `failed` is the reason of a failure, if there was one.

        Its events are `event`, if there is one, and one for each of the `diagnostics`.
        """
        status: dict[str, Json] = {"code": _UNSET}
        if failed is not None:
            status = {"code": _ERROR, "message": utf_8(failed)}
        return {
            "traceId": self._id,
            "spanId": span_id(self._id, key),
            "parentSpanId": "" if key == _SESSION else span_id(self._id, _SESSION),
            "name": utf_8(name),
            "kind": kind,
            "startTimeUnixNano": nanoseconds(times.start_s),
            "endTimeUnixNano": nanoseconds(times.end_s),
            "attributes": attributes({**values, "weaklink.times": times.known.value}),
            "events": [*([] if event is None else [event]), *(_event(diagnostic, times) for diagnostic in diagnostics)],
            "status": status,
        }


def _is_answer(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT


def _ending(result: ToolResult | None) -> dict[str, OtlpValue]:
    """What the source says of how a call's run ended, beside the result's text."""
    recorded = (result.recorded if result else None) or RecordedState()
    return {
        "weaklink.result.is_error": result.is_error if result else None,
        "weaklink.result.exit_code": recorded.exit_code,
        "weaklink.result.state": recorded.state and recorded.state.value,
        "weaklink.result.field": recorded.field,
    }


def _break(broken: Break | None) -> dict[str, OtlpValue]:
    if broken is None:
        return {}
    return {
        "weaklink.break.step": broken.step,
        "weaklink.break.turn": broken.turn,
        "weaklink.break.tool": broken.tool,
        "weaklink.break.outcome": broken.outcome.value,
        "weaklink.break.code": broken.code,
        "weaklink.break.message": broken.message,
        "weaklink.break.reaction": broken.reaction and broken.reaction.value,
    }


def _evaluation(chain: Chain, times: SpanTimes) -> Json:
    """The verdict as the conventions have evaluations."""
    return {
        "timeUnixNano": nanoseconds(times.end_s),
        "name": "gen_ai.evaluation.result",
        "attributes": attributes(
            {
                "gen_ai.evaluation.name": VERDICT,
                "gen_ai.evaluation.score.label": chain.status.value,
                "gen_ai.evaluation.explanation": chain.broken.message if chain.broken else chain.abort_reason,
            }
        ),
    }


def _exception(step: Step, times: SpanTimes) -> Json:
    """The error with which a tool answered."""
    message = step.error or (step.result.content if step.result else "")
    return {
        "timeUnixNano": nanoseconds(times.end_s),
        "name": "gen_ai.execute_tool.exception",
        "attributes": attributes({"exception.type": step.outcome.value, "exception.message": message}),
    }


def _tool_object(tool: ToolDefinition) -> Json:
    """A definition in the shape of the conventions; a provider's own tool as it was sent."""
    sent = object_of(write_tool(tool))
    function = sent.get("function")
    if not isinstance(function, dict):
        return sent
    if not function.get("parameters") and (own := _provider_tool(tool)) is not None:
        return own
    return {"type": "function", **function}


def _provider_tool(tool: ToolDefinition) -> Json:
    try:
        sent = object_of(parse_json(tool.raw))
    except ValueError:
        return None
    return sent if isinstance(sent.get("type"), str) and sent["type"] not in ("function", "custom") else None


def _event(diagnostic: Diagnostic, times: SpanTimes) -> Json:
    location, fault = diagnostic.location, diagnostic.fault
    return {
        "timeUnixNano": nanoseconds(times.end_s),
        "name": "weaklink.diagnostic",
        "attributes": attributes(
            {
                "weaklink.code": diagnostic.rule.code,
                "weaklink.name": diagnostic.rule.name,
                "weaklink.severity": diagnostic.rule.severity.value,
                "weaklink.message": fault.message,
                "weaklink.hint": fault.hint,
                "weaklink.path": fault.path,
                "weaklink.turn": location.turn,
                "weaklink.part": location.part,
                "weaklink.start": location.range.start,
                "weaklink.end": location.range.end,
            }
        ),
    }


def messages_text(turns: Iterable[Turn]) -> str:
    """The turns as the JSON text of an attribute."""
    return write_json([message_object(turn) for turn in turns], ascii_only=False)


def message_object(turn: Turn) -> dict[str, Json]:
    """One turn as a message; an answer has its finish reason."""
    message: dict[str, Json] = {"role": turn.role.value, "parts": list(_parts(turn))}
    if turn.role is Role.ASSISTANT:
        message["finish_reason"] = (turn.generation and turn.generation.finish_reason) or ""
    return message


def _parts(turn: Turn) -> Iterator[Json]:
    headers = {header.part: header for header in turn.calls}
    for part in turn.parts:
        text = utf_8(part.text)
        if part.name.startswith("call:"):
            header = headers.get(part.name)
            yield {
                "type": "tool_call",
                "id": utf_8(header.id) if header and header.id else None,
                "name": utf_8(header.name) if header and header.name else "",
                "arguments": text if header and header.custom else _arguments(text),
                **({"custom": True} if header and header.custom else {}),
            }
        elif part.name == "reasoning":
            yield {"type": "reasoning", "content": text}
        elif part.name == "text" and turn.role is Role.TOOL:
            call_id = turn.result.call_id if turn.result else None
            yield {"type": "tool_call_response", "id": call_id and utf_8(call_id), "response": text}
        elif part.name == "text":
            yield {"type": "text", "content": text}
        elif (block := _block(part.name, text)) is not None:
            yield block
        else:
            yield {"type": part.name, "content": text}


def _block(name: str, text: str) -> Json:
    """A content block as the API has it; None if the part is none."""
    if not BLOCK_PART.fullmatch(name):
        return None
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def _arguments(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
