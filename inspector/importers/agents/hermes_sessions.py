"""Hermes Agent's sessions: its database, and the rows of `hermes sessions export`, each with its `messages`.

A row of the export is the session's row in the database (`hermes_state.py`, table `sessions`). The messages are
OpenAI's, with `reasoning`, `finish_reason`, `tool_name` and a time in seconds; in the database their calls are JSON
text, and so is content of several parts, behind a mark. Messages that a rewind took back are not active, and not in an
export. Hermes Agent's trajectories are another source: `inspector.importers.data.sharegpt` reads them.
"""

from functools import partial

from msgspec.structs import replace

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import read_message, read_tools, with_calls
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, SessionIds, sessions_in_tables
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row, parsed_text
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import object_of, objects_of

_STORE_COLUMNS = frozenset({"end_reason", "parent_session_id", "system_prompt", "message_count", "tool_call_count"})
_NOT_STORED = "the source does not store chunks, and stores usage only per session, not per answer"
_NO_TOOLS = "the source does not store the tools"
_TABLES = ("sessions", "messages")
_ENCODED = "\x00json:"  # before content that is no text
_CONTINUED = "a session that continues a compressed one repeats its end; the repeated turns are not marked"


def _is_session(row: JsonObject) -> bool:
    named = {"id", "source", "started_at", "messages"} <= row.keys() and isinstance(row["messages"], list)
    return named and bool(_STORE_COLUMNS & row.keys())


def _trace(row: Row) -> model.Trace | Skipped:
    if not objects_of(row.value.get("messages")):
        return Skipped(row.record, "the session has no list `messages` with messages in it")
    named = text_of(row.value, "id")
    session = _session(row.value, (("id", named) if named else ("sha256", row.digest),), row.record)
    session.recognised_by = model.RecognisedBy.FIELD if named else model.RecognisedBy.RECORD
    return session.trace()


def _of_table(tables: LogTables, row: JsonObject) -> AgentSession:
    named = text_of(row, "id")
    record = f"session {named}"
    stored = tables.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", named)
    messages = [_decoded(tables, message, record) for message in stored if message.get("active") != 0]
    return _session({**row, "messages": [*messages]}, (("id", named),), record)


def _decoded(tables: LogTables, message: JsonObject, record: str) -> JsonObject:
    """A message of the database, as an export has it."""
    calls = tables.json_objects(message, "tool_calls", f"{record}, message {message.get('id')}", is_optional=True)
    content = text_of(message, "content")
    decoded = parsed_text(content.removeprefix(_ENCODED)) if content.startswith(_ENCODED) else content
    return {**message, "content": decoded, "tool_calls": [*calls] if calls else None}


def _session(value: JsonObject, ids: SessionIds, record: str) -> AgentSession:
    end, prompt = text_of(value, "end_reason"), text_of(value, "system_prompt")
    messages = objects_of(value.get("messages"))
    session = AgentSession("hermes-sessions", ids, record)
    maps.Facts(title="title", folder="cwd", model="model", started="started_at")(value, session)
    session.tools = next((read for message in messages if (read := read_tools(message.get("tools")))), ())
    session.turns = [_turn(message, session) for message in messages if message.get("role") != "session_meta"]
    if prompt and session.turns and not any(turn.role is model.Role.SYSTEM for turn in session.turns):
        session.turns.insert(0, model.Turn(model.Role.SYSTEM, (model.Part("text", prompt),), "system"))
    session.parent = _parent(value)
    session.outcome = model.Outcome(exit_status=end) if end else None
    is_continued = session.parent is not None and session.parent.why is model.ParentWhy.RESUME
    notes = (_NOT_STORED, "" if session.tools else _NO_TOOLS, _CONTINUED if is_continued else "")
    session.notes = dict.fromkeys(filter(None, notes))
    return session


def _parent(value: JsonObject) -> model.ParentTrace | None:
    """The session that this one continues: Hermes Agent marks sub-agents and branches; others were compressed."""
    marks = object_of(parsed_text(value.get("model_config")))
    named = text_of(marks, "_delegate_from", "_branched_from") or text_of(value, "parent_session_id")
    if not named:
        return None
    why = model.ParentWhy.FORK if text_of(marks, "_branched_from") else model.ParentWhy.RESUME
    if text_of(marks, "_delegate_from") or text_of(value, "source") == "subagent":
        why = model.ParentWhy.SUBAGENT
    return model.ParentTrace(model.ExternalId("id", text_of(value, "parent_session_id") or named), why)


def _turn(message: JsonObject, session: AgentSession) -> model.Turn:
    read = with_calls(message, parsed_text)
    if message.get("role") == "tool":
        read["name"] = text_of(message, "tool_name", "name")
    turn = read_message(read)
    if turn.role is not model.Role.ASSISTANT:
        return turn
    ended, finish = message.get("timestamp"), text_of(message, "finish_reason")
    generation = stored_generation(
        api="chat.completions", requested_model=session.model, tools=session.tools, ended=ended, finish=finish
    )
    return replace(turn, generation=generation)


HERMES_SESSIONS = LogSource(
    name="hermes-sessions",
    signs="Hermes Agent's tables, or session rows with their columns",
    columns={"sessions": {"system_prompt", "model_config"}, "messages": {"tool_calls", "tool_name", "session_id"}},
    is_row=_is_session,
    confidence=0.9,
    reader=partial(trace_of_each_row, trace=_trace),
    table_reader=partial(
        sessions_in_tables, names=_TABLES, query="SELECT * FROM sessions ORDER BY started_at, id", session=_of_table
    ),
)
"""One trace per session; one without messages is skipped."""
