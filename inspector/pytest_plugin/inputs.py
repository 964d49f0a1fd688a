"""What a test passes to the fixture (traces, logs, raw texts, lists of messages), as inspected traces."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from inspector.apis.openai.messages import read_messages, read_tools
from inspector.errors import UnreadableFileError
from inspector.formats.transcript import read_transcript
from inspector.importers.reading import read_source
from inspector.importers.source import Skipped
from inspector.inspection import Inspection, inspect_trace
from inspector.model import Generation, Json, Role, ToolsOrigin, Trace
from inspector.scanning import lazy_pattern
from inspector.segmentation import AUTO

_LIKE_A_PATH = lazy_pattern(r"[^\s<>{}\[\]|]*(?:/[^\s<>{}\[\]|]*|\.(?:jsonl?|txt|log|eval|traj|har|db|sse|gz|zst))")
_LONGEST_PATH = 4_096
MessageList: TypeAlias = Sequence[Mapping[str, Any]]
TraceInput: TypeAlias = Trace | str | os.PathLike[str] | MessageList


class Inspected(Struct, frozen=True):
    """A trace, where it comes from in words, and what is said of it."""

    trace: Trace
    origin: str
    inspection: Inspection


def inspected(given: TraceInput, format: str, tools: MessageList) -> Iterator[Inspected]:
    """Every trace of what is given, one at a time; never none.

    Raises UnreadableFileError where a file holds no trace or cannot be read, UnknownFormatError, and TypeError.
    """
    for trace, origin in _traces(given, format, tools):
        yield Inspected(trace, origin, inspect_trace(trace, format=format or AUTO))


def _traces(given: TraceInput, format: str, tools: MessageList) -> Iterator[tuple[Trace, str]]:
    if isinstance(given, Trace):
        yield given, " ".join(word for word in (given.provenance.file, given.provenance.record) if word)
    elif isinstance(given, os.PathLike):
        yield from _of_file(Path(given))
    elif isinstance(given, str):
        yield from _of_path(given) if not format and _is_path(given) else _of_text(given, tools)
    elif messages := _messages(given):
        yield _offered(Trace(read_messages(messages)), tools), "the messages"
    else:
        kind = type(given).__name__
        raise TypeError(f"weaklink takes a Trace, a path, a raw text or a list of messages (dictionaries), not {kind}")


def _of_path(path: str) -> Iterator[tuple[Trace, str]]:
    if not Path(path).exists():
        raise UnreadableFileError(f"{path}: there is no such file; with `format` it is taken for a raw text")
    yield from _of_file(Path(path))


def _of_text(text: str, tools: MessageList) -> Iterator[tuple[Trace, str]]:
    yield _offered(read_transcript(text), tools), "the text"


def _of_file(path: Path) -> Iterator[tuple[Trace, str]]:
    skipped: list[Skipped] = []
    found = 0
    for record in read_source(path).records:
        if isinstance(record, Skipped):
            skipped.append(record)
            continue
        found += 1
        yield record, f"{path}, {record.provenance.record}"
    if not found:
        why = f"; {skipped[0].record}: {skipped[0].reason}" if skipped else ""
        raise UnreadableFileError(f"{path} holds no trace{why}")


def _messages(given: object) -> list[Json]:
    """The messages that are given; none where something else is."""
    listed = list(given) if isinstance(given, Sequence) else []
    return [dict(one) for one in listed] if all(isinstance(one, Mapping) for one in listed) else []


def _is_path(text: str) -> bool:
    """Whether a text names a file, or can hardly be anything else: a lost file must not pass for a sound text."""
    if len(text) > _LONGEST_PATH or "\0" in text:
        return False
    return bool(_LIKE_A_PATH.fullmatch(text)) or Path(text).is_file()


def _offered(trace: Trace, tools: MessageList) -> Trace:
    """The trace with these tools offered in every request."""
    definitions = read_tools([dict(tool) for tool in tools])
    if not definitions:
        return trace
    generation = Generation(tools=definitions, tools_origin=ToolsOrigin.REQUEST)
    turns = (replace(turn, generation=generation) if turn.role is Role.ASSISTANT else turn for turn in trace.turns)
    return replace(trace, turns=tuple(turns))
