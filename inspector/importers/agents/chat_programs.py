"""Chat programs: ChatGPT's export of conversations, and LM Studio's conversations.

ChatGPT: a tree of messages; the branch that ends at `current_node` is the trace. A call is a message to another
recipient than `all`, its result the message of a tool below it; there are no ids. LM Studio: messages in versions, of
which one is selected, an answer in steps. Source: exported files in the tests of other readers.
"""

from collections.abc import Iterator
from functools import partial

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import (
    AgentSession,
    SessionIds,
    branch_of,
    ids_of,
    session_of_each_row,
)
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import list_of, member_at, object_of, objects_of
from weaklink.inspector.model import Trace

_CHATGPT_NOTES = ("the source stores neither ids of calls, usage, the tools nor chunks; other branches are left out",)
_LM_STUDIO_NOTES = (
    PARSED_ARGUMENTS,
    "the source stores neither times, the tools nor chunks; versions of messages that are not selected are left out",
)
_FAILED = "failed"
_CALL_ID = "toolCallRequestId callId"
_LM_STUDIO_ANSWER = maps.Answer(
    content="content[text].text",
    reasoning="thoughts",
    calls=maps.Calls("content[toolCallRequest]", arguments="parameters arguments", id=_CALL_ID),
    model="genInfo.identifier",
    is_of_session=True,
    usage=maps.TokenCounts("genInfo.stats.promptTokensCount", "genInfo.stats.predictedTokensCount"),
    finish="genInfo.stats.stopReason",
)
_LM_STUDIO_RESULT = maps.Result(_CALL_ID, "content", "name")


def _conversation(value: JsonObject, record: str) -> AgentSession:
    named = text_of(value, "conversation_id", "id")
    session = AgentSession("chatgpt-export", (("conversation_id", named),), record, _CHATGPT_NOTES)
    maps.Facts(title="title", model="default_model_slug", started="create_time")(value, session)
    number = 0
    branch = branch_of(object_of(value.get("mapping")), text_of(value, "current_node"), "parent")
    for message in filter(None, (object_of(node.get("message")) for node in branch)):
        metadata = object_of(message.get("metadata"))
        role = text_of(object_of(message.get("author")), "role")
        words, thoughts = _words(object_of(message.get("content")))
        recipient = text_of(message, "recipient")
        if role == "assistant":
            is_call = recipient not in ("", "all")
            number += is_call
            session.answer(
                "" if is_call else words,
                reasoning=thoughts,
                calls=[call_object(recipient, words, f"call {number}")] if is_call else [],
                model=text_of(metadata, "model_slug"),
                ended=message.get("create_time"),
            )
        elif role == "tool":
            status = text_of(object_of(metadata.get("aggregate_result")), "status")
            name = text_of(object_of(message.get("author")), "name")
            failed = status.startswith(_FAILED) if status else None
            session.result(f"call {number}" if number else "", words, name=name, is_error=failed)
        else:
            is_hidden = message.get("weight") == 0 or metadata.get("is_visually_hidden_from_conversation") is True
            session.say("system" if role == "system" else "user", words, is_injected=is_hidden)
    return session


def _words(content: JsonObject) -> tuple[str, str]:
    """The text of a message, and its thoughts."""
    thoughts = "\n".join(text_of(thought, "content", "summary") for thought in objects_of(content.get("thoughts")))
    parts = (
        part if isinstance(part, str) else text_of(object_of(part), "text") for part in list_of(content.get("parts"))
    )
    return text_of(content, "text") or "".join(parts), thoughts


def _stored(file: SourceFile) -> Iterator[Trace | Skipped]:
    return session_of_each_row(file, lambda value, record: _chat(value, record, ids_of("", file)))


def _chat(value: JsonObject, record: str, ids: SessionIds) -> AgentSession:
    session = AgentSession("lm-studio", ids, record, _LM_STUDIO_NOTES)
    maps.Facts(title="name", model="lastUsedModel.identifier", started="createdAt")(value, session)
    session.say("system", text_of(value, "systemPrompt"))
    for message in objects_of(value.get("messages")):
        _version(message, session)
    return session


def _version(message: JsonObject, session: AgentSession) -> None:
    versions = objects_of(message.get("versions"))
    selected = message.get("currentlySelected")
    at = selected if isinstance(selected, int) and 0 <= selected < len(versions) else 0
    version = versions[at] if versions else {}
    steps = objects_of(version.get("steps")) or [version]
    thoughts = ""
    for step in steps:
        words = maps.words_at(step, "content[text].text")
        if version.get("role") != "assistant":
            session.say(text_of(version, "role") or "user", words)
        elif member_at(step, "style.type") == "thinking":
            thoughts += words
        elif words or maps.objects_at(step, "content[toolCallRequest]"):
            _LM_STUDIO_ANSWER({**step, "thoughts": thoughts}, session)
            thoughts = ""
        for block in maps.objects_at(step, "content[toolCallResult]"):
            _LM_STUDIO_RESULT(block, session)


def _has_versions(row: JsonObject) -> bool:
    return any({"versions", "currentlySelected"} <= message.keys() for message in objects_of(row.get("messages")))


CHATGPT_EXPORT = LogSource(
    name="chatgpt-export",
    signs="conversations with a `mapping` of messages and a `current_node`",
    is_row=lambda row: {"mapping", "current_node"} <= row.keys(),
    reader=partial(session_of_each_row, session=_conversation),
)
"""One trace per conversation."""

LM_STUDIO = LogSource(
    name="lm-studio",
    signs="`messages` with `versions`, of which one is `currentlySelected`",
    is_row=_has_versions,
    reader=_stored,
)
"""One trace per conversation."""
