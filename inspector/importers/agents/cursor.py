"""Cursor's conversations in the editor's database: `composerData:ID` lists bubbles, `bubbleId:ID:BUBBLE` holds each.

A bubble of the model is words, or one call with its result; raw arguments are kept (`rawArgs`). Values may be text or
blobs. Sources: files in the tests of SpecStory and agentsview; nothing from the producer.
"""

from collections.abc import Iterator

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents.agent_session import AgentSession, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import LogTables, has_columns, json_column
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.model import Trace

_NOTES = (
    "the source does not store which calls belong to one answer: each call is shown as an answer",
    "the source stores neither the system prompt, the tools, usage nor chunks",
)
_FAILED = {"completed": False, "error": True}  # others: the call was abandoned, or is still running


class CursorImporter:
    """One trace per conversation."""

    name = "cursor"
    signs = "the table `cursorDiskKV`"

    def recognises(self, sample: FileSample) -> float:
        """By the table of the editor's state."""
        return 0.95 if has_columns(sample, "cursorDiskKV", {"key", "value"}) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The conversations in the order in which they are stored."""
        query = "SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY rowid"
        yield from sessions_in_tables(file, ("cursorDiskKV",), query, _conversation)


def _conversation(tables: LogTables, row: JsonObject) -> AgentSession:
    data = _value(tables, text_of(row, "key"))
    id_ = text_of(data, "composerId") or text_of(row, "key").partition(":")[2]
    session = AgentSession("cursor", (("session_id", id_),), f"conversation {id_}", _NOTES)
    session.title = text_of(data, "name")
    session.model = text_of(object_of(data.get("modelConfig")), "modelName")
    session.began(data.get("createdAt"))
    session.damage = "" if data else "its JSON cannot be read"
    listed = objects_of(data.get("fullConversationHeadersOnly"))
    bubbles = (_value(tables, f"bubbleId:{id_}:{text_of(header, 'bubbleId')}") for header in listed)
    for bubble in bubbles if listed else objects_of(data.get("conversation")):
        if bubble.get("type") == 1:
            session.say("user", text_of(bubble, "text"))
        elif bubble:
            _answer(bubble, session)
    return session


def _value(tables: LogTables, key: str) -> JsonObject:
    query = "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?"
    return next((json_column(row.get("value")) for row in tables.rows(query, key)), {})


def _answer(bubble: JsonObject, session: AgentSession) -> None:
    tool = object_of(bubble.get("toolFormerData"))
    name, call_id, timing = text_of(tool, "name"), text_of(tool, "toolCallId"), object_of(bubble.get("timingInfo"))
    words, thoughts = text_of(bubble, "text"), text_of(object_of(bubble.get("thinking")), "text")
    if not (words or thoughts or name):
        return
    arguments = text_of(tool, "rawArgs", "params")
    session.answer(
        words,
        reasoning=thoughts,
        calls=[call_object(name, arguments, call_id or None)] if name else (),
        model=text_of(object_of(bubble.get("modelInfo")), "modelName") or session.model,
        started=timing.get("clientStartTime"),
        ended=timing.get("clientEndTime"),
    )
    failed = _FAILED.get(text_of(tool, "status"))
    if name and failed is not None:
        result = text_of(tool, "result") or text_of(tool, "error")
        session.result(call_id, result, name=name, is_error=failed, recorded=json_column(tool.get("result")))
