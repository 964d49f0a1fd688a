"""Reads the lines of a trace file into traces; lines of an older version are upgraded one version at a time."""

import json
from collections.abc import Callable, Iterator
from decimal import InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

from weaklink.inspector import model
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.model.exchange import RecordedExchange, with_exchanges
from weaklink.inspector.text import Range
from weaklink.inspector.trace_file import lines

INVALID_LINE = (ValueError, TypeError, AttributeError, RecursionError, InvalidOperation, OverflowError)
"""The exceptions for a line that is JSON, but no valid record."""

Record: TypeAlias = dict[str, Any]


def upgraded(record: Record, version: int) -> Record:
    """A line's record of an older version as the current version would have written it.

    A record that is invalid in its version may raise TypeError, AttributeError or ValueError.
    """
    for step in range(version, lines.VERSION):
        record = STEPS[step](record)
    return record


def _from_1(record: Record) -> Record:
    """Version 1 called a turn's role `from`, and the times of chunks `ms`, in milliseconds."""
    turn = record.get("turn")
    if turn is None:
        return record
    parts = [_part_from_1(part) for part in turn.get("parts", ())]
    kept = {key: value for key, value in turn.items() if key != "from"}
    return {"turn": {**kept, "role": turn.get("from"), "parts": parts}}


def _part_from_1(part: Record) -> Record:
    chunks = part.get("chunks")
    if chunks is None or "ms" not in chunks:
        return part
    kept = {key: value for key, value in chunks.items() if key != "ms"}
    return {**part, "chunks": {**kept, "offsets_s": [None if ms is None else ms / 1000 for ms in chunks["ms"]]}}


def _from_2(record: Record) -> Record:
    """Version 2 had no requests and no runs of tools: nothing has to be converted."""
    return record


STEPS: dict[int, Callable[[Record], Record]] = {1: _from_1, 2: _from_2}
"""The step from each older version to the next."""


def read_trace_file(path: str | Path) -> Iterator[model.Trace]:
    """The traces of a file, in order, each as soon as its last turn is read; one at a time is in memory.

    Files of older versions are upgraded as they are read. UnreadableFileError, with path and line, for a file that
    cannot be opened, is no trace file, or is of a newer version; and for a line that is broken or missing, after the
    traces before it have been yielded.
    """
    try:
        with Path(path).open("rb") as stream:
            yield from _FileReader(str(path), stream).traces()
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error


def read_recordings(path: str | Path) -> Iterator[tuple[model.Trace, tuple[RecordedExchange, ...]]]:
    """The traces of a file, each with its recorded exchanges; otherwise like `read_trace_file`."""
    try:
        with Path(path).open("rb") as stream:
            yield from _FileReader(str(path), stream).recordings()
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error


def read_trace_stream(stream: BinaryIO, name: str) -> Iterator[model.Trace]:
    """The traces of an open file that is called `name`, and their exchanges; OSError if reading fails."""
    return (with_exchanges(trace, exchanges) for trace, exchanges in _FileReader(name, stream).recordings())


class _FileReader:
    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        self._line = 0

    def traces(self) -> Iterator[model.Trace]:
        for trace, turns in self._blocks():
            yield trace_of(trace, turns)

    def recordings(self) -> Iterator[tuple[model.Trace, tuple[RecordedExchange, ...]]]:
        for trace, turns in self._blocks():
            try:
                exchanges = tuple(lines.exchanges_of(trace.exchanges))
            except INVALID_LINE as error:
                raise self._fault(f"an exchange of the previous trace cannot be read: {error}") from error
            yield trace_of(trace, turns), exchanges

    def _blocks(self) -> Iterator[tuple[lines.TraceLine, tuple[model.Turn, ...]]]:
        version = self._version()
        while (record := self._record(version)) is not None:
            trace = self._trace_line(record)
            yield trace, tuple(self._turn(version, trace.turns - at) for at in range(trace.turns))

    def _version(self) -> int:
        try:
            record = self._next()
        except UnreadableFileError:
            record = None
        version = record.get(lines.HEADER_KEY) if record else None
        if type(version) is not int or version < 1:
            raise self._fault(f'this is not a trace file: it does not begin with {{"{lines.HEADER_KEY}": ...}}')
        if version > lines.VERSION:
            raise self._fault(
                f"the file has version {version}, this weaklink reads versions up to {lines.VERSION}; upgrade weaklink"
            )
        return version

    def _next(self) -> Record | None:
        """The next line's object, None at the end."""
        line = b"\n"
        while line and not line.strip():  # an editor may have left empty lines
            line = self._stream.readline()
            self._line += 1
        if not line:
            return None
        try:
            record = json.loads(line.decode("utf-8-sig"))
            if b"\\ufdd0" in line:
                record = lines.with_split_surrogates(record)
        except (ValueError, RecursionError) as error:
            why = "the line is truncated" if not line.endswith(b"\n") else f"the line is not JSON: {error}"
            raise self._fault(why) from error
        if not isinstance(record, dict):
            raise self._fault("the line is not a JSON object")
        return record

    def _record(self, version: int) -> Record | None:
        record = self._next()
        if record is None:
            return None
        try:
            return upgraded(record, version)
        except INVALID_LINE as error:
            raise self._fault(f"the line is not valid in version {version}: {error}") from error

    def _trace_line(self, record: Record) -> lines.TraceLine:
        if "trace" not in record:
            raise self._fault("expected the start of a trace")
        try:
            return msgspec.convert(record["trace"], lines.TraceLine)
        except INVALID_LINE as error:
            raise self._fault(str(error)) from error

    def _turn(self, version: int, missing: int) -> model.Turn:
        record = self._record(version)
        if record is None or "turn" not in record:
            raise self._fault(f"expected {missing} more turns of the trace")
        try:
            return turn_of(msgspec.convert(record["turn"], lines.TurnLine))
        except INVALID_LINE as error:
            raise self._fault(str(error)) from error

    def _fault(self, why: str) -> UnreadableFileError:
        return UnreadableFileError(f"{self._name}, line {self._line}: {why}")


def trace_of(line: lines.TraceLine, turns: tuple[model.Turn, ...]) -> model.Trace:
    """The trace of a line and its turns."""
    return model.Trace(
        turns=turns,
        name=line.name,
        model=line.model,
        format=line.format,
        started=_instant(line.started),
        external_ids=line.external_ids,
        recognised_by=line.recognised_by,
        parent=line.parent,
        outcome=outcome_of(line.outcome),
        provenance=line.provenance,
        project=line.project,
        branch=line.branch,
    )


def outcome_of(line: lines.OutcomeLine | None) -> model.Outcome | None:
    """The outcome in a trace's line."""
    if line is None:
        return None
    return model.Outcome(line.completed, line.exit_status, None if line.reward is None else float(line.reward))


def _call(line: lines.CallLine) -> model.CallHeader:
    return model.CallHeader(
        line.part, line.name, None if isinstance(line.id, msgspec.UnsetType) else line.id, line.custom
    )


def turn_of(line: lines.TurnLine) -> model.Turn:
    """The turn of a line; ValueError if its chunks do not fit their text."""
    return model.Turn(
        role=line.role,
        parts=tuple(_part(part) for part in line.parts),
        source_role=line.source_role,
        calls=tuple(map(_call, line.calls)),
        result=line.result,
        generation=None if line.generation is None else generation_of(line.generation),
        flags=frozenset(line.flags),
        run=None if line.run is None else _run(line.run),
    )


def _run(line: lines.RunLine) -> model.RecordedRun:
    times = _instant(line.started), _instant(line.ended)
    facts = line.source, line.name, line.call_id, line.arguments, line.result, line.failed
    return model.RecordedRun(*facts, *times, line.own_form)


def _request(line: lines.SentRequestLine) -> model.SentRequest:
    return model.SentRequest(line.after, line.kept, tuple(map(_sent, line.messages)))


def _sent(line: int | tuple[int, int] | lines.SentMessageLine) -> int | model.SentMessage | model.SentBefore:
    match line:
        case int():
            return line
        case lines.SentMessageLine():
            calls = tuple(map(_call, line.calls))
            parts = tuple(model.SentPart(part.name, part.text, part.prefix, part.suffix) for part in line.parts)
            return model.SentMessage(line.role, parts, line.turn or None, line.source_role, calls, line.result)
        case (turn, index):
            return model.SentBefore(turn, index)


def _part(line: lines.PartLine) -> model.Part:
    return model.Part(line.name, line.text, None if line.chunks is None else _chunks(line.chunks, len(line.text)))


def _chunks(line: lines.ChunksLine, length: int) -> model.Chunks:
    ends, offsets, logprobs = line.ends, line.offsets_s, line.logprobs
    if ends and (ends[0] < 0 or ends[-1] != length or any(end < before for before, end in pairwise(ends))):
        raise ValueError("the ends of the chunks do not increase up to the length of their text")
    return model.Chunks(
        ends,
        line.sequences,
        None if offsets is None else tuple(None if at is None else float(at) for at in offsets),
        line.token_ids,
        None if logprobs is None else tuple(None if some is None else tuple(map(float, some)) for some in logprobs),
    )


def generation_of(line: lines.GenerationLine) -> model.Generation:
    """The generation in a turn's line."""
    error = line.error
    return model.Generation(
        api=line.api,
        requested_model=line.requested_model,
        answered_model=line.answered_model,
        parameters=line.parameters,
        tools=tuple(_tool(tool) for tool in line.tools),
        tools_origin=line.tools_origin,
        attempt=line.attempt,
        retry_of=line.retry_of,
        started=_instant(line.started),
        first_token=_instant(line.first_token),
        ended=_instant(line.ended),
        usage=line.usage,
        finish_reason=line.finish_reason,
        finish=line.finish,
        error=None if error is None else model.GenerationError(error.phase, error.message, error.status, error.code),
        body=line.body,
        request=None if line.request is None else _request(line.request),
        response_id=line.response_id,
        context_window=line.context_window,
    )


def _tool(line: lines.ToolLine) -> model.ToolDefinition:
    where = None if line.range is None else Range(*line.range)
    return model.ToolDefinition(line.name, line.description, lines.original_json(line.parameters), line.raw, where)


def _instant(line: lines.InstantLine | None) -> model.Instant | None:
    return None if line is None else model.Instant(float(line.at_s), line.source)
