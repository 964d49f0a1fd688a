"""Conversations as frameworks dump their messages, and as requests to APIs hold them.

A file is a list of messages, or has one conversation to a row. Read are LangChain (`messages_to_dict`, `dumpd` and
`model_dump`; langchain_core/messages/utils.py and load/dump.py), Pydantic AI (`ModelMessagesTypeAdapter`;
pydantic_ai/messages.py), the AI SDK's model and UI messages, rows and lists of Responses items, Gemini's `contents`.
"""

from msgspec import structs

from weaklink.inspector.importers.data.conversation_rows import read_conversations
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import instant, recognised_by, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, traces_of
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped
from weaklink.inspector.importers.telemetry.framework_calls import read_answer_output, read_request_input
from weaklink.inspector.importers.telemetry.framework_messages import (
    KnownMessages,
    is_item,
    is_message,
    is_ui_part,
    read_any_message,
    ui_steps,
)
from weaklink.inspector.json_text import compact_json, list_of, objects_of
from weaklink.inspector.model import Generation, Json, Provenance, Role, Trace
from weaklink.inspector.wire.events import DecodedRequest

_LANGCHAIN = frozenset({"human", "ai", "HumanMessageChunk", "AIMessageChunk"})
_AI_SDK = frozenset({"tool-call", "tool-result"})
_GEMINI = frozenset({"text", "functionCall", "functionResponse", "function_call", "function_response"})
_OTHERS = frozenset({"response", "choices", "run_type", "trajectory", "steps", "candidates"})
_LISTS = ("messages", "contents", "input")
_SETTINGS = (
    *("temperature", "top_p", "max_tokens", "max_output_tokens", "tool_choice", "parallel_tool_calls", "reasoning"),
    *("generationConfig", "generation_config", "toolConfig", "tool_config"),
)


def _is_own(message: JsonObject) -> bool:
    """Whether a message has a shape that only these sources have."""
    parts, content = objects_of(message.get("parts")), objects_of(message.get("content"))
    if message.get("kind") in ("request", "response"):
        return any("part_kind" in part for part in parts)
    if text_of(message, "type") in _LANGCHAIN or message.get("lc") == 1:
        return bool(message.keys() & {"content", "data", "kwargs"})
    if "role" in message and any("type" not in part and _GEMINI & part.keys() for part in parts):
        return True
    blocks = (*parts, *content)
    return is_item(message) or (
        "role" in message and any(is_ui_part(block) or text_of(block, "type") in _AI_SDK for block in blocks)
    )


def _is_message(row: JsonObject) -> bool:
    has_words = bool(row.keys() & {"content", "parts", "data", "kwargs", "tool_calls", "toolInvocations"})
    return is_item(row) or (is_message(row) and has_words)


def _is_answer(row: JsonObject) -> bool:
    return any(turn.role is Role.ASSISTANT for turn in read_any_message(row).turns)


def _trace(row: Row) -> Trace | Skipped:
    value = row.value
    if not any(list_of(value.get(key)) for key in _LISTS):
        return Skipped(row.record, "the row has no list `messages`, `contents` or `input`")
    messages: list[Json] = [part for message in objects_of(value.get("messages")) for part in ui_steps(message)]
    if messages:
        value = {**value, "messages": messages}
    elif isinstance(value.get("output"), list):
        value = {**value, "input": [*list_of(value.get("input")), *list_of(value["output"])]}
    settings: JsonObject = {key: value[key] for key in _SETTINGS if key in value}
    parameters = compact_json(settings) if settings else ""
    request = structs.replace(read_request_input(value, KnownMessages()), parameters=parameters)
    answers = [read_answer_output([message]) for message in objects_of(messages) if _is_answer(message)]
    if len(answers) != sum(turn.role is Role.ASSISTANT for turn in request.turns):
        answers = []
    read = iter([answer.turn.generation for answer in answers])
    turns = tuple(
        structs.replace(turn, generation=_facts(request, next(read, None))) if turn.role is Role.ASSISTANT else turn
        for turn in request.turns
    )
    notes = (PARSED_ARGUMENTS,) if any(answer.is_rewritten for answer in answers) else ()
    models = (turn.generation.answered_model for turn in turns if turn.generation)
    return Trace(
        turns,
        name=text_of(row.value, "title", "name"),
        model=request.model or next(filter(None, models), ""),
        started=instant(row.value.get("timestamp", row.value.get("created_at"))),
        external_ids=row_ids(row),
        recognised_by=recognised_by(row),
        provenance=Provenance(record=row.record, warnings=notes),
    )


def _facts(request: DecodedRequest, facts: Generation | None) -> Generation:
    sent = request.generation()
    return sent if facts is None else request.answered_by(structs.replace(facts, api=sent.api))


def _score(sample: FileSample) -> float:
    """By messages that only a framework or one of these APIs has, as rows or as a row's list.

    A row with an answer or a run beside its list is another source's.
    """
    rows = sample.rows
    if rows and all(map(_is_message, rows)):
        return 0.8 if any(map(_is_own, rows)) else 0.0
    lists = (list_of(row.get(key)) for row in rows if not _OTHERS & row.keys() for key in _LISTS)
    return 0.7 if any(_is_own(one) for listed in lists for one in objects_of(listed)) else 0.0


MESSAGE_DUMPS = LogSource(
    name="message-dumps",
    signs="messages of LangChain, Pydantic AI, the AI SDK, Gemini or the Responses API",
    score=_score,
    reader=lambda file: traces_of(read_conversations(file, _is_message, _is_answer), _trace),
)
"""One trace per row, or one for all rows that are messages."""
