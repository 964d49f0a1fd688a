"""Cursor's conversations in the editor's database: `composerData:ID` lists bubbles, `bubbleId:ID:BUBBLE` holds each.

A bubble of the model is words, or one call with its result; raw arguments are kept (`rawArgs`). Values may be text or
blobs. Sources: files in the tests of SpecStory and agentsview; nothing from the producer.
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, sessions_in_tables
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import objects_of

_NOTES = (
    "the source does not store which calls belong to one answer: each call is shown as an answer",
    "the source stores neither the system prompt, the tools, usage nor chunks",
)
_FACTS = maps.Facts(title="name", model="modelConfig.modelName", started="createdAt")
_ANSWER = maps.Answer(
    content="text",
    reasoning="thinking.text",
    calls=maps.Calls("tool", arguments="rawArgs params", id="toolCallId"),
    model="modelInfo.modelName",
    is_of_session=True,
    started="timingInfo.clientStartTime",
    ended="timingInfo.clientEndTime",
)
_RESULT = maps.Result(
    *("toolCallId", "result error", "name"),
    is_error="status",
    states={"completed": False, "error": True},
    may_be_pending=True,  # any other was abandoned, or is still running
    recorded="result",
)


def _conversation(tables: LogTables, row: JsonObject) -> AgentSession:
    key_id = text_of(row, "key").partition(":")[2]
    data = _value(tables, text_of(row, "key"), f"conversation {key_id}")
    id_ = text_of(data, "composerId") or key_id
    session = AgentSession("cursor", (("session_id", id_),), f"conversation {id_}", _NOTES)
    _FACTS(data, session)
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
    tools = [tool for tool in maps.objects_at(bubble, "toolFormerData") if text_of(tool, "name")]
    if tools or maps.words_at(bubble, "text thinking.text"):
        _ANSWER({**bubble, "tool": tools[0] if tools else None}, session)
    for tool in tools:
        _RESULT(tool, session)


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
