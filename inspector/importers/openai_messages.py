"""Conversations in OpenAI's messages: fine-tuning data sets and chat logs.

A row is `{"messages": [{"role": "assistant", "content": ..., "tool_calls": [...]}], "tools": [...]}` (OpenAI's
fine-tuning guide), with the legacy `functions` and `function_call` too; some data sets call the list `conversations`.
Rows that are messages themselves are one conversation together, and so is a row that is a list of messages.
A message becomes a turn as `inspector.wire.openai_messages` reads it: arguments keep their exact text. A row in the
shape of Anthropic's messages (tools with `input_schema`, blocks `tool_use` and `tool_result`) is read as a request to
those.
"""

from collections.abc import Iterator
from dataclasses import replace

from inspector.importers.conversations import read_conversations
from inspector.importers.identity import instant, recognised_by, row_ids, text_of
from inspector.importers.rows import Row
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.model import Generation, Json, Provenance, Role, ToolsOrigin, Trace
from inspector.wire.anthropic_messages import API as ANTHROPIC
from inspector.wire.anthropic_request import read_messages_request
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_messages, read_tools
from inspector.wire.recognition import api_of_request

_LISTS = ("messages", "conversations", "conversation")
_SAID = frozenset({"content", "tool_calls", "function_call"})
_ANSWERS = ("response", "choices", "output", "run_type")
_RUNS = ("trajectory", "trajectory_format", "traj", "steps", "events")
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "tool_choice", "parallel_tool_calls")


class OpenAiMessagesImporter:
    """One trace a row, or one for all rows that are messages."""

    name = "openai-messages"
    signs = "messages with `role` and `content`, alone or as a row's list"

    def recognises(self, sample: Sample) -> float:
        """By rows with a list of messages that have roles.

        Gateways and agents log messages too, beside an answer or a run. An answer would be lost here, so such a file is
        none; one with a run is left to an importer that knows the run, and read as messages where none does.
        """
        rows = [row for row in sample.rows if _messages(row)]
        if not rows:
            return 0.6 if any(map(_is_message, sample.rows)) and not any(map(_is_item, sample.rows)) else 0.0
        if any(row.get(key) for row in rows for key in _ANSWERS):
            return 0.0
        return 0.3 if any(row.get(key) for row in rows for key in _RUNS) else 0.6

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The conversation of each row; a row without one is skipped."""
        for row in read_conversations(file, _is_message, _is_answer):
            yield row if isinstance(row, Skipped) else _trace(row)


def _is_message(value: JsonObject) -> bool:
    return isinstance(value.get("role"), str) and bool(_SAID & value.keys())


def _is_item(value: JsonObject) -> bool:
    """Whether a row is one of a log that has rows of many kinds, messages among them (Codex, the Responses API)."""
    return "type" in value and not _is_message(value)


def _is_answer(value: JsonObject) -> bool:
    return value.get("role") == "assistant"


def _messages(value: JsonObject) -> list[Json]:
    """The row's messages; none where it has none."""
    for key in _LISTS:
        listed = value.get(key)
        if isinstance(listed, list) and any(isinstance(one, dict) and "role" in one for one in listed):
            return listed
    return []


def _trace(row: Row) -> Trace | Skipped:
    value = row.value
    messages = _messages(value)
    if not messages:
        return Skipped(row.record, "the row has no list `messages` of objects with a role")
    is_anthropic = _is_anthropic(value, messages)
    turns = read_messages_request({**value, "messages": messages}).turns if is_anthropic else read_messages(messages)
    generation = replace(_generation(value), api="messages" if is_anthropic else "chat.completions")
    return Trace(
        turns=tuple(replace(turn, generation=generation) if turn.role is Role.ASSISTANT else turn for turn in turns),
        name=text_of(value, "task_description", "title", "name"),
        model=text_of(value, "model"),
        started=instant(value.get("timestamp", value.get("created"))),
        external_ids=row_ids(row),
        recognised_by=recognised_by(row),
        provenance=Provenance(record=row.record),
    )


def _is_anthropic(value: JsonObject, messages: list[Json]) -> bool:
    """Whether a row has the shape of Anthropic's requests: its tools or its messages' blocks."""
    if api_of_request({"tools": value.get("tools")}) == ANTHROPIC:
        return True
    contents = (one.get("content") for one in messages if isinstance(one, dict) and "tool_calls" not in one)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(isinstance(block, dict) and block.get("type") in _ANTHROPIC_BLOCKS for block in blocks)


def _generation(value: JsonObject) -> Generation:
    """What the row says of every answer in it."""
    tools = read_tools(value.get("tools"), value.get("functions"))
    settings: JsonObject = {key: value[key] for key in _PARAMETERS if key in value}
    return Generation(
        requested_model=text_of(value, "model"),
        parameters=compact_json(settings) if settings else "",
        tools=tools,
        tools_origin=ToolsOrigin.REQUEST if tools else None,
    )
