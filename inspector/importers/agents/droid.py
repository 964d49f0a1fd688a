"""Sessions of Droid (Factory) and threads of Amp: Anthropic's blocks, in lines and in one object.

Droid: `session_start`, then `message`s. Amp: an object with `messages`, whose results are `run`s with a status. Source:
files of both in the tests of other readers; nothing of the producers.
"""

from functools import partial

from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, SessionIds, session_of_each_row
from weaklink.inspector.importers.agents.session_logs import sessions_in_rows
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import object_of, text_or_json

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the system prompt, the tools nor chunks")
_NO_USAGE = "the source stores the model and the usage in another file, per session"
_FACTS = maps.Facts(title="title", folder="cwd")
_ANSWER = maps.anthropic_answer(ended="timestamp")
_AMP_FACTS = maps.Facts(title="title", started="created")
_AMP_ANSWER = maps.anthropic_answer(
    model="usage.model",
    usage=maps.TokenCounts("usage.totalInputTokens", "usage.outputTokens", "usage.cacheReadInputTokens"),
    ended="usage.timestamp",
)
_RUN = maps.Result(
    *("toolUseID tool_use_id", "words run.error.message"),
    is_error="run.status",
    states={"done": False, "error": True, "cancelled": True, "rejected-by-user": True},
    may_be_pending=True,  # it never ended
)


def _session_id(row: JsonObject) -> str:
    return text_of(row, "id") if row.get("type") == "session_start" else ""


def _begun(row: Row, ids: SessionIds) -> AgentSession:
    named = _session_id(row.value)
    return AgentSession("droid", (("session_id", named),) if named else ids, row.record, (*_NOTES, _NO_USAGE))


def _take(row: JsonObject, session: AgentSession) -> None:
    match text_of(row, "type"):
        case "session_start":
            _FACTS(row, session)
        case "compaction_state":
            session.summary(text_of(row, "summary"))
        case "message":
            session.began(row.get("timestamp"))
            _message({**object_of(row.get("message")), "timestamp": row.get("timestamp")}, session, _ANSWER)


def _message(message: JsonObject, session: AgentSession, answer: maps.Answer) -> None:
    if message.get("role") == "assistant":
        answer(message, session)
        return
    for block in maps.objects_at(message, "content[tool_result]"):
        if "run" in block:
            _RUN({**block, "words": text_or_json(maps.value_at(block, "run.result"))}, session)
        else:
            maps.ANTHROPIC_RESULT(block, session)
    session.say("user", maps.words_at(message, "content[text].text"))


def _thread(value: JsonObject, record: str) -> AgentSession:
    session = AgentSession("amp", (("thread_id", text_of(value, "id")),), record, _NOTES)
    _AMP_FACTS(value, session)
    session.version = str(value.get("v", ""))
    trees = maps.objects_at(value, "env.initial.trees[]")
    session.folder = text_of(trees[0], "uri").removeprefix("file://") if trees else ""
    for message in maps.objects_at(value, "messages[]"):
        _message(message, session, _AMP_ANSWER)
    return session


DROID = LogSource(
    name="droid",
    signs="a row `session_start` with a `cwd`, then rows `message`",
    is_row=lambda row: "cwd" in row and _session_id(row),
    reader=sessions_in_rows(_session_id, _begun, _take),
)
"""One trace per session."""

AMP = LogSource(
    name="amp",
    signs="an `id` that begins with `T-`, a number `v` and `messages`",
    is_row=lambda row: text_of(row, "id").startswith("T-") and "v" in row and "messages" in row,
    reader=partial(session_of_each_row, session=_thread),
)
"""One trace per thread."""
