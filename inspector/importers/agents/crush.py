"""Crush's database: sessions of messages, whose `parts` are a list of typed values.

Raw arguments are kept, also of a call that was cut. Times are seconds. A session that was summarised begins, for the
model, at the summary. Source: Crush's code.
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.model import GenerationError

_NOTES = ("the source stores neither the system prompt, the tools, usage per answer nor chunks",)
_MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
_FACTS = maps.Facts(title="title", started="created_at", parent="parent_session_id")


def _session(tables: LogTables, row: JsonObject) -> AgentSession:
    id_ = text_of(row, "id")
    session = AgentSession("crush", (("session_id", id_),), f"session {id_}", _NOTES)
    _FACTS(row, session)
    for message in tables.rows(_MESSAGES, id_):
        parts = tables.json_objects(message, "parts", f"{session.record}, message {message.get('id')}")
        if parts is not None:
            before = len(session.turns)
            _message({**message, "parts": [*parts]}, session)
            if message.get("is_summary_message"):
                session.summarised(before, before)
    return session


def _error(message: JsonObject) -> GenerationError | None:
    reason = maps.words_at(message, "end.reason")
    words = maps.words_at(message, "end.message end.details end.reason")
    return failure(words, code=reason) if reason in ("error", "canceled") else None


def _message(message: JsonObject, session: AgentSession) -> None:
    words = maps.words_at(message, "parts[text].data.text")
    match text_of(message, "role"):
        case "assistant":
            end = next(iter(maps.objects_at(message, "parts[finish].data")), None)
            _ANSWER({**message, "end": end}, session)
        case "tool":
            for result in maps.objects_at(message, "parts[tool_result].data"):
                _RESULT(result, session)
        case role:
            is_injected = bool(message.get("is_summary_message"))
            session.say("system" if role == "system" else "user", words, is_injected=is_injected)
            for run in maps.objects_at(message, "parts[shell_command].data"):
                session.say("user", f"$ {text_of(run, 'command')}\n{text_of(run, 'output')}", is_injected=True)


_ANSWER = maps.Answer(
    content="parts[text].data.text",
    reasoning="parts[reasoning].data.thinking",
    calls=maps.Calls("parts[tool_call].data", arguments="input"),
    model="model",
    started="created_at",
    ended="finished_at end.time",
    finish="end.reason",
    error=_error,
)
_RESULT = maps.Result("tool_call_id", "content", name="name", is_error="is_error", otherwise=False)

CRUSH = LogSource(
    name="crush",
    signs="Crush's tables, with the column `messages.parts`",
    columns={"messages": {"parts", "finished_at", "session_id"}},
    reader=partial(
        sessions_in_tables,
        names=("sessions", "messages"),
        query="SELECT * FROM sessions ORDER BY created_at, id",
        session=_session,
    ),
)
"""One trace per session, in the order in which they began."""
