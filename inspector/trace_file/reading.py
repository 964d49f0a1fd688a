"""Reads the lines of a trace file into traces; lines of an older version are upgraded one version at a time."""

from collections.abc import Callable, Iterator
from decimal import InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.model.exchange import RecordedExchange, with_exchanges
from weaklink.inspector.trace_file import lines
from weaklink.inspector.trace_file.lines import Record

INVALID_LINE = (ValueError, TypeError, AttributeError, RecursionError, InvalidOperation, OverflowError)
"""The exceptions for a line that is JSON, but no valid record."""


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


class _TraceLine(msgspec.Struct):
    """What the line of a trace has besides the fields of the trace: the number of turn lines that follow, exchanges."""

    turns: Annotated[int, msgspec.Meta(ge=0)]
    exchanges: tuple[lines.ExchangeLine, ...] = ()


class _FileReader:
    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        self._line = 0

    def traces(self) -> Iterator[model.Trace]:
        for _, trace, turns in self._blocks():
            yield structs.replace(trace, turns=turns)

    def recordings(self) -> Iterator[tuple[model.Trace, tuple[RecordedExchange, ...]]]:
        for line, trace, turns in self._blocks():
            try:
                exchanges = tuple(lines.exchanges_of(line.exchanges))
            except INVALID_LINE as error:
                raise self._fault(f"an exchange of the previous trace cannot be read: {error}") from error
            yield structs.replace(trace, turns=turns), exchanges

    def _blocks(self) -> Iterator[tuple[_TraceLine, model.Trace, tuple[model.Turn, ...]]]:
        version = self._version()
        while (record := self._record(version)) is not None:
            line, trace = self._trace(record)
            yield line, trace, tuple(self._turn(version, line.turns - index) for index in range(line.turns))

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
            record = lines.record_of(line)
        except (ValueError, RecursionError, InvalidOperation) as error:
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

    def _trace(self, record: Record) -> tuple[_TraceLine, model.Trace]:
        if "trace" not in record:
            raise self._fault("expected the start of a trace")
        try:
            line = msgspec.convert(record["trace"], _TraceLine)
            return line, msgspec.convert(record["trace"] | {"turns": (), "is_open": False}, model.Trace)
        except INVALID_LINE as error:
            raise self._fault(str(error)) from error

    def _turn(self, version: int, missing: int) -> model.Turn:
        record = self._record(version)
        if record is None or "turn" not in record:
            raise self._fault(f"expected {missing} more turns of the trace")
        try:
            return _checked(msgspec.convert(record["turn"], model.Turn))
        except INVALID_LINE as error:
            raise self._fault(str(error)) from error

    def _fault(self, why: str) -> UnreadableFileError:
        return UnreadableFileError(f"{self._name}, line {self._line}: {why}")


def _checked(turn: model.Turn) -> model.Turn:
    """The turn; ValueError if its chunks do not fit their text."""
    for part in turn.parts:
        ends = part.chunks.ends if part.chunks is not None else ()
        if ends and (ends[0] < 0 or ends[-1] != len(part.text) or any(end < before for before, end in pairwise(ends))):
            raise ValueError("the ends of the chunks do not increase up to the length of their text")
    return turn
