"""The log database of Simon Willison's `llm`: `logs.db`, an SQLite file, in both of its schemas.

Until 0.35 it has `conversations` of `responses`; since 0.36 `threads` of `turns` over a chain of `messages`. A migrated
database has both: a conversation that is also a thread is read only as a thread.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec import structs

from weaklink.inspector.apis.openai.messages import call_objects, message_object, read_message
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import instant, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import (
    DAMAGE,
    NEW_SCHEMA,
    OLD_SCHEMA,
    LogTables,
    open_tables,
    tables_score,
    unread_rest,
)
from weaklink.inspector.json_text import compact_json, count_of, text_or_json
from weaklink.inspector.model import (
    CallHeader,
    ExternalId,
    Generation,
    Instant,
    InstantSource,
    Json,
    ParentTrace,
    ParentWhy,
    Part,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)

_COLUMNS = (b"tip_message_hash", b"prompt_json")
_ATTACHMENTS = "attachments are left out"
_NOT_STORED = (
    "the source does not store chunks, nor answers and requests that failed",
    "the source stores the arguments of calls as it parsed them",
)

_USAGE = maps.TokenCounts(
    *("input_tokens", "output_tokens"),
    cached="details.prompt_tokens_details.cached_tokens",
    reasoning="details.completion_tokens_details.reasoning_tokens",
)
_CONVERSATION = "conversation_id"
_COPIED = frozenset({TurnFlag.COPIED_CONTEXT})
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The threads, then the conversations; if the database is damaged, a Skipped follows what could be read."""
    try:
        with open_tables(file) as tables:
            tables.index()
            if tables.names >= NEW_SCHEMA:
                yield from _threads(tables)
            if tables.names >= OLD_SCHEMA:
                yield from _conversations(tables)
    except DAMAGE as error:
        yield unread_rest(error)


def _session(ids: ExternalId) -> AgentSession:
    return AgentSession("llm-database", ((ids.name, ids.value),), f"{ids.name} {ids.value}", _NOT_STORED)


def _generation(
    row: JsonObject, record: str, offered: Iterable[Json], tables: LogTables, session: AgentSession
) -> Generation:
    """The generation of an answer, from its response or turn (`record`); `offered` are the ids of its tools."""
    session.began(row.get("datetime_utc"))
    session.model = session.model or text_of(row, "model")
    began, duration_ms = instant(row.get("datetime_utc")), row.get("duration_ms")
    answer = tables.json_object(row, "response_json", record, is_optional=True) or {}
    details = tables.json_object(row, "token_details", record, is_optional=True) or {}
    ended = (
        Instant(began.at_s + duration_ms / 1000, InstantSource.DERIVED)
        if began and isinstance(duration_ms, int | float)
        else None
    )
    return stored_generation(
        requested_model=text_of(row, "model"),
        answered_model=text_of(row, "resolved_model") or text_of(answer, "model"),
        parameters="" if text_of(row, "options_json") == "{}" else text_of(row, "options_json"),
        tools=_tools_of(tables.by_key("tools", "id", offered), tables),
        started=began,
        ended=ended,
        usage=_USAGE({**row, "details": details}),
        finish=text_of(answer, "finish_reason", "stop_reason"),
    )


def _result_turn(value: JsonObject, flags: frozenset[TurnFlag] = frozenset()) -> Turn:
    """A tool's result; the exception's message if the tool raised one and returned nothing."""
    failed, call_id = text_of(value, "exception"), text_of(value, "tool_call_id") or None
    text, name = text_or_json(value.get("output", "")) or failed, text_of(value, "name") or None
    is_error = True if failed else None
    turn = read_message(message_object("tool", text, tool_call_id=call_id, name=name, is_error=is_error))
    return structs.replace(turn, flags=flags)


def _fragments_of(tables: LogTables, table: str, owner: Json) -> str:
    """The fragments that belong to a response or a part, in order, joined by blank lines as in `llm`."""
    listed = sorted(tables.of(table, owner), key=lambda row: count_of(row.get("order")) or 0)
    found = tables.by_key("fragments", "id", (row.get("fragment_id") for row in listed))
    return "\n\n".join(text_of(row, "content") for row in found)


def _tools_of(rows: list[JsonObject], tables: LogTables) -> tuple[ToolDefinition, ...]:
    """The definitions in rows of the table `tools`."""
    return tuple(
        ToolDefinition(
            text_of(row, "name"),
            text_of(row, "description"),
            tables.json_object(row, "input_schema", f"tool {row.get('id')}", is_optional=True),
            compact_json({key: row.get(key) for key in ("name", "description", "input_schema")}),
        )
        for row in rows
    )


def _conversations(tables: LogTables) -> Iterator[Trace | Skipped]:
    """Each conversation in the order of the ids, and each response without one; those that are threads are left out."""
    skipped = " WHERE responses.conversation_id NOT IN (SELECT id FROM threads)" if "threads" in tables.names else ""
    query = f"SELECT responses.* FROM responses{skipped} ORDER BY responses.conversation_id, responses.id"
    for ids, rows in groupby(tables.rows(query), key=_conversation_of):
        session, system = _session(ids), ""
        for row in rows:
            system = _read_response(row, tables, session, system)
        named = tables.by_key("conversations", "id", (ids.value,)) if ids.name == _CONVERSATION else []
        session.title, session.version = text_of(named[0], "name") if named else "", "0.35"
        yield from tables.take_damage()
        yield session.trace()
        tables.begin_trace()


def _conversation_of(row: JsonObject) -> ExternalId:
    named = text_of(row, "conversation_id")
    return ExternalId(_CONVERSATION, named) if named else ExternalId("response_id", str(row.get("id")))


def _read_response(row: JsonObject, tables: LogTables, session: AgentSession, system: str) -> str:
    """Add a response's input and its answer; returns the system prompt, so that it is added only once."""
    key = row.get("id")
    instructions = "\n\n".join(filter(None, (_fragments_of(tables, "system_fragments", key), text_of(row, "system"))))
    if instructions and instructions != system:
        session.turns.append(Turn(Role.SYSTEM, (Part("text", instructions),), "system"))
    session.turns += map(_result_turn, tables.of("tool_results", key))
    prompt = "\n\n".join(filter(None, (_fragments_of(tables, "prompt_fragments", key), text_of(row, "prompt"))))
    if prompt or not session.turns:
        session.turns.append(Turn(Role.USER, (Part("text", prompt),), "user"))
    if tables.of("prompt_attachments", key):
        session.notes[_ATTACHMENTS] = None
    session.turns.append(_answer(row, tables, session))
    return instructions or system


def _answer(row: JsonObject, tables: LogTables, session: AgentSession) -> Turn:
    key = row.get("id")
    calls = call_objects(tables.of("tool_calls", key), call_id="tool_call_id")
    thoughts, words = text_of(row, "reasoning") or None, text_of(row, "response") or None
    turn = read_message(message_object("assistant", words, reasoning_content=thoughts, calls=calls))
    offered = (one.get("tool_id") for one in tables.of("tool_responses", key))
    return structs.replace(turn, generation=_generation(row, f"response {key}", offered, tables, session))


def _threads(tables: LogTables) -> Iterator[Trace | Skipped]:
    """Each thread in the order of the ids; a forked thread begins with its parent's messages, marked as copied."""
    query = "SELECT * FROM turns ORDER BY thread_id, id"
    for thread, rows in groupby(tables.rows(query), key=lambda row: row.get("thread_id")):
        session, seen = _session(ExternalId("thread_id", str(thread))), set[str]()
        for row in rows:
            _read_turn(row, tables, session, seen)
        thread_row = next(iter(tables.by_key("threads", "id", (thread,))), {})
        session.title, session.version = text_of(thread_row, "name"), "0.36"
        if forked := text_of(thread_row, "forked_from"):
            session.parent = ParentTrace(ExternalId("thread_id", forked), ParentWhy.FORK)
        yield from tables.take_damage()
        if session.turns:
            yield session.trace()
        tables.begin_trace()


def _read_turn(row: JsonObject, tables: LogTables, session: AgentSession, seen: set[str]) -> None:
    """Add the messages of a turn that are new: first its input, then its answer."""
    before = text_of(row, "parent_message_hash")
    inputs = _chain(tables, before, seen)
    seen.update(text_of(message, "hash") for message in inputs)
    seen.add(before)
    answered = _chain(tables, text_of(row, "tip_message_hash"), seen)
    answers = [index for index, message in enumerate(inputs) if message.get("role") == "assistant"]
    for index, message in enumerate(inputs):
        session.turns += _message_turns(
            message, tables, session, _COPIED if answers and index <= answers[-1] else frozenset()
        )
    offered = (one.get("tool_id") for one in tables.of("turn_tools", row.get("id")))
    generation = _generation(row, f"turn {row.get('id')}", offered, tables, session)
    for message in answered:
        is_answer = message.get("role") == "assistant"
        session.turns += _message_turns(message, tables, session, frozenset(), generation if is_answer else None)
        generation = structs.replace(generation, usage=Usage()) if is_answer else generation
    seen.update(text_of(message, "hash") for message in answered)


def _chain(tables: LogTables, tip: str, known: set[str]) -> list[JsonObject]:
    """The messages up to this one that are not in `known`, the oldest first."""
    found: list[JsonObject] = []
    walked: set[str] = set()
    while tip and tip not in known and tip not in walked:
        walked.add(tip)
        rows = tables.by_key("messages", "hash", (tip,))
        found += rows
        tip = text_of(rows[0], "parent_hash") if rows else ""
    return found[::-1]


def _message_turns(
    message: JsonObject,
    tables: LogTables,
    session: AgentSession,
    flags: frozenset[TurnFlag],
    generation: Generation | None = None,
) -> Iterator[Turn]:
    role = _ROLES.get(text_of(message, "role"), Role.USER)
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    results: list[Turn] = []
    is_whole = True
    for index, part in enumerate(tables.of("parts", message.get("hash"))):
        kind = text_of(part, "type")
        has_payload = kind in ("tool_call", "tool_result")
        payload = tables.json_object(part, "payload", f"part {part.get('id')}", is_optional=not has_payload)
        if payload is None and has_payload:
            is_whole = False
            continue
        payload = payload or {}
        text = part.get("text")
        if tables.of("part_attachments", part.get("id")):
            session.notes[_ATTACHMENTS] = None
        match kind:
            case "text" | "reasoning":
                words = text if isinstance(text, str) else _fragments_of(tables, "part_fragments", part.get("id"))
                if words or kind == "text":
                    texts.setdefault(kind, []).append(words)
            case "tool_call":
                name = f"call:{len(calls)}"
                calls.append(
                    CallHeader(name, text_of(payload, "name") or None, text_of(payload, "tool_call_id") or None)
                )
                texts[name] = [text_or_json(payload.get("arguments", ""))]
            case "tool_result":
                results.append(_result_turn(payload, flags))
            case _:
                texts[f"content:{index}"] = [compact_json(payload or text)]
    if texts or (is_whole and not results):
        parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items()) or (Part("text", ""),)
        named = text_of(message, "role")
        yield Turn(role, parts, named, tuple(calls), generation=generation, flags=flags)
    yield from results


LLM_DATABASE = LogSource(
    name="llm-database",
    signs="an SQLite database with the tables of `llm`",
    score=lambda sample: tables_score(sample, (NEW_SCHEMA, OLD_SCHEMA), _COLUMNS),
    reader=_traces,
)
"""One trace per thread or conversation in the order of their ids, and one for each response that belongs to none."""
