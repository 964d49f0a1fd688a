"""Qwen Code's sessions: Gemini's parts in lines that look like Claude Code's (`uuid`, `parentUuid`, `sessionId`).

Source: `chatRecordingService` of Qwen Code 0.24; files of 0.15 and 0.24.
"""

from collections.abc import Iterator

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import compact_json, member_at, object_of, objects_of
from weaklink.inspector.model import ExternalId, ParentTrace, ParentWhy, Trace

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the system prompt, the tools nor chunks")
_FACTS = maps.Facts(version="version", branch="gitBranch", started="timestamp")
_ANSWER = maps.Answer(
    content="words",
    reasoning="thoughts",
    calls=maps.Calls("message.parts[].functionCall", arguments="args"),
    model="model",
    usage=maps.TokenCounts(
        *("usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount"),
        *("usageMetadata.cachedContentTokenCount", "usageMetadata.thoughtsTokenCount"),
    ),
    ended="timestamp",
)


def _is_row(row: JsonObject) -> bool:
    named = isinstance(row.get("uuid"), str) and isinstance(row.get("sessionId"), str)
    return named and isinstance(member_at(row, "message.parts"), list)


def _take(row: JsonObject, session: AgentSession) -> None:
    _FACTS(row, session)
    session.folder = session.folder or text_of(row, "cwd")
    parts = objects_of(member_at(row, "message.parts"))
    words, thoughts = (
        "".join(text_of(part, "text") for part in parts if (part.get("thought") is True) is is_thought)
        for is_thought in (False, True)
    )
    match text_of(row, "type"):
        case "user":
            session.say("user", words, is_injected=row.get("provenance") not in (None, "real_user"))
        case "assistant":
            _ANSWER({**row, "words": words, "thoughts": thoughts}, session)
        case "tool_result":
            for response in (object_of(part.get("functionResponse")) for part in parts):
                answered = object_of(response.get("response"))
                value = next((answered[key] for key in ("output", "error") if key in answered), answered)
                session.result(
                    text_of(response, "id"),
                    value if isinstance(value, str) else compact_json(value),
                    name=text_of(response, "name"),
                    is_error="error" in answered,
                    recorded=row,
                )
        case "system" if row.get("subtype") == "chat_compression":
            _compression(objects_of(member_at(row, "systemPayload.compressedHistory")), session)
        case "system":
            event = object_of(member_at(row, "systemPayload.uiEvent"))
            if text_of(event, "event.name").endswith("api_error"):
                message = text_of(event, "error_message", "error")
                error = failure(message, code=text_of(event, "error_type"), status=event.get("status_code"))
                session.answer(None, model=text_of(event, "model"), ended=row.get("timestamp"), error=error)


def _compression(history: list[JsonObject], session: AgentSession) -> None:
    """What the model reads from now on: a summary, an answer that takes note of it, and the last messages as before."""
    if not history:
        return
    kept = 0
    for content in history[2:]:
        parts = objects_of(content.get("parts"))
        results = sum("functionResponse" in part for part in parts)
        kept += results + (len(parts) > results)
    session.summary("".join(text_of(part, "text") for part in objects_of(history[0].get("parts"))), kept=kept)


class _SessionRows:
    """The sessions of a file in the order of their first rows, and their sub-agents."""

    def __init__(self, *_: object) -> None:
        self._sessions: dict[tuple[str, str], AgentSession] = {}

    def add(self, row: Row) -> None:
        agent = text_of(row.value, "agentId") if row.value.get("isSidechain") is True else ""
        ids = text_of(row.value, "sessionId"), agent
        if ids not in self._sessions:
            named = (("sessionId", ids[0]), ("agentId", agent))
            session = self._sessions[ids] = AgentSession("qwen-code", named, row.record, _NOTES)
            forked = text_at(row.value, "forkedFrom.sessionId")
            if agent or forked:
                why = ParentWhy.SUBAGENT if agent else ParentWhy.FORK
                session.parent = ParentTrace(ExternalId("sessionId", ids[0] if agent else forked), why)
        _take(row.value, self._sessions[ids])

    def traces(self) -> Iterator[Trace | Skipped]:
        return (session.trace() for session in self._sessions.values())


QWEN_CODE = LogSource(
    name="qwen-code",
    signs="rows with a `sessionId` whose `message` has `parts`",
    is_row=_is_row,
    reader=SessionLogs(_SessionRows),
)
"""One trace per session of a file, and one for each of its sub-agents."""
