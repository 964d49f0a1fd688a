"""Tool definitions, calls and results, each with its position in the raw text, also within JSON strings."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec import Struct

from weaklink.inspector.json_text import Json, write_json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_ESCAPE = lazy_pattern(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)


class Literal(msgspec.Struct, frozen=True):
    """The content of one JSON string, without its quotes: its raw characters, their position, and its value."""

    start: int
    raw: str
    text: str

    @property
    def range(self) -> Range:
        """The range of the raw characters."""
        return Range(self.start, self.start + len(self.raw))


class _OffsetRun(NamedTuple):
    """A run of characters that begins at `offset` in the decoded text, and at `raw` in the raw one.

    A `solid` run, such as an escape, maps to its characters only as a whole.
    """

    offset: int
    raw: int
    raw_end: int
    solid: bool


class Decoded:
    """The text of one JSON string, or of several consecutive ones (the fragments of a stream).

    Offsets into `text` map to raw characters, or to the whole escape of a character. Two objects are equal if their
    literals are. A string that was read tolerantly, so that its escapes do not add up to its value, is one solid run.
    """

    __slots__ = ("_stretches", "_texts_at", "literals", "text")

    def __init__(self, literals: Sequence[Literal]) -> None:
        self.literals = tuple(literals)
        self.text = "".join([literal.text for literal in literals])
        self._stretches: list[_OffsetRun] | None = None
        self._texts_at: list[int] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decoded) and self.literals == other.literals

    def __hash__(self) -> int:
        return hash(self.literals)

    def __repr__(self) -> str:
        return f"Decoded({self.literals!r})"

    @property
    def range(self) -> Range:
        """The raw characters from the first string's first to the last string's last."""
        return Range(self.literals[0].start, self.literals[-1].range.end)

    def place(self, within: Range) -> Range:
        """The raw characters for a range of the text; an empty range maps to a position between two of them."""
        if not within.start < within.end:
            position = self._end(within.start) if within.start else self.literals[0].start
            return Range(position, position)
        return Range(self._start(within.start), self._end(within.end))

    def raw_ranges(self, within: Range) -> Iterator[Range]:
        """The raw characters, string by string: characters between two strings belong to neither."""
        self._index()
        if not within.start < within.end:
            yield self.place(within)
            return
        index = max(bisect_right(self._texts_at, within.start) - 1, 0)
        while index < len(self.literals) and self._texts_at[index] < within.end:
            start, length = self._texts_at[index], len(self.literals[index].text)
            part = Range(max(within.start, start), min(within.end, start + length))
            if part.start < part.end:
                yield self.place(part)
            index += 1

    def is_exact(self, within: Range) -> bool:
        """Whether no string that a range touches was read tolerantly: of such a string, only its place is known."""
        return not any(
            stretch.solid and stretch.raw_end - stretch.raw > _MAX_ESCAPE_CHARS
            for stretch in (self._stretch(within.start), self._stretch(max(within.end - 1, within.start)))
        )

    def written(self, text: str) -> str:
        """Text as it must be written between the quotes of a JSON string."""
        return json.dumps(text, ensure_ascii=False)[1:-1]

    def _start(self, offset: int) -> int:
        stretch = self._stretch(offset)
        return stretch.raw if stretch.solid else min(stretch.raw + offset - stretch.offset, stretch.raw_end)

    def _end(self, offset: int) -> int:
        stretch = self._stretch(offset - 1)
        return stretch.raw_end if stretch.solid else min(stretch.raw + offset - stretch.offset, stretch.raw_end)

    def _stretch(self, offset: int) -> _OffsetRun:
        stretches = self._index()
        index = max(bisect_right(stretches, offset, key=attrgetter("offset")) - 1, 0)
        return stretches[index] if stretches else _OffsetRun(0, self.literals[0].start, self.range.end, solid=True)

    def _index(self) -> list[_OffsetRun]:
        if self._stretches is None:
            self._stretches, offset = [], 0
            for literal in self.literals:
                self._texts_at.append(offset)
                self._stretches += _stretches(literal, offset)
                offset += len(literal.text)
        return self._stretches


_MAX_ESCAPE_CHARS = len(r"\ud83d\ude00")


def _stretches(literal: Literal, offset: int) -> list[_OffsetRun]:
    raw, begin = literal.raw, literal.start
    whole = literal.range.end
    if "\\" not in raw and len(raw) == len(literal.text):
        return [_OffsetRun(offset, begin, whole, solid=False)] if raw else []
    runs: list[_OffsetRun] = []
    first, copied = offset, 0
    for match in _ESCAPE.finditer(raw):
        if match.start() > copied:
            runs.append(_OffsetRun(offset, begin + copied, begin + match.start(), solid=False))
            offset += match.start() - copied
        runs.append(_OffsetRun(offset, begin + match.start(), begin + match.end(), solid=True))
        offset, copied = offset + 1, match.end()
    if copied < len(raw):
        runs.append(_OffsetRun(offset, begin + copied, whole, solid=False))
        offset += len(raw) - copied
    if offset - first != len(literal.text):
        return [_OffsetRun(first, begin, whole, solid=True)] if literal.text else []
    return runs


class ToolDefinition(Struct, frozen=True, omit_defaults=True):
    """A tool that was offered to the model: its name, what it does, and the JSON Schema of its arguments.

    `parameters` is the schema as in the source, None if there is none; `raw` the whole definition's text; `range` its
    place in a part's text, None if it came in a structured field.
    """

    name: str
    description: str = ""
    parameters: Json = None
    raw: str = ""
    range: Range | None = None


class Parameter(msgspec.Struct, frozen=True, array_like=True):
    """One argument of a call whose arguments are not in one JSON text.

    `text` is its value exactly as written, `range` and `name_range` the places of value and name. `typed` means that
    the wire itself states the value's type; otherwise the value is a text, or contains texts, until it is converted by
    the tool's schema.
    """

    name: str
    text: str
    range: Range
    name_range: Range | None = None
    typed: bool = False

    def moved(self, distance: int) -> "Parameter":
        """The same parameter in a text that begins `distance` code points later."""
        name_range = self.name_range.moved(distance) if self.name_range else None
        return Parameter(self.name, self.text, self.range.moved(distance), name_range, self.typed)


class ToolCall(msgspec.Struct, frozen=True, array_like=True):
    """One call that the model wrote.

    `name` is None if it could not be read. `raw_arguments` is the exact text of the arguments; `arguments` their
    decoded value, or that same text if it could not be parsed. `valid`: strict in its own format, and names a tool.
    `recovered`: not valid, but a repair could read it. `range` is the call's own text, `span` the index of the
    top-level span that contains it. `parameters` are the arguments one by one if they are not in one JSON text;
    `raw_arguments` is then the text that contains them all. `decoded` is set if the arguments are in JSON strings:
    `raw_arguments` is then their value, and `arguments_range` covers their raw characters, from the first string to the
    last. A msgspec struct, because one is created for every call.
    """

    name: str | None
    arguments: Json
    raw_arguments: str
    valid: bool
    range: Range
    id: str | None = None
    recovered: bool = False
    span: int = 0
    name_range: Range | None = None
    arguments_range: Range | None = None
    parameters: tuple[Parameter, ...] = ()
    decoded: Decoded | None = None

    def moved(self, distance: int) -> "ToolCall":
        """The same call in a text that begins `distance` code points later."""
        if not distance:
            return self
        return msgspec.structs.replace(
            self,
            range=self.range.moved(distance),
            name_range=self.name_range.moved(distance) if self.name_range else None,
            arguments_range=self.arguments_range.moved(distance) if self.arguments_range else None,
            parameters=tuple(parameter.moved(distance) for parameter in self.parameters),
        )

    def place(self, within: Range) -> Range:
        """The range in the text of a range of `raw_arguments`; the whole call if its arguments' place is unknown."""
        if self.decoded is not None:
            return self.decoded.place(within)
        return self.range if self.arguments_range is None else within.moved(self.arguments_range.start)


def arguments_key(arguments: Json) -> str:
    """A text that the arguments of two calls share if they are the same, in any order."""
    if isinstance(arguments, dict):
        return write_json(dict(sorted(arguments.items())))
    return write_json(arguments)


class RunState(StrEnum):
    """How a tool's run ended according to a record of its source."""

    COMPLETED = "completed"
    FAILED = "failed"
    RUNNING = "running"  # it continues in the background
    TIMED_OUT = "timed-out"
    INTERRUPTED = "interrupted"
    REJECTED = "rejected"  # by the user, a permission rule or a hook
    NOT_RUN = "not-run"  # cancelled before it began


class RecordedState(Struct, frozen=True):
    """What a source recorded about a tool's run beside the text that the model read.

    `field` names the fields of the source that state it (`extras.metadata.exit_code`); docs/verdicts.md lists them.
    """

    exit_code: int | None = None
    state: RunState | None = None
    field: str = ""


class ToolResult(Struct, frozen=True, array_like=True):
    """One result that was returned to the model: `content` is its exact text, `range` that text's place.

    `call_id`, `name`, `is_error` and `recorded` are None if the source does not state them.
    """

    content: str
    range: Range
    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None
    span: int = 0
    recorded: RecordedState | None = None
