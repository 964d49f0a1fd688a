"""Cline's and Roo Code's tasks: Anthropic's messages, in three files.

`<id>.messages.json` of Cline's command line and SDK (an object), `api_conversation_history.json` of task folders (a
list), Roo's with `ts`. Results are blocks of the user's messages. Source: Cline 3.0 and 4.1, Roo Code 3.52.
"""

from collections.abc import Iterator

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, blocks_of, ids_of, rows_of
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import objects_of, text_or_json
from weaklink.inspector.model import Trace
from weaklink.inspector.scanning import lazy_pattern

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the tools, errors of the provider nor chunks")
_ANSWER = maps.anthropic_answer(
    model="modelInfo.id",
    usage=maps.TokenCounts("metrics.inputTokens", "metrics.outputTokens", cached="metrics.cacheReadTokens"),
    ended="ts",
)
_SHOWN_ONLY = "this is what the extension showed; the messages are in `api_conversation_history.json` beside it"
_WANTED = lazy_pattern(r"<(user_input|task|feedback|user_message)(?:\s[^<>]{0,100})?>(.*?)</\1>")
_ADDED = lazy_pattern(r"\s*(?:<environment_details>|\[[\w-]{1,60}(?: for '[^'\n]{0,500}')?\] Result:)")


def _is_shown(row: JsonObject) -> bool:
    """Whether a row is of `ui_messages.json`: what the extension showed."""
    return "ts" in row and any(row.get("type") == kind and isinstance(row.get(kind), str) for kind in ("ask", "say"))


def _is_history(row: JsonObject) -> bool:
    first = objects_of(row.get("messages"))[0] if objects_of(row.get("messages")) else row
    content = maps.words_at(first, "content[].text")
    return first.get("role") == "user" and ("<task>" in content or "<environment_details>" in content)


def _session(value: JsonObject, record: str, file: SourceFile) -> AgentSession:
    is_child = text_of(value, "agent") not in ("", "lead")
    ids = (*ids_of(text_of(value, "sessionId"), file), ("file", file.path.name if is_child else ""))
    session = AgentSession("cline", ids, record, _NOTES)
    maps.Facts(version="origin.version", parent="sessionId" if is_child else "")(value, session)
    session.say("system", text_of(value, "system_prompt"))
    replaced: dict[str, int] = {}  # by the summary of Roo Code that replaces them: how many turns
    for message in objects_of(value.get("messages")):
        before = len(session.turns)
        _take(message, session)
        if message.get("isSummary") is True:
            session.summarised(before, replaced.get(text_of(message, "condenseId"), before))
        elif parent := text_of(message, "condenseParent"):
            replaced[parent] = len(session.turns)
    return session


def _take(message: JsonObject, session: AgentSession) -> None:
    session.began(message.get("ts"))
    if message.get("role") == "assistant":
        _ANSWER(message, session)
        return
    is_added = False  # what follows the head of a result is the result, not the user's
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_result":
            _result(block, session)
        elif block.get("type") == "text":
            words = text_of(block, "text")
            wanted = _WANTED.search(words)
            is_added = wanted is None and (is_added or _ADDED.match(words) is not None)
            session.say("user", wanted[2] if wanted else words, is_injected=is_added)
        else:
            session.say("user", [block])


def _result(block: JsonObject, session: AgentSession) -> None:
    content = block.get("content")
    runs = [one for one in objects_of(content) if "success" in one]
    results = (text_or_json(run.get("result")) or text_or_json(run.get("error")) for run in runs)
    failed = block.get("is_error") is True or any(run.get("success") is False for run in runs)
    session.result(
        text_of(block, "tool_use_id"),
        "\n".join(results) if runs else content,
        name=text_of(block, "name"),
        is_error=failed if runs or block.get("is_error") is not None else None,
        recorded=runs[0] if len(runs) == 1 else None,
    )


def _tasks(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The session of each object, or the one that the file's list of messages is."""
    messages: list[Row] = []  # of a file that is a list of them
    for row in rows_of(file, lambda row: "role" in row):
        if isinstance(row, Skipped):
            yield row
        elif _is_shown(row.value):
            yield Skipped("file", _SHOWN_ONLY, is_irrelevant=True)
            return
        elif isinstance(row.value.get("messages"), list):
            yield _session(row.value, row.record, file).trace()
        elif messages or "role" in row.value:
            messages.append(row)
    if messages:
        yield _session({"messages": [row.value for row in messages]}, messages[0].record, file).trace()


def _score(sample: FileSample) -> float:
    """By the words that Cline and Roo put around the user's, in the first message."""
    return 0.95 if any(map(_is_shown, sample.rows[:1])) else 0.9 if any(map(_is_history, sample.rows[:1])) else 0.0


CLINE = LogSource(
    name="cline",
    signs="a `sessionId` with an `agent` and Anthropic's `messages`",
    is_row=lambda row: {"sessionId", "agent", "messages", "version"} <= row.keys(),
    score=_score,
    reader=_tasks,
)
"""One trace per file."""
