"""Writes traces as the lines of a trace file."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO, assert_never

import msgspec

from weaklink.inspector import model
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace, compacted
from weaklink.inspector.trace_file import lines


def write_trace_file(target: str | Path | TextIO, traces: Iterable[model.Trace]) -> None:
    """Write a trace file of the current version, with the exchanges of those traces that are a `RecordedTrace`.

    One trace at a time is in memory.
    A path gets the whole file or, if anything fails, keeps its old contents: the lines go to a new file in the same
    folder, readable by its owner only, which replaces the path at the end. A path that is no plain file (a pipe, a
    terminal) and a text stream are written directly; a stream is left open. OSError if the file cannot be written.
    """
    if not isinstance(target, str | Path):
        _write(target, traces)
        return
    path = Path(target).resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="ascii", newline="\n") as stream:
            _write(stream, traces)
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii", newline="\n") as stream:
            _write(stream, traces)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def header_line() -> str:
    """The first line of a file."""
    return _line({lines.HEADER_KEY: lines.VERSION})


def trace_lines(trace: model.Trace, exchanges: Sequence[RecordedExchange] = ()) -> Iterator[str]:
    """The lines of one trace and of its recorded exchanges, which may be appended to a file of this version."""
    line = trace_line(trace)
    line.exchanges = tuple(map(lines.ExchangePacker().line, exchanges))
    yield _line({"trace": msgspec.to_builtins(line)})
    for turn in compacted(trace).turns:
        yield _line({"turn": msgspec.to_builtins(turn_line(turn))})


def _write(stream: TextIO, traces: Iterable[model.Trace]) -> None:
    stream.write(header_line())
    for trace in traces:
        stream.writelines(trace_lines(trace, trace.exchanges if isinstance(trace, RecordedTrace) else ()))


def _line(record: object) -> str:
    return lines.ascii_line(record) + "\n"


def trace_line(trace: model.Trace) -> lines.TraceLine:
    """A trace's own line, without its turns."""
    return lines.TraceLine(
        turns=len(trace.turns),
        name=trace.name,
        model=trace.model,
        format=trace.format,
        started=_instant(trace.started),
        external_ids=trace.external_ids,
        recognised_by=trace.recognised_by,
        parent=trace.parent,
        outcome=outcome_line(trace.outcome),
        provenance=trace.provenance,
        project=trace.project,
        branch=trace.branch,
    )


def outcome_line(outcome: model.Outcome | None) -> lines.OutcomeLine | None:
    """The outcome in a trace's line."""
    if outcome is None:
        return None
    reward = None if outcome.reward is None else lines.float_value(outcome.reward)
    return lines.OutcomeLine(outcome.completed, outcome.exit_status, reward)


def turn_line(turn: model.Turn) -> lines.TurnLine:
    """A turn's line."""
    return lines.TurnLine(
        role=turn.role,
        parts=tuple(_part(part) for part in turn.parts),
        source_role=turn.source_role,
        calls=tuple(map(_call, turn.calls)),
        result=turn.result,
        generation=None if turn.generation is None else generation_line(turn.generation),
        flags=tuple(sorted(turn.flags)),
        run=None if turn.run is None else _run(turn.run),
    )


def _call(call: model.CallHeader) -> lines.CallLine:
    return lines.CallLine(call.part, call.name, call.id, call.custom)


def _run(run: model.RecordedRun) -> lines.RunLine:
    times = _instant(run.started), _instant(run.ended)
    return lines.RunLine(run.source, run.name, run.call_id, run.arguments, run.result, run.failed, *times, run.own_form)


def _request(request: model.SentRequest) -> lines.SentRequestLine:
    return lines.SentRequestLine(request.after, request.kept, tuple(map(_sent, request.messages)))


def _sent(one: int | model.SentMessage | model.SentBefore) -> int | tuple[int, int] | lines.SentMessageLine:
    match one:
        case int():
            return one
        case model.SentBefore(turn, index):
            return turn, index
        case model.SentMessage():
            calls = tuple(map(_call, one.calls))
            parts = tuple(lines.SentPartLine(part.name, part.text, part.prefix, part.suffix) for part in one.parts)
            return lines.SentMessageLine(one.role, parts, one.turn or 0, one.source_role, calls, one.result)
        case _:
            assert_never(one)


def _part(part: model.Part) -> lines.PartLine:
    return lines.PartLine(part.name, part.text, None if part.chunks is None else _chunks(part.chunks))


def _chunks(chunks: model.Chunks) -> lines.ChunksLine:
    offsets, logprobs = chunks.offsets_s, chunks.logprobs
    return lines.ChunksLine(
        tuple(chunks.ends),
        tuple(chunks.sequences),
        None if offsets is None else tuple(None if at is None else lines.float_value(at) for at in offsets),
        None if chunks.token_ids is None else tuple(chunks.token_ids),
        None if logprobs is None else tuple(None if some is None else _numbers(some) for some in logprobs),
    )


def _numbers(values: Iterable[float]) -> tuple[lines.Number, ...]:
    return tuple(lines.float_value(value) for value in values)


def generation_line(generation: model.Generation) -> lines.GenerationLine:
    """The generation in a turn's line."""
    error = generation.error
    return lines.GenerationLine(
        api=generation.api,
        requested_model=generation.requested_model,
        answered_model=generation.answered_model,
        parameters=generation.parameters,
        tools=tuple(_tool(tool) for tool in generation.tools),
        tools_origin=generation.tools_origin,
        attempt=generation.attempt,
        retry_of=generation.retry_of,
        started=_instant(generation.started),
        first_token=_instant(generation.first_token),
        ended=_instant(generation.ended),
        usage=generation.usage,
        finish_reason=generation.finish_reason,
        finish=generation.finish,
        error=None if error is None else lines.ErrorLine(error.phase, error.message, error.status, error.code),
        body=generation.body,
        request=None if generation.request is None else _request(generation.request),
        response_id=generation.response_id,
        context_window=generation.context_window,
    )


def _tool(tool: model.ToolDefinition) -> lines.ToolLine:
    where = None if tool.range is None else (tool.range.start, tool.range.end)
    return lines.ToolLine(tool.name, tool.description, lines.portable_json(tool.parameters), tool.raw, where)


def _instant(instant: model.Instant | None) -> lines.InstantLine | None:
    return None if instant is None else lines.InstantLine(lines.float_value(instant.at_s), instant.source)
