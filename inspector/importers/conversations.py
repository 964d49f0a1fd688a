"""Files whose records are messages: a chat log with a message a line, or one JSON list of messages.

Such a file is one conversation; or, where its messages name their session, one conversation for each. A list of
messages that is one record of several needs none of this: `inspector.importers.rows` reads it as `{"messages": [...]}`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from inspector.importers.identity import SESSION_KEYS, place_of
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Skipped, SourceFile
from inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, held_memory
from inspector.model import ExternalId, Json

_BESIDE = ("model", "tools", "functions", "timestamp", "created")

IsMessage = Callable[[JsonObject], bool]


def read_conversations(
    file: SourceFile, is_message: IsMessage, is_answer: IsMessage, *, limit: int = RECORD_MEMORY
) -> Iterator[Row | Skipped]:
    """The rows of a file; where its first is a message, rows `{"messages": [...]}` that hold all of its messages.

    `is_answer` tells the messages of the model. A conversation begins where its first message stands. It is known
    again, when the file has grown, by the file's name and the words up to its first answer, or by its session's id.
    All of a file's messages are in memory at once, within `limit` bytes; beyond, the rest is a Skipped.
    """
    rows = read_rows(file)
    for row in rows:
        if isinstance(row, Skipped):
            yield row
        elif is_message(row.value):
            yield from _gathered(chain([row], rows), is_message, is_answer, place_of(file.path), limit)
            return
        else:
            yield row
            yield from rows


@dataclass(slots=True)
class _Conversation:
    """Messages of one session, in order."""

    first: Row
    messages: list[Json] = field(default_factory=list)
    beside: JsonObject = field(default_factory=dict)
    opening: list[bytes] = field(default_factory=list)
    is_answered: bool = False

    def take(self, row: Row, is_answer: IsMessage) -> None:
        self.messages.append(row.value)
        for key in _BESIDE:
            if key in row.value:
                self.beside.setdefault(key, row.value[key])
        if not self.is_answered:
            self.opening.append(row.raw.strip())
            self.is_answered = is_answer(row.value)

    def row(self, session: JsonObject, place: ExternalId) -> Row:
        value: JsonObject = {**self.beside, **session, "messages": self.messages}
        return Row(self.first.unit, self.first.number, value, b"\n".join(self.opening), (place,))


def _gathered(
    rows: Iterable[Row | Skipped], is_message: IsMessage, is_answer: IsMessage, place: ExternalId, limit: int
) -> Iterator[Row | Skipped]:
    left = limit
    found: dict[tuple[tuple[str, str], ...], tuple[JsonObject, _Conversation]] = {}
    for row in rows:
        if isinstance(row, Skipped):
            yield row
            continue
        if not is_message(row.value):
            yield Skipped(row.record, "this is no message, as the records before it are")
            continue
        left -= held_memory(row.raw)
        if left < 0:
            yield Skipped(row.record, TOO_MANY_ROWS)
            break
        session: JsonObject = {key: row.value[key] for key in SESSION_KEYS if isinstance(row.value.get(key), str | int)}
        known = tuple((key, str(value)) for key, value in session.items())
        found.setdefault(known, (session, _Conversation(row)))[1].take(row, is_answer)
    for session, conversation in found.values():
        yield conversation.row(session, place)
