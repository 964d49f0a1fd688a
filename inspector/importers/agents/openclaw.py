"""OpenClaw's database of an agent: the entries of Pi's core in `transcript_events`, and what it sent in a trajectory.

The transcript has the branches of each session; a long entry is compressed. It lacks the system prompt, the tools, and
calls of tools that do not exist, whose results stay. The trajectory (`trajectory_runtime_events`) has them, unless they
were longer than its limit: then they are cut to a note. Source: OpenClaw 2026.9.6 (schema 23).
"""

from collections.abc import Iterator, Sequence
from functools import partial

from weaklink.inspector.importers.agents.agent_session import AgentSession, branches_in_tables
from weaklink.inspector.importers.agents.pi_entries import branch_session, entry_branches
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.sqlite_tables import LogTables
from weaklink.inspector.json_text import count_of, object_of, objects_of
from weaklink.inspector.model import Json

_TABLES = ("transcript_events", "trajectory_runtime_events", "session_windows")
_SESSIONS = "SELECT session_id FROM transcript_events GROUP BY session_id ORDER BY min(rowid)"
_ENTRIES = """
SELECT seq, coalesce(event_json, zstd_text(event_zstd)) AS event FROM transcript_events WHERE session_id = ?
ORDER BY seq
"""
_TRAJECTORY = "SELECT seq, event_json FROM trajectory_runtime_events WHERE session_id = ? ORDER BY seq"
_SPAWNED_BY = """
SELECT parent.session_id AS id FROM session_windows child JOIN session_windows parent
ON parent.session_key = child.spawned_by WHERE child.session_id = ? ORDER BY parent.started_at DESC LIMIT 1
"""
RESTORED = "calls of tools that do not exist are from the trajectory: OpenClaw removes them from its transcript"
CUT = "the system prompt or the tools were longer than the trajectory stores"
CUT_SCHEMAS = "parts of the tools' schemas were nested deeper than the trajectory stores"


def _branches(tables: LogTables, row: JsonObject) -> Iterator[AgentSession]:
    id_ = text_of(row, "session_id")
    unit = f"session {id_}, event"
    events: list[Row] = []
    for event in tables.rows(_ENTRIES, id_):  # one that cannot be read is an empty one
        value = tables.json_object(event, "event", f"{unit} {event.get('seq')}") or {}
        events.append(Row(unit, count_of(event.get("seq")) or 0, value, b""))
    header = next((event.value for event in events if event.value.get("type") == "session"), {}) | {"id": id_}
    entries = [event for event in events if event.value.get("type") != "session"]
    trajectory = list(tables.rows(_TRAJECTORY, id_)) if "trajectory_runtime_events" in tables.names else []
    record = f"session {id_}, event of its trajectory"
    sent = [tables.json_object(event, "event_json", f"{record} {event.get('seq')}") or {} for event in trajectory]
    notes = [RESTORED] if restore_calls(entries, sent) else []
    first = first_entry(sent, notes, unit)
    spawned_by = list(tables.rows(_SPAWNED_BY, id_)) if "session_windows" in tables.names else []
    for number, (branch, shared) in enumerate(entry_branches([entry for entry in entries if entry.value])):
        session = branch_session(header, [*first, *branch], shared + len(first) if number else 0)
        session.notes |= dict.fromkeys(notes)
        if spawned_by and session.parent is None:
            session.child_of(text_of(spawned_by[0], "id"))
        yield session


def restore_calls(entries: list[Row], sent: Sequence[JsonObject]) -> bool:
    """Put back the calls whose results the transcript has; whether there are any.

    Each goes into the answer that its result follows. An answer that had nothing else is not in the transcript either:
    it is put before the first of its results. Results after an entry that cannot be read may be those of an answer that
    is lost: nothing is put back for them.
    """
    calls = {text_of(data, "toolCallId"): data for data in data_of(sent, "tool.call")}
    order = {
        (text_of(event, "type"), text_of(object_of(event.get("data")), "toolCallId")): at
        for at, event in enumerate(sent)
    }
    answer: list[Json] | None = None
    known: set[str] = set()
    is_lost, returned_at, restored = False, -1, False
    for row in tuple(entries):
        message = object_of(row.value.get("message"))
        content, id_ = message.get("content"), text_of(message, "toolCallId")
        if message.get("role") == "assistant" and isinstance(content, list):
            answer, known, is_lost = content, {text_of(block, "id") for block in objects_of(content)}, False
        elif not row.value:
            answer, is_lost = None, True
        elif message.get("role") == "user":
            answer, is_lost = None, False
        if id_ in calls and id_ not in known and not is_lost:
            if answer is None or (returned_at < order["tool.call", id_] and returned_at >= 0):
                answer, known = [], set()
                entries.insert(entries.index(row), _answer_before(row, answer))
            data = calls[id_]
            known.add(id_)
            answer.append({"type": "toolCall", "id": id_, "name": data.get("name"), "arguments": data.get("args")})
            restored = True
        returned_at = order.get(("tool.result", id_), -1)
    return restored


def _answer_before(result: Row, content: list[Json]) -> Row:
    """An answer with this content as the parent of a result."""
    id_ = f"{text_of(result.value, 'id')}:call"
    message: JsonObject = {"role": "assistant", "content": content}
    entry: JsonObject = {**result.value, "id": id_, "message": message}
    result.value["parentId"] = id_
    return Row(result.unit, result.number, entry, b"")


def first_entry(sent: Sequence[JsonObject], notes: list[str], unit: str, number: int = 0) -> list[Row]:
    """The system prompt and the tools of the first request, as Pi 1.x writes them."""
    compiled = next(data_of(sent, "context.compiled"), {})
    if not compiled:
        return []
    prompt, tools = compiled.get("systemPrompt"), compiled.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) and not _is_cut(tool) for tool in tools):
        tools = None  # a call of a tool that was cut from the list would count as one of an unknown tool
    if tools is None or not isinstance(prompt, str):
        notes.append(CUT)
    kept = _without_cuts(tools)
    if kept != tools:
        notes.append(CUT_SCHEMAS)
    message: JsonObject = {"role": "system", "content": text_of(compiled, "systemPrompt"), "toolsAdded": kept}
    return [Row(unit, number, {"type": "message", "message": message}, b"")]


def _without_cuts(value: Json) -> Json:
    """A schema without what was nested deeper than a trajectory stores: it demands less than the real one."""
    if isinstance(value, dict):
        return {name: _without_cuts(inner) for name, inner in value.items() if not _is_cut(inner)}
    if isinstance(value, list):
        return [{} if _is_cut(inner) else _without_cuts(inner) for inner in value]
    return value


def _is_cut(value: Json) -> bool:
    return (
        isinstance(value, dict) and value.get("truncated") is True and not {"reason", "originalChars"}.isdisjoint(value)
    )


def data_of(sent: Sequence[JsonObject], kind: str) -> Iterator[JsonObject]:
    """The data of the events of a kind, in order."""
    return (object_of(event.get("data")) for event in sent if event.get("type") == kind)


OPENCLAW = LogSource(
    name="openclaw",
    signs="OpenClaw's tables, with `transcript_events.event_zstd`",
    columns={"transcript_events": {"session_id", "seq", "event_json", "event_zstd"}},
    reader=partial(branches_in_tables, names=_TABLES, query=_SESSIONS, branches=_branches),
)
"""One trace per session, in the order in which they began, and one per branch that was left."""
