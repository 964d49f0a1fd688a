"""OpenCode's sessions: its database, `opencode export`, and the events of `opencode run --format json`.

A session has messages, a message has parts (text, reasoning, tools with their results, the end of a step). A call that
OpenCode could not take is the tool `invalid`: its state has the name that the model wrote, and of malformed arguments
the raw text. Source: types of OpenCode's SDK 1.19, runs of 1.18.33.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from msgspec import structs

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import (
    AgentSession,
    failure,
    rows_of,
    sessions_in_tables,
)
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import member_at, object_of, objects_of
from weaklink.inspector.model import GenerationError, Json, Trace
from weaklink.inspector.scanning import lazy_pattern

_NOTES = (
    "the source stores the arguments of calls parsed, except those that it could not parse",
    "the source stores neither the tools nor chunks, and the system prompt only if the user wrote one",
)
_EVENTS = frozenset({"step_start", "text", "reasoning", "tool_use", "step_finish", "error"})
_ANSWER_PARTS = frozenset({"step-start", "reasoning", "tool", "step-finish"})
_RAW = lazy_pattern(r"JSON parsing failed: Text: (.*?)\.\nError message: ")
_ENDED = frozenset({"completed", "error"})
_FINISH = "info.finish end.reason"
_FACTS = maps.Facts(
    title="title",
    version="version",
    folder="directory",
    parent="parentID parent_id",
    started="time.created time_created",
)
_NO_END = "the log has no end of this answer: it was interrupted, or is still being written"


def _is_export(row: JsonObject) -> bool:
    return isinstance(row.get("messages"), list) and text_of(object_of(row.get("info")), "id").startswith("ses_")


def _is_event(row: JsonObject) -> bool:
    return text_of(row, "type") in _EVENTS and text_of(row, "sessionID").startswith("ses_")


def _of_row(tables: LogTables, row: JsonObject) -> AgentSession:
    id_ = row.get("id")
    return _session(row, list(_stored_messages(tables, id_)), f"session {id_}")


def _stored_messages(tables: LogTables, session_id: Json) -> Iterator[JsonObject]:
    query = (
        "SELECT m.id AS message_id, m.data AS message, p.id AS part_id, p.data AS part FROM message m LEFT JOIN part p "
        "ON p.message_id = m.id WHERE m.session_id = ? ORDER BY m.id, p.id"
    )
    for message_id, rows in groupby(tables.rows(query, session_id), key=lambda row: row.get("message_id")):
        listed = list(rows)
        record = f"session {session_id}, message {message_id}"
        read = (
            tables.json_object(row, "part", f"{record}, part {row.get('part_id')}")
            for row in listed
            if row.get("part_id") is not None
        )
        parts: list[Json] = [part for part in read if part is not None]
        info = tables.json_object(listed[0], "message", record)
        if info is None:
            kinds = {text_of(object_of(part), "type") for part in parts}
            info = {"role": "assistant" if kinds & _ANSWER_PARTS else "user"}
        yield {"info": {**info, "id": message_id}, "parts": parts}


def _messages_of(events: Iterable[JsonObject]) -> list[JsonObject]:
    """The answers that events report, each with its parts; the user's words are not among them."""
    messages: dict[str, list[Json]] = {}
    failed: list[JsonObject] = []
    for event in events:
        if event.get("type") == "error":
            failed.append({"info": {"role": "assistant", "error": event.get("error")}, "parts": []})
        elif part := object_of(event.get("part")):
            messages.setdefault(text_of(part, "messageID"), []).append(part)
    answers: list[JsonObject] = [{"info": {"role": "assistant"}, "parts": parts} for parts in messages.values()]
    return [*answers, *failed]


def _session(info: JsonObject, messages: list[JsonObject], record: str) -> AgentSession:
    session = AgentSession("opencode", (("session_id", text_of(info, "id")),), record, _NOTES)
    _FACTS(info, session)
    for message in messages:
        _message(message, session)
    return session


def _message(message: JsonObject, session: AgentSession) -> None:
    info = object_of(message.get("info"))
    session.began(member_at(info, "time.created"))
    if info.get("role") == "user":
        session.say("system", text_of(info, "system"))
        for part in maps.objects_at(message, "parts[text]"):
            text = text_of(part, "text")
            is_quoted = len(text) > 1 and text[0] == text[-1] == '"'  # as `opencode run` quotes the prompt
            session.say("user", text[1:-1] if is_quoted else text, is_injected=part.get("synthetic") is True)
        return
    end = (maps.objects_at(message, "parts[step-finish]") or [{}])[-1]
    before = len(session.turns)
    _ANSWER({**message, "end": end, "tokens": info.get("tokens", end.get("tokens"))}, session)
    if info.get("summary") is True:
        session.summarised(before, before)
    for part in maps.objects_at(message, "parts[tool]"):
        if text_at(part, "state.status") in _ENDED:
            (_INVALID_RESULT if part.get("tool") == "invalid" else _RESULT)(part, session)


def _error(message: JsonObject) -> GenerationError | None:
    problem = member_at(message, "info.error")
    if isinstance(problem, dict) and problem:
        name = text_of(problem, "name")
        words = text_at(problem, "data.message") or name
        return failure(words, code=name, status=member_at(problem, "data.statusCode"))
    times = object_of(member_at(message, "info.time"))
    if text_at(message, *_FINISH.split()) or times.get("created") is None or times.get("completed") is not None:
        return None
    return failure(_NO_END, code="aborted")  # OpenCode writes the answer's end, and an error, but no interrupt


def _call(part: JsonObject) -> Json:
    """A call as the model wrote it: also one that OpenCode could not take, or whose arguments it could not parse."""
    state = object_of(part.get("state"))
    arguments = state.get("input")
    if part.get("tool") == "invalid":
        raw = _RAW.search(text_of(object_of(arguments), "error"))
        arguments = raw[1] if raw else ""
    elif text_of(state, "raw"):
        arguments = state["raw"]
    return call_object(
        text_at(part, "state.input.tool" if part.get("tool") == "invalid" else "tool"), arguments, part.get("callID")
    )


_ANSWER = maps.Answer(
    content="parts[text].text",
    reasoning="parts[reasoning].text",
    calls=lambda message: [_call(part) for part in maps.objects_at(message, "parts[tool]")],
    model="info.modelID",
    usage=maps.TokenCounts("tokens.input", "tokens.output", cached="tokens.cache.read", reasoning="tokens.reasoning"),
    started="info.time.created",
    ended="info.time.completed",
    finish=_FINISH,
    error=_error,
)
_RESULT = maps.Result(
    *("callID", "state.output state.error", "tool"),
    is_error="state.status",
    states={"error": True},
    otherwise=False,
    recorded="state",
)
_INVALID_RESULT = structs.replace(_RESULT, name="state.input.tool", otherwise=True)


def _exported(file: SourceFile) -> Iterator[Trace | Skipped]:
    """The exported sessions, then those of which there are events."""
    events: dict[str, list[JsonObject]] = {}
    for row in rows_of(file, lambda row: "sessionID" in row):
        if isinstance(row, Skipped):
            yield row
        elif _is_export(row.value):
            yield _session(object_of(row.value["info"]), objects_of(row.value["messages"]), row.record).trace()
        elif session_id := text_of(row.value, "sessionID"):
            events.setdefault(session_id, []).append(row.value)
    for session_id, listed in events.items():
        yield _session({"id": session_id}, _messages_of(listed), f"session {session_id}").trace()


OPENCODE = LogSource(
    name="opencode",
    signs="OpenCode's tables, an `info` with `messages`, or events with a `sessionID`",
    columns={"part": {"message_id", "session_id", "data"}},
    is_row=lambda row: _is_export(row) or _is_event(row),
    reader=_exported,
    table_reader=partial(
        sessions_in_tables,
        names=("session", "message", "part"),
        query="SELECT * FROM session ORDER BY time_created, id",
        session=_of_row,
    ),
)
"""One trace per session, in the order in which they began."""
