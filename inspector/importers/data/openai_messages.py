"""Conversations in OpenAI's messages: fine-tuning data sets and chat logs.

A row is `{"messages": [{"role": "assistant", "content": ..., ...}], "tools": [...]}` (OpenAI's fine-tuning guide), or
has the legacy `functions` and `function_call`. A file whose records are messages is one conversation, or one for each
session that its messages name.
"""

from weaklink.inspector.apis.anthropic.messages import API as ANTHROPIC
from weaklink.inspector.apis.anthropic.messages import OWN_BLOCKS, read_messages_request
from weaklink.inspector.apis.openai.messages import CALLS, read_messages, read_tools
from weaklink.inspector.apis.providers import api_of_request
from weaklink.inspector.importers.data.conversation_rows import read_conversations
from weaklink.inspector.importers.generations import answered_with, stored_generation
from weaklink.inspector.importers.identity import instant, recognised_by, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, traces_of
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped
from weaklink.inspector.json_text import compact_json, word_of
from weaklink.inspector.model import Json, Provenance, Trace

_LISTS = ("messages", "conversations", "conversation")
_CONTENT_KEYS = frozenset({"content", CALLS, "function_call"})
_ANSWERS = ("response", "choices", "output", "run_type")
_RUNS = ("trajectory", "trajectory_format", "traj", "steps", "events")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "tool_choice", "parallel_tool_calls")


def _is_message(value: JsonObject) -> bool:
    return isinstance(value.get("role"), str) and bool(_CONTENT_KEYS & value.keys())


def _is_item(value: JsonObject) -> bool:
    """Whether a row is from a log with rows of many kinds, including messages (Codex, the Responses API)."""
    return "type" in value and not _is_message(value)


def _is_answer(value: JsonObject) -> bool:
    return value.get("role") == "assistant"


def _messages(value: JsonObject) -> list[Json]:
    """The row's messages; empty if it has none."""
    for key in _LISTS:
        listed = value.get(key)
        if isinstance(listed, list) and any(isinstance(one, dict) and "role" in one for one in listed):
            return listed
    return []


def messages_trace(row: Row) -> Trace | Skipped:
    """The conversation of a row with a list `messages` or `conversations`, OpenAI's or Anthropic's."""
    value = row.value
    messages = _messages(value)
    if not messages:
        return Skipped(row.record, "the row has no list `messages` of objects with a role")
    is_theirs = is_anthropic(value, messages)
    turns = read_messages_request({**value, "messages": messages}).turns if is_theirs else read_messages(messages)
    settings: JsonObject = {key: value[key] for key in _PARAMETERS if key in value}
    generation = stored_generation(
        api="messages" if is_theirs else "chat.completions",
        requested_model=text_of(value, "model"),
        parameters=compact_json(settings) if settings else "",
        tools=read_tools(value.get("tools"), value.get("functions")),
    )
    return Trace(
        turns=answered_with(turns, generation),
        name=text_of(value, "task_description", "title", "name"),
        model=text_of(value, "model"),
        started=instant(value.get("timestamp", value.get("created"))),
        external_ids=row_ids(row),
        recognised_by=recognised_by(row),
        provenance=Provenance(record=row.record),
    )


def is_anthropic(value: JsonObject, messages: list[Json]) -> bool:
    """Whether a row has the shape of Anthropic's requests, in its tools or in its messages' blocks."""
    if api_of_request({"tools": value.get("tools")}) == ANTHROPIC:
        return True
    contents = (message.get("content") for message in messages if isinstance(message, dict) and CALLS not in message)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(isinstance(block, dict) and word_of(block.get("type")) in OWN_BLOCKS for block in blocks)


def _score(sample: FileSample) -> float:
    """By rows with a list of messages that have roles.

    Gateways and agents log messages too, with an answer or a run beside them. An answer would be lost here, so such a
    file is not recognised. A file with a run is left to an importer that knows the run, and read as messages without
    one.
    """
    rows = [row for row in sample.rows if _messages(row)]
    if not rows:
        return 0.6 if any(map(_is_message, sample.rows)) and not any(map(_is_item, sample.rows)) else 0.0
    if any(row.get(key) for row in rows for key in _ANSWERS):
        return 0.0
    return 0.3 if any(row.get(key) for row in rows for key in _RUNS) else 0.6


OPENAI_MESSAGES = LogSource(
    name="openai-messages",
    signs="messages with `role` and `content`, alone or as a row's list",
    score=_score,
    reader=lambda file: traces_of(read_conversations(file, _is_message, _is_answer), messages_trace),
)
"""One trace per row, or one for all rows that are messages; a row without a conversation is skipped."""
