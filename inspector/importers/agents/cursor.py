"""Cursor's conversations in the editor's database: `composerData:ID` lists bubbles, `bubbleId:ID:BUBBLE` holds each.

A bubble of the model is words, or one call with its result; raw arguments are kept (`rawArgs`). Values may be text or
blobs. Sources: files in the tests of SpecStory and agentsview; nothing from the producer.
"""

from functools import partial

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents.agent_session import AgentSession, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import object_of, objects_of

_NOTES = (
    "the source does not store which calls belong to one answer: each call is shown as an answer",
    "the source stores neither the system prompt, the tools, usage nor chunks",
)
_FAILED = {"completed": False, "error": True}  # others: the call was abandoned, or is still running


def _conversation(tables: LogTables, row: JsonObject) -> AgentSession:
    key_id = text_of(row, "key").partition(":")[2]
    data = _value(tables, text_of(row, "key"), f"conversation {key_id}")
    id_ = text_of(data, "composerId") or key_id
    session = AgentSession("cursor", (("session_id", id_),), f"conversation {id_}", _NOTES)
    session.take_facts(data, title="name", model="modelConfig.modelName", started="createdAt")
    listed = objects_of(data.get("fullConversationHeadersOnly"))
    bubble_ids = (text_of(header, "bubbleId") for header in listed)
    bubbles = (_value(tables, f"bubbleId:{id_}:{name}", f"{session.record}, bubble {name}") for name in bubble_ids)
    for bubble in bubbles if listed else objects_of(data.get("conversation")):
        if bubble.get("type") == 1:
            session.say("user", text_of(bubble, "text"))
        elif bubble:
            _answer(bubble, session)
    return session


def _value(tables: LogTables, key: str, record: str) -> JsonObject:
    query = "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?"
    row = next(tables.rows(query, key), None)
    if row is None:
        tables.damage.append(Skipped(record, f"`{key}` is not stored"))
        return {}
    return tables.json_object(row, "value", record) or {}


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
        session.result(call_id, result, name=name, is_error=failed, recorded=object_of(json_within(tool.get("result"))))


CURSOR = LogSource(
    name="cursor",
    signs="the table `cursorDiskKV`",
    columns={"cursorDiskKV": {"key", "value"}},
    reader=partial(
        sessions_in_tables,
        names=("cursorDiskKV",),
        query="SELECT key FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY rowid",
        session=_conversation,
    ),
)
"""One trace per conversation, in the order in which they are stored."""
