"""Zed's threads: rows of a database, each with the thread as JSON, plain or compressed with zstd.

Messages are tagged: `{"User": {...}}`, `{"Agent": {...}}`, `"Resume"`. An agent's message holds its calls, with the raw
text of their arguments, and the results; older threads (0.1, 0.2) have `segments` and `tool_uses`. Source: Zed's code
(`crates/agent`, thread version 0.3.0).
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, sessions_in_tables
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import compact_json, flag_of, object_of, objects_of
from weaklink.inspector.model import Json

_ANSWER = maps.Answer(
    content="words",
    reasoning="content[].Thinking.text",
    calls=maps.Calls("content[].ToolUse", arguments="raw_input input"),
    is_of_session=True,
    usage=maps.TokenCounts("usage.input_tokens", "usage.output_tokens"),
)
_OLDER_ANSWER = maps.Answer(
    content="segments[text].text",
    reasoning="segments[thinking].text",
    calls=maps.Calls("tool_uses[]", arguments="input"),
    is_of_session=True,
)
_QUERY = "SELECT id FROM threads ORDER BY updated_at, id"
_NOTES = ("the source stores neither the times of messages, the system prompt, the tools nor chunks",)


def _thread(tables: LogTables, row: JsonObject) -> AgentSession:
    id_ = row.get("id")
    query = "SELECT *, CASE data_type WHEN 'zstd' THEN zstd_text(data) ELSE CAST(data AS TEXT) END AS thread"
    columns = next(tables.rows(f"{query} FROM threads WHERE id = ?", id_), {})
    session = AgentSession("zed", (("session_id", str(id_)),), f"thread {id_}", _NOTES)
    value = tables.json_object(columns, "thread", session.record) or {}
    maps.Facts(title="title", version="version", model="model.model")(value, session)
    maps.Facts(title="summary", started="created_at", parent="parent_id")(columns, session)
    session.folder = text_of(columns, "folder_paths").partition("\n")[0]
    messages = objects_of(value.get("messages"))
    counts = object_of(value.get("request_token_usage"))
    asked = ""
    for message, following in zip(messages, [*messages[1:], {}], strict=False):
        if "User" in message:
            user = object_of(message["User"])
            asked = text_of(user, "id")
            session.say("user", _words(user.get("content")))
        elif "Agent" in message:
            # the usage of a user's message is that of the last request for it
            counted = None if "Agent" in following else counts.get(asked)
            _answer({**object_of(message["Agent"]), "usage": counted}, session)
        else:
            _older(message, session)
    return session


def _words(content: Json) -> str:
    """The text of tagged contents: one, or a list of them."""
    listed = content if isinstance(content, list) else [content]
    tagged = [block if isinstance(block, str) else _tagged_words(object_of(block)) for block in listed]
    return "".join(tagged)


def _tagged_words(block: JsonObject) -> str:
    mention = object_of(block.get("Mention"))
    return text_of(block, "Text") or (f"[@{text_of(mention, 'uri')}]\n{text_of(mention, 'content')}" if mention else "")


def _answer(agent: JsonObject, session: AgentSession) -> None:
    words = _words([block for block in objects_of(agent.get("content")) if "Text" in block])
    _ANSWER({**agent, "words": words}, session)
    results = object_of(agent.get("tool_results"))
    for use in maps.objects_at(agent, "content[].ToolUse"):
        if (call_id := text_of(use, "id")) in results:
            _result(call_id, object_of(results[call_id]), session)


def _result(call_id: str, result: JsonObject, session: AgentSession) -> None:
    output = result.get("output")
    words = _words(result.get("content")) or ("" if output is None else compact_json(output))
    failed = flag_of(result.get("is_error"))
    session.result(call_id, words, name=text_of(result, "tool_name"), is_error=failed)


def _older(message: JsonObject, session: AgentSession) -> None:
    """A message of the versions 0.1 and 0.2, whose results belong to the calls of the message before."""
    for result in objects_of(message.get("tool_results")):
        _result(text_of(result, "tool_use_id"), result, session)
    if message.get("role") != "assistant":
        session.say(
            "system" if message.get("role") == "system" else "user", maps.words_at(message, "segments[text].text")
        )
        return
    session.notes |= {PARSED_ARGUMENTS: None} if objects_of(message.get("tool_uses")) else {}
    _OLDER_ANSWER(message, session)


ZED = LogSource(
    name="zed",
    signs="the table `threads` with `data_type` and `data`",
    columns={"threads": {"summary", "data_type", "data"}},
    reader=partial(sessions_in_tables, names=("threads",), query=_QUERY, session=_thread),
)
"""One trace per thread, in the order in which they were last written."""
