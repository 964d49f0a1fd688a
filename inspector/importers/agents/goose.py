"""Goose's sessions: its database, and the JSON lines of versions before 1.10.

Results are blocks of the user's messages. A call whose arguments Goose could not read has only its error: neither its
name nor its arguments are stored. Source: Goose's code (schema 15).
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, sessions_in_tables
from weaklink.inspector.importers.agents.session_logs import sessions_in_rows
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import compact_json, object_of
from weaklink.inspector.model import Json

_NOTES = (
    "the source stores the arguments of calls parsed, and of malformed ones only the error, not even the tool's name",
    "the source stores neither the system prompt, the tools, usage per answer nor chunks",
)
_FACTS = maps.Facts(
    title="name description",
    folder="working_dir",
    started="created_at",
    parent="parent_session_id",
    model="model.model_name",
)
_ANSWER = maps.Answer(
    content="content[text].text",
    reasoning="content[].thinking",
    calls=maps.Calls("content[toolRequest]", name="toolCall.value.name", arguments="toolCall.value.arguments"),
    is_of_session=True,
    ended="created",
)


def _header(row: JsonObject) -> str:
    """What begins a log: the facts of its session; `""` for any other row."""
    return compact_json(row) if {"working_dir", "message_count"} <= row.keys() else ""


def _take_line(row: JsonObject, session: AgentSession) -> None:
    if "role" in row:
        _message(row, session)
    elif _header(row):
        maps.Facts(title="description", folder="working_dir")(row, session)


def _of_table(tables: LogTables, row: JsonObject) -> AgentSession:
    id_ = text_of(row, "id")
    session = AgentSession("goose", (("session_id", id_),), f"session {id_}", _NOTES)
    model = tables.json_object(row, "model_config_json", session.record, is_optional=True)
    _FACTS({**row, "model": model}, session)
    hidden = 0  # turns that the model no longer reads
    for message in tables.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", id_):
        record = f"{session.record}, message {message.get('id')}"
        shown = tables.json_object(message, "metadata_json", record, is_optional=True) or {}
        blocks = tables.json_objects(message, "content_json", record)
        if blocks is None or (shown.get("agentVisible") is False and shown.get("userVisible") is False):
            continue
        is_injected = shown.get("userVisible") is False
        before = len(session.turns)
        created = message.get("created_timestamp")
        _message({**message, "content": [*blocks], "created": created}, session, is_injected=is_injected)
        if shown.get("agentVisible") is False:
            hidden = len(session.turns)
        elif is_injected and hidden:
            session.summarised(before, hidden)
            hidden = 0
    return session


def _message(message: JsonObject, session: AgentSession, *, is_injected: bool = False) -> None:
    if message.get("role") == "assistant":
        _ANSWER(message, session)
        return
    for block in maps.objects_at(message, "content[toolResponse]"):
        _result(block, session)
    session.say("user", maps.words_at(message, "content[text].text"), is_injected=is_injected)


def _result(block: JsonObject, session: AgentSession) -> None:
    result = object_of(block.get("toolResult"))
    value = object_of(result.get("value"))
    content = value.get("content", result.get("value"))
    failed = result.get("status") == "error" or value.get("isError") is True
    words: Json = content if isinstance(content, list | str) else compact_json(content) if content else ""
    # A call that the user declined has no error, nor has one whose shell stated no exit code.
    is_error = failed or (False if "structuredContent" in value else None)
    session.result(text_of(block, "id"), words or text_of(result, "error"), is_error=is_error, recorded=value)


GOOSE = LogSource(
    name="goose",
    signs="Goose's tables, or a row with a `working_dir` before messages",
    columns={"messages": {"content_json", "session_id"}},
    is_row=_header,
    confidence=0.9,
    reader=sessions_in_rows(_header, lambda row, ids: AgentSession("goose", ids, row.record, _NOTES), _take_line),
    table_reader=partial(
        sessions_in_tables,
        names=("sessions", "messages"),
        query="SELECT * FROM sessions ORDER BY created_at, id",
        session=_of_table,
    ),
)
"""One trace per session, in the order in which they began."""
