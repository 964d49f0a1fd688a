"""Open WebUI's chats: its export (a list of chats) and its database `webui.db`.

A chat is a tree of messages; the branch that ends at `currentId` is the trace. An answer with calls is one message: the
calls are `<details type="tool_calls">` in its HTML, with their arguments and results as escaped JSON, or, in newer
versions, items of the Responses API in `output`. Source: exports in the tests of other readers; `output` is inferred.
"""

import html
from functools import partial

from weaklink.inspector.apis.openai.chat import stored_usage
from weaklink.inspector.importers.agents.agent_session import (
    AgentSession,
    AnswerPieces,
    branch_of,
    failure,
    session_of_each_row,
    sessions_in_tables,
)
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import list_of, object_of
from weaklink.inspector.model import GenerationError, Json
from weaklink.inspector.scanning import lazy_pattern

_NOTES = (
    "the source does not store which calls belong to one answer: calls without words between them are shown as one",
    "the source stores neither the system prompt, the tools nor chunks; other branches are left out",
)
_DETAILS = lazy_pattern(r'<details type="(tool_calls|reasoning)"([^<>]*)>\s*(?:<summary>[^<]*</summary>)?')
_END = "</details>"
_ATTRIBUTE = lazy_pattern(r'([a-z]+)="([^"]*)"')


def _stored(tables: LogTables, row: JsonObject) -> AgentSession:
    columns = next(tables.rows("SELECT id, title, chat, created_at FROM chat WHERE id = ?", row.get("id")), row)
    record = f"chat {row.get('id')}"
    return _chat({**columns, "chat": tables.json_object(columns, "chat", record)}, record)


def _chat(value: JsonObject, record: str) -> AgentSession:
    session = AgentSession("open-webui", (("session_id", text_of(value, "id")),), record, _NOTES)
    chat = object_of(value.get("chat"))
    session.title = text_of(value, "title") or text_of(chat, "title")
    session.began(value.get("created_at"))
    history = object_of(chat.get("history"))
    for message in branch_of(object_of(history.get("messages")), text_of(history, "currentId"), "parentId"):
        if message.get("role") == "assistant":
            _answer(message, session)
        else:
            session.say("system" if message.get("role") == "system" else "user", text_of(message, "content"))
    return session


def _answer(message: JsonObject, session: AgentSession) -> None:
    session.model = text_of(message, "model") or session.model
    if items := list_of(message.get("output")):
        session.framework_messages(items)
        return
    steps = _steps(text_of(message, "content"))
    steps[0].usage = stored_usage(message.get("usage")) if len(steps) == 1 else None
    steps[-1].ended, steps[-1].error = message.get("timestamp"), _error(message.get("error"))
    for step in steps:
        step.words = step.words.strip()
        session.answer_of_pieces(step, session.model, may_be_empty=True)


def _steps(content: str) -> list[AnswerPieces]:
    """The answers of a message: words after calls begin another one."""
    steps, position = [AnswerPieces()], 0
    for details in _DETAILS.finditer(content):
        if details.start() < position:  # inside the block before
            continue
        end = content.find(_END, details.end())
        end = len(content) if end < 0 else end
        _take_words(content[position : details.start()], steps)
        body = content[details.end() : end].strip()
        if details[1] == "reasoning":
            _take_words("", steps, html.unescape(body).strip())
        else:
            named = {match[1]: match[2] for match in _ATTRIBUTE.finditer(details[2])}
            call_id, name = named.get("id", ""), named.get("name", "")
            arguments = _decoded(named.get("arguments", ""))
            steps[-1].calls.append({"id": named.get("id"), "name": named.get("name"), "arguments": arguments})
            if named.get("done") == "true":
                steps[-1].add_result(call_id, _decoded(named.get("result") or body), name=name)
        position = end + len(_END)
    _take_words(content[position:], steps)
    return steps


def _take_words(words: str, steps: list[AnswerPieces], thoughts: str = "") -> None:
    if not words.strip() and not thoughts:
        return
    if steps[-1].calls:
        steps.append(AnswerPieces())
    steps[-1].words += words
    steps[-1].thoughts += "\n".join(line.removeprefix("> ") for line in thoughts.split("\n"))


def _decoded(attribute: str) -> str:
    """The text of an attribute: JSON of a text, escaped once or twice; JSON of anything else is kept as it is."""
    text = html.unescape(attribute)
    for candidate in (text, html.unescape(text)):
        try:
            value = parse_json_bytes(candidate.encode("utf-8", "surrogatepass"))
        except NotJsonError:
            continue
        return value if isinstance(value, str) else candidate
    return text


def _error(value: Json) -> GenerationError | None:
    message = text_of(object_of(value), "content", "message") or (value if isinstance(value, str) else "")
    return failure(message or "the answer failed") if value else None


OPEN_WEBUI = LogSource(
    name="open-webui",
    signs="chats with a `history` of `messages` and a `currentId`, or the table `chat`",
    columns={"chat": {"user_id", "title", "chat"}},
    is_row=lambda row: {"messages", "currentId"} <= object_of(object_of(row.get("chat")).get("history")).keys(),
    reader=partial(session_of_each_row, session=_chat),
    table_reader=partial(
        sessions_in_tables,
        names=("chat",),
        query="SELECT id FROM chat ORDER BY created_at, id",
        session=_stored,
    ),
)
"""One trace per chat."""
