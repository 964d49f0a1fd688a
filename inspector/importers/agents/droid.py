"""Sessions of Droid (Factory) and threads of Amp: Anthropic's blocks, in lines and in one object.

Droid: `session_start`, then `message`s. Amp: an object with `messages`, whose results are `run`s with a status. Source:
files of both in the tests of other readers; nothing of the producers.
"""

from functools import partial

from weaklink.inspector.importers.agents.agent_session import (
    AgentSession,
    SessionIds,
    blocks_of,
    of_type,
    session_of_each_row,
    text_blocks,
)
from weaklink.inspector.importers.agents.session_logs import sessions_in_rows
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS, usage_of
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import flag_of, object_of, objects_of, text_or_json

_NOTES = (PARSED_ARGUMENTS, "the source stores neither the system prompt, the tools nor chunks")
_NO_USAGE = "the source stores the model and the usage in another file, per session"
_ENDED = {"done": False, "error": True, "cancelled": True, "rejected-by-user": True}


def _session_id(row: JsonObject) -> str:
    return text_of(row, "id") if row.get("type") == "session_start" else ""


def _begun(row: Row, ids: SessionIds) -> AgentSession:
    named = _session_id(row.value)
    return AgentSession("droid", (("session_id", named),) if named else ids, row.record, (*_NOTES, _NO_USAGE))


def _take(row: JsonObject, session: AgentSession) -> None:
    message = object_of(row.get("message"))
    match text_of(row, "type"):
        case "session_start":
            session.take_facts(row, title="title", folder="cwd")
        case "compaction_state":
            session.summary(text_of(row, "summary"))
        case "message":
            session.began(row.get("timestamp"))
            blocks = blocks_of(message.get("content"))
            if message.get("role") == "assistant":
                session.answer_of_blocks(blocks, "", None, row.get("timestamp"))
            else:
                _prompt(blocks, session)


def _prompt(blocks: list[JsonObject], session: AgentSession) -> None:
    for block in of_type(blocks, "tool_result"):
        session.result(text_of(block, "tool_use_id"), block.get("content"), is_error=flag_of(block.get("is_error")))
    session.say("user", text_blocks(blocks))


def _thread(value: JsonObject, record: str) -> AgentSession:
    session = AgentSession("amp", (("thread_id", text_of(value, "id")),), record, _NOTES)
    session.take_facts(value, title="title", started="created")
    session.version = str(value.get("v", ""))
    trees = objects_of(object_of(object_of(value.get("env")).get("initial")).get("trees"))
    session.folder = text_of(trees[0], "uri").removeprefix("file://") if trees else ""
    for message in objects_of(value.get("messages")):
        blocks = blocks_of(message.get("content"))
        if message.get("role") == "assistant":
            counts = object_of(message.get("usage"))
            usage = usage_of(counts, "totalInputTokens", "outputTokens", cached="cacheReadInputTokens")
            session.answer_of_blocks(blocks, text_of(counts, "model"), usage, counts.get("timestamp"))
            continue
        for block in of_type(blocks, "tool_result"):
            if "run" in block:
                _run(block, object_of(block["run"]), session)
        _prompt([block for block in blocks if "run" not in block], session)
    return session


def _run(block: JsonObject, run: JsonObject, session: AgentSession) -> None:
    failed = _ENDED.get(text_of(run, "status"))
    if failed is None:  # it never ended
        return
    result = run.get("result")
    words = text_or_json(result)
    call_id = text_of(block, "toolUseID", "tool_use_id")
    recorded = object_of(result)
    session.result(
        call_id, words or text_of(object_of(run.get("error")), "message"), is_error=failed, recorded=recorded
    )


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
