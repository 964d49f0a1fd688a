"""Conversations of Cursor's command line: its `store.db`, and the transcripts that Cursor's agents write.

`store.db` keeps blobs by their hash. The root blob is a protobuf message whose field 1 lists the hashes of the messages
(each `0a 20` and 32 bytes); the messages are JSON of the AI SDK. Transcripts have neither results nor ids. Sources:
files in agentsview's tests, and two other readers that agree on the root; nothing from the producer.
"""

from collections.abc import Iterator
from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, ids_of, rows_of, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern

_NOTES = (
    "the source stores the arguments of calls parsed: malformed calls cannot be seen",
    "the source stores neither the times of messages, the tools, usage nor chunks",
)
_TRANSCRIPT_NOTES = ("the transcript has neither results nor ids: whether a call failed cannot be seen", *_NOTES)
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
_ADDED = lazy_pattern(r"\s*<[a-z_]{1,60}>")
_CHILD = lazy_pattern(r"0A20([0-9A-F]{64})")


def _is_line(row: JsonObject) -> bool:
    return row.keys() == {"role", "message"} and isinstance(object_of(row["message"]).get("content"), list)


def _stored(tables: LogTables, row: JsonObject) -> AgentSession:
    meta = tables.json_object({"value": _from_hex(text_of(row, "value"))}, "value", "the row `0` of `meta`") or {}
    id_ = text_of(meta, "agentId")
    session = AgentSession("cursor-cli", (("session_id", id_),), f"conversation {id_}", _NOTES)
    maps.Facts(title="name", model="lastUsedModel", started="createdAt")(meta, session)
    root_id = text_of(meta, "latestRootBlobId")
    root = next(
        (text_of(blob, "data") for blob in tables.rows("SELECT hex(data) AS data FROM blobs WHERE id = ?", root_id)), ""
    )
    if meta and not _CHILD.match(root):
        tables.damage.append(Skipped(session.record, f"its first blob ({root_id}) is not stored or lists no messages"))
    position = 0
    while child := _CHILD.match(root, position):
        position = child.end()
        child_id = child[1].lower()
        record = f"{session.record}, blob {child_id}"
        blob = next(tables.rows("SELECT CAST(data AS TEXT) AS data FROM blobs WHERE id = ?", child_id), None)
        message = None if blob is None else tables.json_object(blob, "data", record)
        if blob is None:
            tables.damage.append(Skipped(record, "the blob is listed, but not stored"))
        if message is not None:
            _message(text_of(message, "role"), message.get("content"), session)
    return session


def _from_hex(text: str) -> str:
    try:
        return bytes.fromhex(text).decode("utf-8", "replace")
    except ValueError:
        return ""


def _message(role: str, content: Json, session: AgentSession) -> None:
    if role != "user":
        session.framework_messages([{"role": role, "content": content}])
        return
    words = [content] if isinstance(content, str) else [text_of(block, "text") for block in objects_of(content)]
    for text in words:
        is_query = text.strip().startswith(_QUERY) and text.strip().endswith(_QUERY_END)
        query = text.strip().removeprefix(_QUERY).removesuffix(_QUERY_END).strip() if is_query else text
        session.say("user", query, is_injected=not is_query and _ADDED.match(text) is not None)


def _transcript(file: SourceFile) -> Iterator[Trace | Skipped]:
    session = AgentSession("cursor-cli", ids_of("", file), "line 1", _TRANSCRIPT_NOTES)
    for row in rows_of(file):
        if isinstance(row, Skipped):
            yield row
        elif _is_line(row.value):
            _message(text_of(row.value, "role"), object_of(row.value["message"]).get("content"), session)
    yield session.trace()


def _score(sample: FileSample) -> float:
    """By the members of a transcript's rows, of which one may be foreign."""
    lines = sum(map(_is_line, sample.rows))
    return 0.9 if lines and lines >= len(sample.rows) - 1 else 0.0


CURSOR_CLI = LogSource(
    name="cursor-cli",
    signs="the tables `blobs` and `meta`, or rows of only a `role` and a `message`",
    columns={"blobs": {"id", "data"}, "meta": {"key", "value"}},
    score=_score,
    reader=_transcript,
    table_reader=partial(
        sessions_in_tables,
        names=("meta", "blobs"),
        query="SELECT CAST(value AS TEXT) AS value FROM meta WHERE key = '0'",
        session=_stored,
    ),
)
"""One trace per conversation."""
