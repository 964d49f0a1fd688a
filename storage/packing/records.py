"""The facts of traces, turns and tools as plain values, ready to pack.

They are keyed by field name, so that fields can be added later; empty values and defaults are left out.
"""

from typing import Any, assert_never

from weaklink.inspector import model
from weaklink.inspector.model.exchange import shared_prefix, shared_suffix
from weaklink.inspector.text import Range
from weaklink.storage.packing.values import packable

_SHARED = 32  # code points that a result must share with the text that was read, to be stored as a reference to it

_NO_USAGE = model.Usage()

Facts = dict[str, Any]
"""Plain values by field name, for `pack`."""


def trace_facts(trace: model.Trace) -> Facts:
    """All fields of a trace except its turns and its provenance."""
    parent, outcome = trace.parent, trace.outcome
    return _nonempty(
        name=trace.name,
        model=trace.model,
        format=trace.format,
        started=_instant(trace.started),
        external_ids=[[one.name, one.value] for one in trace.external_ids],
        recognised_by=trace.recognised_by.value,
        parent=parent and [parent.external_id.name, parent.external_id.value, parent.why.value],
        outcome=outcome and [outcome.completed, outcome.exit_status, outcome.reward],
        project=trace.project,
        branch=trace.branch,
    )


def provenance_facts(provenance: model.Provenance) -> Facts:
    """All fields of a provenance."""
    return _nonempty(
        source=provenance.source,
        file=provenance.file,
        file_sha256=provenance.file_sha256,
        source_version=provenance.source_version,
        record=provenance.record,
        warnings=provenance.warnings,
    )


def trace_from(facts: Facts, provenance: Facts, turns: tuple[model.Turn, ...]) -> model.Trace:
    """The inverse of `trace_facts` and `provenance_facts`, with these turns."""
    outcome = facts.get("outcome")
    return model.Trace(
        turns=turns,
        name=facts.get("name", ""),
        model=facts.get("model", ""),
        format=facts.get("format", ""),
        started=_instant_from(facts.get("started")),
        external_ids=tuple(model.ExternalId(*one) for one in facts.get("external_ids", ())),
        recognised_by=model.RecognisedBy(facts["recognised_by"]),
        parent=parent_from(facts.get("parent")),
        outcome=model.Outcome(*outcome) if outcome else None,
        provenance=model.Provenance(**{**provenance, "warnings": tuple(provenance.get("warnings", ()))}),
        project=facts.get("project", ""),
        branch=facts.get("branch", ""),
    )


def parent_from(facts: Any) -> model.ParentTrace | None:
    """The parent in a trace's facts; None if there is none."""
    return model.ParentTrace(model.ExternalId(facts[0], facts[1]), model.ParentWhy(facts[2])) if facts else None


def turn_facts(turn: model.Turn) -> Facts:
    """All fields of a turn except its role, its parts and its tools."""
    result = turn.result
    facts: Facts = {}
    if turn.source_role:
        facts["source_role"] = turn.source_role
    if turn.calls:
        facts["calls"] = _calls(turn.calls)
    if result is not None:
        facts["result"] = _result(result)
    if turn.flags:
        facts["flags"] = sorted([flag.value for flag in turn.flags])
    if turn.run is not None:
        facts["run"] = _run(turn.run, turn.part("text"))
    if turn.generation is not None:
        facts["generation"] = _generation(turn.generation)
    return facts


def turn_from(
    role: str, facts: Facts, parts: tuple[model.Part, ...], tools: tuple[model.ToolDefinition, ...]
) -> model.Turn:
    """The inverse of `turn_facts`, with this role, these parts and these tools."""
    result, generation = facts.get("result"), facts.get("generation")
    return model.Turn(
        role=model.Role(role),
        parts=parts,
        source_role=facts.get("source_role", ""),
        calls=tuple(model.CallHeader(*header) for header in facts.get("calls", ())),
        result=_result_from(result) if result else None,
        generation=None if generation is None else _generation_from(generation, tools),
        flags=frozenset(map(model.TurnFlag, facts.get("flags", ()))),
        run=_run_from(facts["run"], parts) if "run" in facts else None,
    )


def _result(header: model.ResultHeader) -> list[Any]:
    facts = [header.call_id, header.name, header.is_error]
    return facts if header.recorded is None else [*facts, state_facts(header.recorded)]


def _result_from(facts: list[Any]) -> model.ResultHeader:
    call_id, name, is_error, *recorded = facts
    return model.ResultHeader(call_id, name, is_error, state_from(recorded[0]) if recorded else None)


def state_facts(recorded: model.RecordedState) -> list[Any]:
    """What a source recorded about a tool's run."""
    return [recorded.exit_code, recorded.state and recorded.state.value, recorded.field]


def state_from(facts: list[Any]) -> model.RecordedState:
    """The inverse of `state_facts`."""
    exit_code, state, field = facts
    return model.RecordedState(exit_code, model.RunState(state) if state else None, field)


def _calls(calls: tuple[model.CallHeader, ...]) -> list[list[Any]]:
    return [[header.part, header.name, header.id, *([True] if header.custom else [])] for header in calls]


def _run(run: model.RecordedRun, read: model.Part | None) -> list[Any]:
    """The facts of a run; of its result, only the part that is not in the text that the model read."""
    result: Any = run.result
    if result is not None and read is not None:
        prefix = shared_prefix(result, read.text)
        suffix = shared_suffix(result, read.text, min(len(result), len(read.text)) - prefix)
        if prefix + suffix >= _SHARED:
            result = [prefix, result[prefix : len(result) - suffix], suffix]
    texts = [run.source, run.name, run.call_id, run.arguments, result, run.failed]
    return [*texts, _instant(run.started), _instant(run.ended), *([list(run.own_form)] if run.own_form else [])]


def _run_from(facts: list[Any], parts: tuple[model.Part, ...]) -> model.RecordedRun:
    source, name, call_id, arguments, result, failed, started, ended, *own_form = facts
    if isinstance(result, list):
        prefix, middle, suffix = result
        read = next((part.text for part in parts if part.name == "text"), "")
        result = f"{read[:prefix]}{middle}{read[len(read) - suffix :]}"
    times = _instant_from(started), _instant_from(ended)
    return model.RecordedRun(source, name, call_id, arguments, result, failed, *times, tuple(*own_form))


def _request(request: model.SentRequest) -> list[Any]:
    return [request.after, request.kept, *map(_sent, request.messages)]


def _sent(message: int | model.SentMessage | model.SentBefore) -> int | list[Any]:
    """A message: the number of a turn, two numbers for one of an earlier request, else a list of its values."""
    match message:
        case int():
            return message
        case model.SentBefore(turn, index):
            return [turn, index]
        case model.SentMessage():
            result = message.result and _result(message.result)
            parts = [
                [part.name, part.text, *((part.prefix, part.suffix) if part.prefix or part.suffix else ())]
                for part in message.parts
            ]
            return [message.turn, message.role.value, parts, message.source_role, _calls(message.calls), result]
        case _:
            assert_never(message)


def _request_from(facts: list[Any]) -> model.SentRequest:
    return model.SentRequest(facts[0], facts[1], tuple(map(_sent_from, facts[2:])))


def _sent_from(facts: int | list[Any]) -> int | model.SentMessage | model.SentBefore:
    if isinstance(facts, int):
        return facts
    if len(facts) == 2:
        return model.SentBefore(*facts)
    turn, role, parts, source_role, calls, result = facts
    return model.SentMessage(
        model.Role(role),
        tuple(model.SentPart(*part) for part in parts),
        turn,
        source_role,
        tuple(model.CallHeader(*header) for header in calls),
        _result_from(result) if result else None,
    )


def tool_facts(tool: model.ToolDefinition) -> list[Any]:
    """A tool definition."""
    where = None if tool.range is None else [tool.range.start, tool.range.end]
    return [tool.name, tool.description, packable(tool.parameters), tool.raw, where]


def tool_from(facts: list[Any]) -> model.ToolDefinition:
    """The inverse of `tool_facts`."""
    name, description, parameters, raw, where = facts
    return model.ToolDefinition(name, description, parameters, raw, Range(*where) if where else None)


def _generation(generation: model.Generation) -> Facts:
    error, usage = generation.error, generation.usage
    return _nonempty(
        api=generation.api,
        requested_model=generation.requested_model,
        answered_model=generation.answered_model,
        parameters=generation.parameters,
        tools_origin=generation.tools_origin and generation.tools_origin.value,
        attempt=generation.attempt,
        retry_of=None if generation.retry_of is None else [generation.retry_of],
        started=_instant(generation.started),
        first_token=_instant(generation.first_token),
        ended=_instant(generation.ended),
        usage=usage != _NO_USAGE
        and _nonempty(
            input_tokens=_wrapped(usage.input_tokens),
            output_tokens=_wrapped(usage.output_tokens),
            reasoning_tokens=_wrapped(usage.reasoning_tokens),
            cached_tokens=_wrapped(usage.cached_tokens),
            computed=usage.computed,
        ),
        finish_reason=None if generation.finish_reason is None else [generation.finish_reason],
        finish=generation.finish and generation.finish.value,
        error=error and [error.phase.value, error.message, error.status, error.code],
        body=generation.body.value,
        request=generation.request and _request(generation.request),
        response_id=generation.response_id,
        context_window=generation.context_window,
    )


def _generation_from(facts: Facts, tools: tuple[model.ToolDefinition, ...]) -> model.Generation:
    finish, error, origin = facts.get("finish"), facts.get("error"), facts.get("tools_origin")
    return model.Generation(
        api=facts.get("api", ""),
        requested_model=facts.get("requested_model", ""),
        answered_model=facts.get("answered_model", ""),
        parameters=facts.get("parameters", ""),
        tools=tools,
        tools_origin=model.ToolsOrigin(origin) if origin else None,
        attempt=facts.get("attempt", 0),
        retry_of=_first(facts.get("retry_of")),
        started=_instant_from(facts.get("started")),
        first_token=_instant_from(facts.get("first_token")),
        ended=_instant_from(facts.get("ended")),
        usage=model.Usage(
            **{name: _first(kept) if name != "computed" else kept for name, kept in facts.get("usage", {}).items()}
        ),
        finish_reason=_first(facts.get("finish_reason")),
        finish=model.FinishReason(finish) if finish else None,
        error=model.GenerationError(model.ErrorPhase(error[0]), *error[1:]) if error else None,
        body=model.BodyState(facts["body"]),
        request=_request_from(facts["request"]) if "request" in facts else None,
        response_id=facts.get("response_id", ""),
        context_window=facts.get("context_window"),
    )


def _nonempty(**fields: Any) -> Facts:
    """The fields that are not falsy; `get` restores the others."""
    return {name: value for name, value in fields.items() if value}


def _wrapped(value: Any) -> list[Any] | None:
    """A value that may be empty or zero but must be distinguished from None."""
    return None if value is None else [value]


def _first(wrapped: list[Any] | None) -> Any:
    return wrapped[0] if wrapped else None


def _instant(instant: model.Instant | None) -> list[Any] | None:
    return None if instant is None else [instant.at_s, instant.source.value]


def _instant_from(facts: list[Any] | None) -> model.Instant | None:
    return model.Instant(facts[0], model.InstantSource(facts[1])) if facts else None
