"""Trajectories of OpenClaw's sessions: `SESSION.trajectory.jsonl`, and `events.jsonl` of an export.

The last run that was completed has the messages of the whole session (`messagesSnapshot`), unless they were longer than
the limit; then its calls and results are read event by event. A value that was cut is `{"truncated": true, ...}`.
Source: OpenClaw 2026.9.6 (`/export-trajectory`).
"""

from collections.abc import Iterator, Sequence

from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.openclaw import RESTORED, data_of, first_entry, restore_calls
from weaklink.inspector.importers.agents.pi_entries import branch_session
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import list_of, object_of, objects_of
from weaklink.inspector.model import Json, Trace

_FACTS = {"id": "sessionId", "cwd": "workspaceDir", "timestamp": "ts"}
_CUT = "a prompt, arguments or a result were longer than the trajectory stores, and are empty here"
_BESIDE = "`{}` beside it has this session"


class _Trajectories:
    """The events of a file by their session; sessions may alternate."""

    def __init__(self, file: SourceFile, number: int) -> None:
        name = file.path.name.replace(".trajectory.jsonl", ".jsonl")
        self._beside = name if name != file.path.name and file.path.with_name(name).exists() else ""
        self._rows: dict[str, list[Row]] = {}

    def add(self, row: Row) -> None:
        if row.value.get("source") == "runtime":
            self._rows.setdefault(text_of(row.value, "sessionId"), []).append(row)

    def traces(self) -> Iterator[Trace | Skipped]:
        if self._beside:
            yield Skipped("file", _BESIDE.format(self._beside), is_irrelevant=True)
            return
        for rows in self._rows.values():
            session = _session(rows)
            yield (
                session.trace()
                if session
                else Skipped(rows[0].record, "the session has no messages", is_irrelevant=True)
            )


def _session(rows: Sequence[Row]) -> AgentSession | None:
    first, sent = rows[0], [row.value for row in rows]
    notes: list[str] = []
    entries: list[JsonObject] = [
        {"type": "message", "message": message, "timestamp": message.get("timestamp")}
        for message in _messages(sent, notes)
    ]
    messages = [Row(first.unit, first.number, entry, b"") for entry in entries]
    if restore_calls(messages, sent):
        notes.append(RESTORED)
    branch = [*first_entry(sent, notes, first.unit, first.number), *messages]
    if not messages:
        return None
    session = branch_session({name: first.value.get(member) for name, member in _FACTS.items()}, branch, 0)
    session.version = text_of(object_of(next(data_of(sent, "trace.metadata"), {}).get("harness")), "version")
    session.notes |= dict.fromkeys(notes)
    return session


def _messages(sent: Sequence[JsonObject], notes: list[str]) -> list[JsonObject]:
    """The messages of a session, in the shape of Pi's core; copies, since calls are put back into them."""
    messages: list[JsonObject] = []
    for event in sent:
        data, at = object_of(event.get("data")), event.get("ts")
        answer: JsonObject = {"role": "assistant", "model": event.get("modelId"), "timestamp": at}
        if any(map(_is_cut, (data.get("prompt"), data.get("args"), data.get("result")))):
            notes.append(_CUT)
        match event.get("type"):
            case "context.compiled":
                if isinstance(data.get("messages"), list):
                    messages = list(map(_copied, objects_of(data["messages"])))
                messages.append({"role": "user", "content": text_of(data, "prompt"), "timestamp": at})
            case "tool.call":
                arguments = {} if _is_cut(data.get("args")) else data.get("args")
                call: Json = {
                    "type": "toolCall",
                    "id": data.get("toolCallId"),
                    "name": data.get("name"),
                    "arguments": arguments,
                }
                messages.append({**answer, "content": [call]})
            case "tool.result":
                result = data.get("result")
                returned: JsonObject = {"content": result} if isinstance(result, str) else object_of(result)
                facts = {"toolCallId": data.get("toolCallId"), "toolName": data.get("name"), "timestamp": at}
                messages.append({"role": "toolResult", "isError": data.get("success") is False, **returned, **facts})
            case "model.completed" if isinstance(data.get("messagesSnapshot"), list):
                messages = list(map(_copied, objects_of(data["messagesSnapshot"])))
            case "model.completed":
                messages.append({**answer, **_ending(data)})
    return messages


def _ending(data: JsonObject) -> JsonObject:
    """What a run wrote last, and why it ended."""
    texts = "\n\n".join(text for text in list_of(data.get("assistantTexts")) if isinstance(text, str))
    error = text_of(data, "promptError")
    timed_out = any(value is True for name, value in data.items() if name.startswith(("timedOut", "idleTimedOut")))
    reason = "error" if error or timed_out else "aborted" if data.get("aborted") is True else data.get("stopReason")
    words = error or ("the run timed out" if timed_out else "")
    blocks: Json = [{"type": "text", "text": texts}] if texts else []
    return {"content": blocks, "stopReason": reason, "errorMessage": words, "usage": data.get("usage")}


def _copied(message: JsonObject) -> JsonObject:
    content = message.get("content")
    return {**message, "content": [*content]} if isinstance(content, list) else message


def _is_cut(value: Json) -> bool:
    return isinstance(value, dict) and value.get("truncated") is True and "originalChars" in value


OPENCLAW_TRAJECTORY = LogSource(
    name="openclaw-trajectory",
    signs="rows with the `traceSchema` `openclaw-trajectory`",
    is_row=lambda row: row.get("traceSchema") == "openclaw-trajectory" and isinstance(row.get("data"), dict),
    reader=SessionLogs(_Trajectories),
)
"""One trace per session, but for a session whose transcript is beside the file."""
