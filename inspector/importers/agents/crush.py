"""Crush's database: sessions of messages, whose `parts` are a list of typed values.

Raw arguments are kept, also of a call that was cut. Times are seconds. A session that was summarised begins, for the
model, at the summary. Source: Crush's code.
"""

from functools import partial

from weaklink.inspector.apis.openai.messages import call_objects
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import object_of

_NOTES = ("the source stores neither the system prompt, the tools, usage per answer nor chunks",)
_FAILED = frozenset({"error", "canceled"})


def _session(tables: LogTables, row: JsonObject) -> AgentSession:
    id_ = text_of(row, "id")
    session = AgentSession("crush", (("session_id", id_),), f"session {id_}", _NOTES)
    session.take_facts(row, title="title", started="created_at", parent="parent_session_id")
    for message in tables.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid", id_):
        listed = tables.json_objects(message, "parts", f"{session.record}, message {message.get('id')}")
        if listed is None:
            continue
        before = len(session.turns)
        parts = [(text_of(part, "type"), object_of(part.get("data"))) for part in listed]
        words = "".join(text_of(data, "text") for kind, data in parts if kind == "text")
        match text_of(message, "role"):
            case "assistant":
                _answer(message, parts, words, session)
            case "tool":
                _results(parts, session)
            case role:
                is_injected = bool(message.get("is_summary_message"))
                session.say("system" if role == "system" else "user", words, is_injected=is_injected)
                for kind, data in parts:
                    if kind == "shell_command":
                        run = f"$ {text_of(data, 'command')}\n{text_of(data, 'output')}"
                        session.say("user", run, is_injected=True)
        if message.get("is_summary_message"):
            session.summarised(before, before)
    return session


def _answer(message: JsonObject, parts: list[tuple[str, JsonObject]], words: str, session: AgentSession) -> None:
    end = next((data for kind, data in parts if kind == "finish"), {})
    reason = text_of(end, "reason")
    error = failure(text_of(end, "message", "details") or reason, code=reason) if reason in _FAILED else None
    session.answer(
        words,
        reasoning="".join(text_of(data, "thinking") for kind, data in parts if kind == "reasoning"),
        calls=call_objects((data for kind, data in parts if kind == "tool_call"), arguments="input"),
        model=text_of(message, "model"),
        started=message.get("created_at"),
        ended=message.get("finished_at") or end.get("time") or None,
        finish="" if error else reason,
        error=error,
    )


def _results(parts: list[tuple[str, JsonObject]], session: AgentSession) -> None:
    for kind, data in parts:
        if kind == "tool_result":
            session.result(
                text_of(data, "tool_call_id"),
                text_of(data, "content"),
                name=text_of(data, "name"),
                is_error=data.get("is_error") is True,
            )


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
