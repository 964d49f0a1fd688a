"""The entries of Pi's core, of which Pi writes lines and OpenClaw rows of a table: a tree of them makes sessions.

Source: IMPORTS of Pi 0.74 and 1.6 (`session-format.md`, `message-types.md` of its package).
"""

from collections.abc import Iterator

from weaklink.inspector.apis.openai.messages import call_object, read_tools
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure
from weaklink.inspector.importers.generations import PARSED_ARGUMENTS
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import ExternalId, GenerationError, Json, ParentTrace, ParentWhy

_NOTES = (
    PARSED_ARGUMENTS,
    "the source does not store chunks; versions before 1 store neither the system prompt nor the tools",
)
_FACTS = maps.Facts(folder="cwd", started="timestamp")


def entry_branches(entries: list[Row]) -> Iterator[tuple[list[Row], int]]:
    """The paths from a root to each leaf that is a message, the last line's first; and how much the first shares.

    Where entries have a parent that is not in the file (its line cannot be read), they go on from the entry before the
    first of them.
    """
    known = {text_of(row.value, "id"): row for row in entries if text_of(row.value, "id")}
    if not known:
        yield from [(entries, 0)] if entries else []
        return
    parents: dict[str, str] = {}
    before = ""
    instead_of = {"": ""}
    for key, row in known.items():
        named = text_of(row.value, "parentId")
        parents[key] = named if named in known else instead_of.setdefault(named, before)
        before = key
    above = frozenset(parents.values())
    leaves = [key for key in known if key not in above]
    last = next(key for row in reversed(entries) if (key := text_of(row.value, "id")))
    main = _path(last, parents)
    yield [known[key] for key in main], 0
    on_main = frozenset(main)
    for leaf in leaves:
        branch = _path(leaf, parents)
        shared = sum(key in on_main for key in branch)
        if any(known[key].value.get("type") == "message" for key in branch[shared:]):
            yield [known[key] for key in branch], shared


def _path(leaf: str, parents: dict[str, str]) -> list[str]:
    """The ids from a root to this one."""
    path: dict[str, None] = {}
    while leaf and leaf not in path:
        path[leaf] = None
        leaf = parents[leaf]
    return list(path)[::-1]


def branch_session(header: JsonObject, branch: list[Row], shared: int) -> AgentSession:
    """A branch as a session; the first `shared` entries are also those of the main one."""
    return branch_entries(header, branch, shared).session


def branch_entries(header: JsonObject, branch: list[Row], shared: int) -> "BranchEntries":
    """The same, to which further entries can be added."""
    own = text_of(branch[shared].value, "id") if shared else ""
    session = AgentSession("pi", (("session_id", text_of(header, "id")), ("entry", own)), branch[shared].record, _NOTES)
    _FACTS(header, session)
    session.version = str(header.get("version", 1))
    if shared:
        session.parent = ParentTrace(session.ids[0], ParentWhy.FORK)
    elif parent := text_of(header, "parentSession"):
        session.parent = _parent(parent)
    entries = BranchEntries(session)
    for number, row in enumerate(branch):
        entries.add(row)
        if number + 1 == shared:
            session.copied()
    return entries


class BranchEntries:
    """The entries of a branch, in order, as the turns of its session."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.rows: list[Row] = []
        self._turns_before: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """Add the next entry."""
        count = len(self.session.turns)
        self._turns_before[text_of(row.value, "id")] = count
        kept_from = self._turns_before.get(text_of(row.value, "firstKeptEntryId"), count)
        _take(row.value, self.session, kept=count - kept_from)
        self.rows.append(row)


def _parent(path: str) -> ParentTrace:
    """The session that this one was forked from: the file's name ends with its id."""
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl")
    return ParentTrace(ExternalId("session_id", name.rpartition("_")[2]), ParentWhy.FORK)


def _take(entry: JsonObject, session: AgentSession, *, kept: int) -> None:
    message = object_of(entry.get("message"))
    match entry.get("type"):
        case "session_info":
            session.title = text_of(entry, "name") or session.title
        case "compaction":
            session.summary(text_of(entry, "summary"), kept=kept)
        case "branch_summary":
            session.say("user", text_of(entry, "summary"), is_injected=True)
        case "custom_message":
            session.say("user", entry.get("content"), is_injected=True)
        case "message":
            _message(message, entry.get("timestamp"), session)


def _message(message: JsonObject, at: Json, session: AgentSession) -> None:
    match message.get("role"):
        case "system":
            sections = (text for text in object_of(message.get("sections")).values() if isinstance(text, str))
            session.say("system", "\n\n".join(filter(None, (text_of(message, "content"), *sections))))
            session.tools = (*session.tools, *read_tools(message.get("toolsAdded")))
        case "user":
            session.say("user", message.get("content"))
        case "custom" | "hookMessage":
            session.say("user", message.get("content"), is_injected=True)
        case "assistant":
            _ANSWER({**message, "timestamp": at}, session)
        case "toolResult":
            _RESULT(message, session)
        case "bashExecution":  # the user's own command, which the model reads
            words = f"$ {text_of(message, 'command')}\n{text_of(message, 'output')}"
            if message.get("excludeFromContext") is not True:
                session.say("user", words, is_injected=True)


def _error(message: JsonObject) -> GenerationError | None:
    reason = text_of(message, "stopReason")
    words = text_of(message, "errorMessage") or reason
    return failure(words, code=reason) if reason in ("error", "aborted") else None


def _calls(message: JsonObject) -> list[JsonObject]:
    """The calls; where Pi could not parse the arguments, the raw text that its note quotes."""
    blocks = maps.objects_at(message, "content[toolCall]")
    raws = (maps.words_at(block, "argumentsError.raw argumentsError.text argumentsError.input") for block in blocks)
    return [
        call_object(block.get("name"), raw or block.get("arguments"), block.get("id"))
        for raw, block in zip(raws, blocks, strict=True)
    ]


_ANSWER = maps.Answer(
    content="content[text].text",
    reasoning="content[].thinking",
    calls=_calls,
    model="responseModel model",
    usage=maps.TokenCounts("usage.input", "usage.output", cached="usage.cacheRead", reasoning="usage.reasoning"),
    ended="timestamp",
    finish="stopReason",
    response_id="responseId",
    error=_error,
)
_RESULT = maps.Result("toolCallId", "content", name="toolName", is_error="isError", otherwise=False)
