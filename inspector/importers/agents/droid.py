"""Sessions of Droid (Factory) and threads of Amp: Anthropic's blocks, in lines and in one object.

Droid: `session_start`, then `message`s. Amp: an object with `messages`, whose results are `run`s with a status. Source:
files of both in the tests of other readers; nothing of the producers.
"""

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, SessionIds
from weaklink.inspector.importers.agents.session_logs import sessions_in_rows
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import text_or_json

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the system prompt, the tools nor chunks")
_NO_USAGE = "the source stores the model and the usage in another file, per session"


def _session_id(row: JsonObject) -> str:
    return text_of(row, "id") if row.get("type") == "session_start" else ""


def _begun(row: Row, ids: SessionIds) -> AgentSession:
    named = _session_id(row.value)
    return AgentSession("droid", (("session_id", named),) if named else ids, row.record, (*_NOTES, _NO_USAGE))


def _thread_facts(thread: JsonObject, session: AgentSession) -> None:
    session.version = str(thread.get("v", ""))
    trees = maps.objects_at(thread, "env.initial.trees[]")
    session.folder = text_of(trees[0], "uri").removeprefix("file://") if trees else ""


def _run(block: JsonObject, session: AgentSession) -> None:
    result = maps.value_at(block, "run.result")
    _RUN(block, session, content=text_or_json(result) or None)


_RUN = maps.Result(
    "toolUseID tool_use_id",
    "run.error.message",
    is_error="run.status",
    states={"done": False, "error": True, "cancelled": True, "rejected-by-user": True},
    may_be_pending=True,  # it never ended
    recorded="run.result",
)

DROID = LogSource(
    name="droid",
    signs="a row `session_start` with a `cwd`, then rows `message`",
    is_row=lambda row: "cwd" in row and _session_id(row),
    reader=sessions_in_rows(
        _session_id,
        _begun,
        maps.kinds(
            "type",
            {
                "session_start": maps.Facts(title="title", folder="cwd"),
                "compaction_state": maps.summary("summary"),
                "message": maps.in_order(
                    maps.Facts(started="timestamp"),
                    maps.anthropic_message("message", ended="timestamp"),
                ),
            },
        ),
    ),
)
"""One trace per session."""

AMP = LogSource(
    name="amp",
    signs="an `id` that begins with `T-`, a number `v` and `messages`",
    is_row=lambda row: text_of(row, "id").startswith("T-") and "v" in row and "messages" in row,
    reader=maps.Documents(
        "amp",
        _NOTES,
        {"thread_id": "id"},
        maps.in_order(
            maps.Facts(title="title", started="created"),
            _thread_facts,
            maps.each(
                "messages[]",
                maps.anthropic_message(
                    model="usage.model",
                    usage=maps.Counts("usage.totalInputTokens", "usage.outputTokens", "usage.cacheReadInputTokens"),
                    ended="usage.timestamp",
                    result=lambda block, session: (_run if "run" in block else maps.ANTHROPIC_RESULT)(block, session),
                ),
            ),
        ),
    ),
)
"""One trace per thread."""
