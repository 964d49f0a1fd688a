"""Reads files of conversations, whose rows are conversations, or messages of one conversation or of several."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct, field

from weaklink.inspector.importers.identity import SESSION_KEYS, place_of
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import ExternalId, Json

_LISTS = ("messages", "conversations", "conversation")
_METADATA_KEYS = ("model", "tools", "functions", "timestamp", "created")

IsMessage = Callable[[JsonObject], bool]


def read_conversations(
    file: SourceFile, is_message: IsMessage, is_answer: IsMessage, *, limit: int = RECORD_MEMORY
) -> Iterator[Row | Skipped]:
    """The rows of a file; if its messages are rows, rows `{"messages": [...]}` that contain all of them.

    The first row that is a message or has a list of them decides; a foreign row before it does not. `is_answer`
    recognises the model's messages. A conversation has the position of its first message. When the file has grown, the
    conversation is recognised by the file's name and its text up to the first answer, or by its session's id. All of a
    file's messages are in memory at once, within `limit` bytes; beyond, the rest is a Skipped.
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
            if any(isinstance(row.value.get(key), list) for key in _LISTS):
                yield from rows


class _GatheredConversation(Struct):
    """Messages of one session, in order."""

    first: Row
    messages: list[Json] = field(default_factory=list)
    metadata: JsonObject = field(default_factory=dict)
    opening: list[bytes] = field(default_factory=list)
    is_answered: bool = False

    def take(self, row: Row, is_answer: IsMessage) -> None:
        self.messages.append(row.value)
        for key in _METADATA_KEYS:
            if key in row.value:
                self.metadata.setdefault(key, row.value[key])
        if not self.is_answered:
            self.opening.append(row.raw.strip())
            self.is_answered = is_answer(row.value)

    def row(self, session: JsonObject, place: ExternalId) -> Row:
        value: JsonObject = {**self.metadata, **session, "messages": self.messages}
        return Row(self.first.unit, self.first.number, value, b"\n".join(self.opening), (place,))


def _gathered(
    rows: Iterable[Row | Skipped], is_message: IsMessage, is_answer: IsMessage, place: ExternalId, limit: int
) -> Iterator[Row | Skipped]:
    left = limit
    found: dict[tuple[tuple[str, str], ...], tuple[JsonObject, _GatheredConversation]] = {}
    for row in rows:
        if isinstance(row, Skipped):
            yield row
            continue
        if not is_message(row.value):
            yield Skipped(row.record, "this is not a message, unlike the records before it")
            continue
        left -= estimated_memory(row.raw)
        if left < 0:
            yield Skipped(row.record, TOO_MANY_ROWS)
            break
        session: JsonObject = {key: row.value[key] for key in SESSION_KEYS if isinstance(row.value.get(key), str | int)}
        session_key = tuple((key, str(value)) for key, value in session.items())
        if session_key not in found:
            found[session_key] = session, _GatheredConversation(row)
        found[session_key][1].take(row, is_answer)
    for session, conversation in found.values():
        yield conversation.row(session, place)
