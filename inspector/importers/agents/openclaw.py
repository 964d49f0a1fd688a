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
from weaklink.inspector.json_text import count_of, object_of, objects_of, write_json
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


def restore_calls(entries: Sequence[Row], sent: Sequence[JsonObject]) -> bool:
    """Put back the calls whose results the transcript has, into the answers that they follow; whether there are any.

    Results after an entry that cannot be read may be those of an answer that is lost: nothing is put back for them.
    """
    calls = {text_of(data, "toolCallId"): data for data in data_of(sent, "tool.call")}
    answer: list[Json] | None = None
    known: set[str] = set()
    restored = False
    for row in entries:
        message = object_of(row.value.get("message"))
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, list):
            answer, known = content, {text_of(block, "id") for block in objects_of(content)}
        elif not row.value:
            answer = None
        id_ = text_of(message, "toolCallId")
        if answer is not None and id_ in calls and id_ not in known:
            data = calls[id_]
            known.add(id_)
            answer.append({"type": "toolCall", "id": id_, "name": data.get("name"), "arguments": data.get("args")})
            restored = True
    return restored


def first_entry(sent: Sequence[JsonObject], notes: list[str], unit: str, number: int = 0) -> list[Row]:
    """The system prompt and the tools of the first request, as Pi 1.x writes them."""
    compiled = next(data_of(sent, "context.compiled"), {})
    if not compiled:
        return []
    prompt, tools = compiled.get("systemPrompt"), compiled.get("tools")
    if _is_cut(tools):  # a call of a tool that was cut from the list would count as one of an unknown tool
        tools = None
    if tools is None or not isinstance(prompt, str):
        notes.append(CUT)
    message: JsonObject = {"role": "system", "content": text_of(compiled, "systemPrompt"), "toolsAdded": tools}
    return [Row(unit, number, {"type": "message", "message": message}, b"")]


def _is_cut(tools: Json) -> bool:
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return True
    return '"truncated":true' in write_json(tools)


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
