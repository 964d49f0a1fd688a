"""The threads in a log database of `llm` since 0.36.

A thread has `turns`, each a stretch of a chain of `messages`, from behind `parent_message_hash` to `tip_message_hash`;
a message has `parts`, and names the message before it.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from inspector.importers.identity import text_of
from inspector.importers.llm_tables import LlmTables, json_in
from inspector.importers.llm_turns import ATTACHMENTS, LlmTurns, fragments_of, json_text, result_turn, tools_of
from inspector.importers.source import JsonObject
from inspector.model import (
    CallHeader,
    ExternalId,
    Generation,
    ParentTrace,
    ParentWhy,
    Part,
    Role,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from inspector.wire.json_text import compact_json

_COPIED = frozenset({TurnFlag.COPIED_CONTEXT})
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}


def read_threads(tables: LlmTables) -> Iterator[Trace]:
    """Each thread in the order of the ids; one that was forked begins with its parent's messages, marked as copied."""
    query = "SELECT * FROM turns ORDER BY thread_id, id"
    for thread, rows in groupby(tables.rows(query), key=lambda row: row.get("thread_id")):
        read = LlmTurns()
        seen: set[str] = set()
        for row in rows:
            _read_turn(row, tables, read, seen)
        known = next(iter(tables.by_key("threads", "id", (thread,))), {})
        name, forked = text_of(known, "name"), text_of(known, "forked_from")
        parent = ParentTrace(ExternalId("thread_id", forked), ParentWhy.FORK) if forked else None
        if read.turns:
            yield read.trace(ExternalId("thread_id", str(thread)), name, parent, "0.36")
        tables.begin_trace()


def _read_turn(row: JsonObject, tables: LlmTables, read: LlmTurns, seen: set[str]) -> None:
    """Add the messages of a turn that were not there yet: what it was given, then what it answered."""
    before = text_of(row, "parent_message_hash")
    given = _chain(tables, before, seen)
    seen.update(text_of(message, "hash") for message in given)
    seen.add(before)
    answered = _chain(tables, text_of(row, "tip_message_hash"), seen)
    answers = [at for at, message in enumerate(given) if message.get("role") == "assistant"]
    for at, message in enumerate(given):
        read.turns += _said(message, tables, read, _COPIED if answers and at <= answers[-1] else frozenset())
    offered = (one.get("tool_id") for one in tables.of("turn_tools", row.get("id")))
    tools = tools_of(tables.by_key("tools", "id", offered))
    generation = read.generation(row, tools)
    for message in answered:
        is_answer = message.get("role") == "assistant"
        read.turns += _said(message, tables, read, frozenset(), generation if is_answer else None)
        generation = replace(generation, usage=Usage()) if is_answer else generation
    seen.update(text_of(message, "hash") for message in answered)


def _chain(tables: LlmTables, tip: str, known: set[str]) -> list[JsonObject]:
    """The messages up to this one that are not known, the first first."""
    found: list[JsonObject] = []
    walked: set[str] = set()
    while tip and tip not in known and tip not in walked:
        walked.add(tip)
        rows = tables.by_key("messages", "hash", (tip,))
        found += rows
        tip = text_of(rows[0], "parent_hash") if rows else ""
    return found[::-1]


def _said(
    message: JsonObject,
    tables: LlmTables,
    read: LlmTurns,
    flags: frozenset[TurnFlag],
    generation: Generation | None = None,
) -> Iterator[Turn]:
    role = _ROLES.get(text_of(message, "role"), Role.USER)
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    results: list[Turn] = []
    for at, part in enumerate(tables.of("parts", message.get("hash"))):
        payload = json_in(part.get("payload"))
        text = part.get("text")
        if tables.of("part_attachments", part.get("id")):
            read.warnings[ATTACHMENTS] = None
        match text_of(part, "type"):
            case "text" | "reasoning" as kind:
                words = text if isinstance(text, str) else fragments_of(tables, "part_fragments", part.get("id"))
                if words or kind == "text":
                    texts.setdefault(kind, []).append(words)
            case "tool_call":
                name = f"call:{len(calls)}"
                calls.append(
                    CallHeader(name, text_of(payload, "name") or None, text_of(payload, "tool_call_id") or None)
                )
                texts[name] = [json_text(payload.get("arguments", ""))]
            case "tool_result":
                results.append(result_turn(payload, flags))
            case _:
                texts[f"content:{at}"] = [compact_json(payload or text)]
    if texts or not results:
        parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items()) or (Part("text", ""),)
        named = text_of(message, "role")
        yield Turn(role, parts, named, tuple(calls), generation=generation, flags=flags)
    yield from results
