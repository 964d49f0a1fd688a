"""Sessions of Strands Agents, as its `FileSessionManager` writes them.

A session is a folder: `session.json`, and for each agent `agents/agent_ID/agent.json` with `messages/message_N.json`
beside it, one message a file, in the blocks of Amazon Bedrock's Converse (`toolUse`, `toolResult`). `agent.json` is
written again with each message: `folder_beside` says that the messages belong to it. Arguments are stored as they were
parsed. Source: `strands.session.file_session_manager`.
"""

from collections.abc import Iterator
from pathlib import Path

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, ids_of, within_memory
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import object_of, text_or_json
from weaklink.inspector.model import Trace

_NAME = "strands"
_NOTES = ("the source stores neither the system prompt, the tools, the model, raw arguments, finishes nor chunks",)
_AGENT = frozenset({"agent_id", "state", "conversation_manager_state"})
_WORDS = frozenset({"text", "json"})
_MESSAGE = frozenset({"message", "message_id", "created_at"})


def _is_agent(row: JsonObject) -> bool:
    return row.keys() >= _AGENT


def _is_message(row: JsonObject) -> bool:
    message = object_of(row.get("message"))
    return row.keys() >= _MESSAGE and "role" in message and isinstance(message.get("content"), list)


def _session(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The messages of the agent whose file this is, or those in the file; all in memory at once, within a bound."""
    if file.content is None and file.path.match("messages/message_*.json") and _agent_of(file.path).is_file():
        yield Skipped("file", "it is read with the agent of its session", is_irrelevant=True)
        return
    session: AgentSession | None = None
    for row in within_memory(_rows(file)):
        if isinstance(row, Skipped):
            yield row
            continue
        session = session or AgentSession(_NAME, ids_of(_id(file, row.value), file), row.record, _NOTES)
        session.began(row.value.get("created_at"))
        if _is_message(row.value):
            _message(row.value, session)
    if session is not None:
        yield session.trace()


def _agent_of(message: Path) -> Path:
    return message.absolute().parent.parent / "agent.json"


def _id(file: SourceFile, agent: JsonObject) -> str:
    """The session and the agent, as their folders are called; `""` if the file is in no session's folder."""
    if file.content is not None or not file.path.match("session_*/agents/agent_*/agent.json"):
        return ""
    session = file.path.parent.parent.parent.name.removeprefix("session_")
    return f"{session}/{text_of(agent, 'agent_id')}"


def _rows(file: SourceFile) -> Iterator[Row | Skipped]:
    """The rows of the file, and those of the messages beside it if it is an agent's."""
    is_agent = False
    for row in read_rows(file):
        is_agent = is_agent or (isinstance(row, Row) and _is_agent(row.value))
        yield row
    if is_agent and file.content is None:
        paths = (file.path.parent / "messages").glob("message_*.json")
        for path in sorted(paths, key=lambda path: (len(path.name), path.name)):
            yield from read_rows(SourceFile(path))


def _message(row: JsonObject, session: AgentSession) -> None:
    message = object_of(row.get("redact_message")) or object_of(row.get("message"))
    record: JsonObject = {**row, "message": message}
    if text_of(message, "role") == "assistant":
        _ANSWER(record, session)
        return
    for result in maps.objects_at(message, "content[].toolResult"):
        is_error = {"error": True, "success": False}.get(text_of(result, "status"))
        session.result(text_of(result, "toolUseId"), _words_of(result), is_error=is_error)
    session.say("user", maps.words_at(message, "content[].text"))


def _words_of(result: JsonObject) -> str:
    """The texts and the JSON in a result's blocks, a line each."""
    blocks = [block for block in maps.objects_at(result, "content[]") if block.keys() & _WORDS]
    return "\n".join(text_of(block, "text") or text_or_json(block.get("json", "")) for block in blocks)


_ANSWER = maps.Answer(
    content="message.content[].text",
    reasoning="message.content[].reasoningContent.reasoningText.text",
    calls=maps.Calls("message.content[].toolUse", arguments="input", id="toolUseId"),
    usage=maps.TokenCounts("message.metadata.usage.inputTokens", "message.metadata.usage.outputTokens"),
    ended="created_at",
)

STRANDS = LogSource(
    name=_NAME,
    signs="an agent of a session of Strands, or its messages with `message_id`",
    is_row=lambda row: _is_agent(row) or _is_message(row),
    reader=_session,
)
"""The messages of a file, or those in the folder beside it."""
