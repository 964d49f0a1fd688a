"""The conversations in a log database of `llm` until 0.35: `responses`, each with its prompt, calls and results."""

from collections.abc import Iterator
from itertools import groupby

from inspector.importers.identity import text_of
from inspector.importers.llm_tables import LlmTables
from inspector.importers.llm_turns import ATTACHMENTS, LlmTurns, fragments_of, json_text, result_turn, tools_of
from inspector.importers.source import JsonObject
from inspector.model import CallHeader, ExternalId, Part, Role, Trace, Turn

_CONVERSATION = "conversation_id"


def read_conversations(tables: LlmTables) -> Iterator[Trace]:
    """Each conversation in the order of the ids, and each response without one; those that are threads are left out."""
    skipped = " WHERE responses.conversation_id NOT IN (SELECT id FROM threads)" if "threads" in tables.names else ""
    query = f"SELECT responses.* FROM responses{skipped} ORDER BY responses.conversation_id, responses.id"
    for ids, rows in groupby(tables.rows(query), key=_conversation_of):
        read = LlmTurns()
        system = ""
        for row in rows:
            system = _read_response(row, tables, read, system)
        named = tables.by_key("conversations", "id", (ids.value,)) if ids.name == _CONVERSATION else []
        yield read.trace(ids, text_of(named[0], "name") if named else "", None, "0.35")
        tables.begin_trace()


def _conversation_of(row: JsonObject) -> ExternalId:
    named = text_of(row, "conversation_id")
    return ExternalId(_CONVERSATION, named) if named else ExternalId("response_id", str(row.get("id")))


def _read_response(row: JsonObject, tables: LlmTables, read: LlmTurns, system: str) -> str:
    """Add what a response was given and what it answered; the system prompt comes back, so that it is told once."""
    key = row.get("id")
    instructions = "\n\n".join(filter(None, (fragments_of(tables, "system_fragments", key), text_of(row, "system"))))
    if instructions and instructions != system:
        read.turns.append(Turn(Role.SYSTEM, (Part("text", instructions),), "system"))
    read.turns += map(result_turn, tables.of("tool_results", key))
    prompt = "\n\n".join(filter(None, (fragments_of(tables, "prompt_fragments", key), text_of(row, "prompt"))))
    if prompt or not read.turns:
        read.turns.append(Turn(Role.USER, (Part("text", prompt),), "user"))
    if tables.of("prompt_attachments", key):
        read.warnings[ATTACHMENTS] = None
    read.turns.append(_answer(row, tables, read))
    return instructions or system


def _answer(row: JsonObject, tables: LlmTables, read: LlmTurns) -> Turn:
    key = row.get("id")
    calls: list[CallHeader] = []
    parts = [Part(name, words) for name, words in (("reasoning", text_of(row, "reasoning")),) if words]
    parts += [Part("text", words) for words in (text_of(row, "response"),) if words]
    for at, call in enumerate(tables.of("tool_calls", key)):
        calls.append(CallHeader(f"call:{at}", text_of(call, "name") or None, text_of(call, "tool_call_id") or None))
        parts.append(Part(f"call:{at}", json_text(call.get("arguments"))))
    offered = (one.get("tool_id") for one in tables.of("tool_responses", key))
    return Turn(
        Role.ASSISTANT,
        tuple(parts) or (Part("text", ""),),
        "assistant",
        tuple(calls),
        generation=read.generation(row, tools_of(tables.by_key("tools", "id", offered))),
    )
