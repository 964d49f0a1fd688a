"""Conversations in OpenAI's messages: fine-tuning data sets and chat logs.

A row is `{"messages": [{"role": "assistant", "content": ..., ...}], "tools": [...]}` (OpenAI's fine-tuning guide), or
has the legacy `functions` and `function_call`. A file whose records are messages is one conversation, or one for each
session that its messages name.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct, field

from weaklink.inspector.apis.anthropic.messages import API as ANTHROPIC
from weaklink.inspector.apis.anthropic.messages import OWN_BLOCKS, read_messages_request
from weaklink.inspector.apis.openai.messages import CALLS, read_messages, read_tools
from weaklink.inspector.apis.providers import api_of_request
from weaklink.inspector.importers.generations import answered_with, stored_generation
from weaklink.inspector.importers.identity import SESSION_KEYS, instant, place_of, recognised_by, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, traces_of
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, word_of
from weaklink.inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import ExternalId, Json, Provenance, Trace

_LISTS = ("messages", "conversations", "conversation")
_CONTENT_KEYS = frozenset({"content", CALLS, "function_call"})
_ANSWERS = ("response", "choices", "output", "run_type")
_RUNS = ("trajectory", "trajectory_format", "traj", "steps", "events")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "tool_choice", "parallel_tool_calls")
_METADATA_KEYS = ("model", "tools", "functions", "timestamp", "created")


def _is_message(value: JsonObject) -> bool:
    return isinstance(value.get("role"), str) and bool(_CONTENT_KEYS & value.keys())


def _is_item(value: JsonObject) -> bool:
    """Whether a row is from a log with rows of many kinds, including messages (Codex, the Responses API)."""
    return "type" in value and not _is_message(value)


def _is_answer(value: JsonObject) -> bool:
    return value.get("role") == "assistant"


def _messages(value: JsonObject) -> list[Json]:
    """The row's messages; empty if it has none."""
    for key in _LISTS:
        listed = value.get(key)
        if isinstance(listed, list) and any(isinstance(one, dict) and "role" in one for one in listed):
            return listed
    return []


def messages_trace(row: Row) -> Trace | Skipped:
    """The conversation of a row with a list `messages` or `conversations`, OpenAI's or Anthropic's."""
    value = row.value
    messages = _messages(value)
    if not messages:
        return Skipped(row.record, "the row has no list `messages` of objects with a role")
    is_anthropic = _is_anthropic(value, messages)
    turns = read_messages_request({**value, "messages": messages}).turns if is_anthropic else read_messages(messages)
    settings: JsonObject = {key: value[key] for key in _PARAMETERS if key in value}
    generation = stored_generation(
        api="messages" if is_anthropic else "chat.completions",
        requested_model=text_of(value, "model"),
        parameters=compact_json(settings) if settings else "",
        tools=read_tools(value.get("tools"), value.get("functions")),
    )
    return Trace(
        turns=answered_with(turns, generation),
        name=text_of(value, "task_description", "title", "name"),
        model=text_of(value, "model"),
        started=instant(value.get("timestamp", value.get("created"))),
        external_ids=row_ids(row),
        recognised_by=recognised_by(row),
        provenance=Provenance(record=row.record),
    )


def _is_anthropic(value: JsonObject, messages: list[Json]) -> bool:
    """Whether a row has the shape of Anthropic's requests, in its tools or in its messages' blocks."""
    if api_of_request({"tools": value.get("tools")}) == ANTHROPIC:
        return True
    contents = (one.get("content") for one in messages if isinstance(one, dict) and CALLS not in one)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(isinstance(block, dict) and word_of(block.get("type")) in OWN_BLOCKS for block in blocks)


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


class _Conversation(Struct):
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
    found: dict[tuple[tuple[str, str], ...], tuple[JsonObject, _Conversation]] = {}
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
            found[session_key] = session, _Conversation(row)
        found[session_key][1].take(row, is_answer)
    for session, conversation in found.values():
        yield conversation.row(session, place)


def _score(sample: FileSample) -> float:
    """By rows with a list of messages that have roles.

    Gateways and agents log messages too, with an answer or a run beside them. An answer would be lost here, so such a
    file is not recognised. A file with a run is left to an importer that knows the run, and read as messages without
    one.
    """
    rows = [row for row in sample.rows if _messages(row)]
    if not rows:
        return 0.6 if any(map(_is_message, sample.rows)) and not any(map(_is_item, sample.rows)) else 0.0
    if any(row.get(key) for row in rows for key in _ANSWERS):
        return 0.0
    return 0.3 if any(row.get(key) for row in rows for key in _RUNS) else 0.6


OPENAI_MESSAGES = LogSource(
    name="openai-messages",
    signs="messages with `role` and `content`, alone or as a row's list",
    score=_score,
    reader=lambda file: traces_of(read_conversations(file, _is_message, _is_answer), messages_trace),
)
"""One trace per row, or one for all rows that are messages; a row without a conversation is skipped."""
