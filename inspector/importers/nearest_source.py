"""What a file that no importer recognises resembles, in words that help to read it.

Three questions, in this order. Does an importer read the beginning as a conversation, if the user names it? Then it is
the nearest source, and the sentence has the option and what it reads. Are there messages within the rows? Then the
sentence has the command that takes them out, if what it makes is read. Else, of which source's `signs` have the rows
most members?

    ...; the nearest source is `claude-code` (rows with a `sessionId` and a `type`, such as messages), but
    `sessionId` is missing; `--source claude-code` reads 3 turns and 1 call at its beginning

The first two are asked only where words of messages are: each of them takes about 10 ms (2026-11-29).
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from weaklink.inspector.importers.held_content import HeldContent
from weaklink.inspector.importers.records import first_rows
from weaklink.inspector.importers.source import HEAD_BYTES, FileSample, Importer, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import member_at, write_json
from weaklink.inspector.model import Json, Role
from weaklink.inspector.scanning import lazy_pattern

_MAX_TRACES = 100
_MAX_WHOLE_BYTES = 1 << 20  # of a longer file only the beginning is tried
_MIN_SHARED = 2
_NEAREST_ROWS = 8
_MAX_DEPTH = 3  # objects around a message
_MESSAGES = "openai-messages"
_READ_ANYTHING = frozenset({"raw-text", "completions", "training-data"})
"""Sources as which almost any rows can be read."""

_MEMBER = lazy_pattern(r"`([A-Za-z_]\w*)`")
_NAME = lazy_pattern(r"[A-Za-z_]\w*$")
_WORDS_OF_MESSAGES = lazy_pattern(r'"(?:role|assistant|tool_?(?:calls?|use|result)|function_call)"', re.IGNORECASE)
_TEXTS_OF_MESSAGES = frozenset({"content", "parts", "text", "tool_calls"})


def nearest_source(sample: FileSample, importers: Sequence[Importer]) -> str:
    """What a file resembles, to be appended to the reason why it is refused; `""` if it resembles nothing."""
    if not _WORDS_OF_MESSAGES.search(sample.text):
        return _nearest_by_members(sample, importers)
    return (
        _read_nevertheless(sample, importers)
        or _messages_within(sample, importers)
        or _nearest_by_members(sample, importers)
    )


def listed(names: Iterable[str]) -> str:
    """Names of members, at most six."""
    return ", ".join(f"`{name[:40]}`" for name in islice(names, 6))


class _Attempt(Struct, frozen=True, order=True):
    """What an importer reads at the beginning of a file."""

    calls: int
    turns: int

    def __str__(self) -> str:
        turns = f"{self.turns} turn{'s' * (self.turns != 1)}"
        return f"{turns} and {self.calls} call{'s' * (self.calls != 1)}" if self.calls else turns


def _read_nevertheless(sample: FileSample, importers: Sequence[Importer]) -> str:
    best: tuple[_Attempt, Importer] | None = None
    file = _beginning(sample.file)
    for importer in importers:
        attempt = None if importer.name in _READ_ANYTHING else _attempt(importer, file)
        if attempt is not None and (best is None or attempt > best[0]):
            best = attempt, importer
    if best is None:
        return ""
    attempt, importer = best
    words = _words(sample)
    lacking = [name for name in _named_members(importer) if name not in words]
    nearest = f"the nearest source is `{importer.name}` ({getattr(importer, 'signs', '')}), but {_difference(lacking)}"
    return f"; {nearest}; `--source {importer.name}` reads {attempt} at its beginning"


def _beginning(file: SourceFile) -> SourceFile:
    size_bytes = None if file.stored_bytes <= _MAX_WHOLE_BYTES else HEAD_BYTES
    return SourceFile(file.path, file.name, size_bytes, file.content, file.numbering)


def _attempt(importer: Importer, file: SourceFile) -> _Attempt | None:
    """What an importer reads; None if that is no conversation with an answer."""
    calls = turns = 0
    is_answered = False
    try:
        for trace in islice(importer.read(file), _MAX_TRACES):
            if isinstance(trace, Skipped):
                continue
            for turn in trace.turns:
                has_words = any(part.text.strip() for part in turn.parts)
                turns += has_words
                calls += len(turn.calls)
                is_answered = is_answered or (has_words and turn.role is Role.ASSISTANT)
    except Exception:  # noqa: BLE001  # a file of another source: the attempt has failed
        return None
    return _Attempt(calls, turns) if is_answered and turns > 1 else None


def _messages_within(sample: FileSample, importers: Sequence[Importer]) -> str:
    """The command that takes messages out of the rows, if what it makes is a conversation."""
    path = next((found for row in sample.rows[:_NEAREST_ROWS] for found in _message_paths(row, _MAX_DEPTH)), None)
    if path is None or not all(map(_NAME.match, path)):
        return ""
    values = [value for row in sample.rows if (value := member_at(row, ".".join(path))) is not None]
    is_list = isinstance(values[0], list)
    made = "".join(f"{write_json({'messages': value} if is_list else value)}\n" for value in values)
    member = f".{'.'.join(path)}"
    with HeldContent(io.BytesIO(made.encode("utf-8", "surrogatepass"))) as content:
        file = SourceFile(sample.file.path, content=content)
        importer = next(importer for importer in importers if importer.name == _MESSAGES)
        if not importer.recognises(FileSample(file, first_rows(file))) or _attempt(importer, file) is None:
            return ""
    command = f"jq -c '{{messages: {member}}}'" if is_list else f"jq -c '{member} // empty'"
    return f"; its messages are in `{'.'.join(path)}`: `{command}` makes a file of them that can be imported"


def _message_paths(value: Json, depth: int) -> Iterator[tuple[str, ...]]:
    """The paths of members that are messages or lists of them."""
    if not depth or not isinstance(value, dict):
        return
    for key, member in value.items():
        first = member[0] if isinstance(member, list) and member else member
        if isinstance(first, dict) and isinstance(first.get("role"), str) and first.keys() & _TEXTS_OF_MESSAGES:
            yield (key,)
        elif isinstance(member, dict):
            yield from ((key, *path) for path in _message_paths(member, depth - 1))


def _nearest_by_members(sample: FileSample, importers: Sequence[Importer]) -> str:
    """The source of whose `signs` the rows have most members, at least two and half of them, and what they lack.

    Members of members and the values of `type` count: signs name both.
    """
    words = _words(sample)
    scores: list[tuple[float, int, Importer, list[str]]] = []
    for importer in importers:
        named = _named_members(importer)
        lacking = [name for name in named if name not in words]
        shared = len(named) - len(lacking)
        is_own = bool(lacking) or sample.rows[0].keys() >= {*named}  # not those of a message within the row
        if is_own and shared >= _MIN_SHARED and 2 * shared >= len(named):
            scores.append((shared / len(named), shared, importer, lacking))
    if not scores:
        return ""
    _, _, importer, lacking = max(scores, key=lambda score: score[:2])
    signs = getattr(importer, "signs", "")
    return f"; the nearest source is `{importer.name}` ({signs}), but {_difference(lacking)}"


def _difference(lacking: Sequence[str]) -> str:
    verb = "is" if len(lacking) == 1 else "are"
    return f"{listed(lacking)} {verb} missing" if lacking else "the members have other values"


def _named_members(importer: Importer) -> list[str]:
    """The members that an importer's `signs` name."""
    return list(dict.fromkeys(_MEMBER.findall(getattr(importer, "signs", ""))))


def _words(sample: FileSample) -> set[str]:
    return {word for row in sample.rows[:_NEAREST_ROWS] for word in _words_of(row)}


def _words_of(row: JsonObject) -> Iterator[str]:
    yield from row
    for key, value in row.items():
        if key == "type" and isinstance(value, str):
            yield value
        if isinstance(value, list) and value:
            value = value[0]  # noqa: PLW2901  # its elements are alike
        if isinstance(value, dict):
            yield from value
