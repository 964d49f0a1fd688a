"""GitHub Copilot CLI's sessions: `events.jsonl`, a line per event, of the session and of its sub-agents.

An answer's usage comes before it, in an event of its own. Results come in any order and are paired by id. Source: types
of `@github/copilot-sdk` 1.0, and a run of 1.0.102.
"""

from collections.abc import Iterator

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import Trace

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the tools, requests that were tried again, nor chunks")
_FACTS = maps.Facts(version="copilotVersion", folder="context.cwd", branch="context.branch", started="startTime")
_ANSWER = maps.Answer(
    content="content",
    reasoning="reasoningText",
    calls=maps.Calls("toolRequests[]", id="toolCallId"),
    model="model usage.model",
    usage=maps.TokenCounts("usage.inputTokens", "usage.outputTokens", cached="usage.cacheReadTokens"),
    ended="timestamp",
    response_id="apiCallId",
)
_RESULT = maps.Result(*("toolCallId", "words"), is_error="success", states={False: True}, otherwise=False)
_SESSION_EVENTS = frozenset({"session.start", "session.resume"})


class _EventLog:
    """The sessions of a log: the agent's, and those of its sub-agents in the order of their first events."""

    def __init__(self, *_: object) -> None:
        self._sessions: dict[str, AgentSession] = {}
        self._names: dict[str, str] = {}
        self._usages: dict[str, JsonObject] = {}
        self._id = ""

    def add(self, row: Row) -> None:
        data = object_of(row.value.get("data"))
        agent = _agent_of(row.value, data)
        self._id = self._id or text_of(data, "sessionId")
        session = self._sessions.get(agent)
        if session is None or not (session.ids or session.turns):
            ids = (("session_id", self._id), ("agent", agent))
            session = self._sessions[agent] = AgentSession("copilot-cli", ids, row.record, _NOTES)
        if text_of(row.value, "type") == "session.usage_record":
            self._usages[agent] = object_of(data.get("usage"))
        elif text_of(row.value, "type") == "subagent.started":
            self._names[text_of(data, "toolCallId")] = text_of(data, "agentName")
        else:
            _take(row.value, data, session, self._usages)

    def traces(self) -> Iterator[Trace | Skipped]:
        for agent, session in self._sessions.items():
            if agent:
                session.child_of(self._id)
                session.title = self._names.get(agent, "")
            yield session.trace()


def _begun_session(event: JsonObject) -> str:
    """The id of the session that an event begins; `""` if it begins none."""
    data = object_of(event.get("data"))
    is_start = text_of(event, "type") == "session.start" and not _agent_of(event, data)
    return text_of(data, "sessionId") if is_start else ""


def _agent_of(event: JsonObject, data: JsonObject) -> str:
    """The id of the sub-agent of an event; `""` if it is the session's own."""
    return text_of(event, "agentId") or text_of(data, "parentToolCallId")


def _take(event: JsonObject, data: JsonObject, session: AgentSession, usages: dict[str, JsonObject]) -> None:
    at = event.get("timestamp")
    match text_of(event, "type"):
        case "session.start" | "session.resume":
            _FACTS(data, session)
        case "system.message":
            session.say("system", data.get("content"))
        case "user.message":
            session.say("user", text_of(data, "content") or data.get("transformedContent"))
        case "assistant.message":
            usage = usages.pop(_agent_of(event, data), {})
            _ANSWER({**data, "usage": usage or data, "timestamp": at}, session)
        case "tool.execution_complete":
            _RESULT({**data, "words": maps.words_at(data, "result result.content error.message")}, session)
        case "session.error":
            error = failure(text_of(data, "message"), code=text_of(data, "errorType"), status=data.get("statusCode"))
            session.answer(None, ended=at, error=error)
        case "abort":
            session.answer(None, ended=at, error=failure(text_of(data, "reason") or "aborted", code="aborted"))
        case "session.compaction_complete":
            session.summary(text_of(data, "summaryContent"))


COPILOT_CLI = LogSource(
    name="copilot-cli",
    signs="events with `type`, `data` and `parentId`, the first `session.start`",
    is_row=lambda row: text_of(row, "type") in _SESSION_EVENTS and "sessionId" in object_of(row.get("data")),
    reader=SessionLogs(_EventLog, _begun_session),
)
"""One trace per session, and one for each of its sub-agents in the order of their first events."""
