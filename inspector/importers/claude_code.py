"""Claude Code's sessions: `~/.claude/projects/<folder>/<sessionId>.jsonl`, and its sub-agents' files beside them.

A row is a user's message, a content block of an answer, a failed request or bookkeeping; `sessionId`, `uuid` and
`parentUuid` say where it belongs. Rows with `isSidechain` are a sub-agent's, a session of its own whose parent is the
session that started it: that of its `agentId`, or, in older files, of the sidechain's first row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from inspector.importers.claude_code_turns import (
    SYNTHETIC_MODEL,
    PartialClaudeAnswer,
    error_of,
    user_turns,
    words_of,
)
from inspector.importers.identity import instant, place_of, text_of
from inspector.importers.rows import Row, parse_json, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.importers.titles import first_words, project_of
from inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, held_memory
from inspector.model import (
    ExternalId,
    Instant,
    Json,
    ParentTrace,
    ParentWhy,
    Provenance,
    RecognisedBy,
    Role,
    Trace,
    Turn,
    TurnFlag,
)

_NOT_STORED = (
    "the source keeps neither the system prompt nor the tools, nor the chunks of an answer",
    "the arguments of calls are kept parsed; their text was written anew",
)
_CUT = "a malformed input of a call was cut by the source"
_REWOUND = "the session was rewound; every branch of it stands here, in the order in which it was written"
_META_BYTES = 1 << 20
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_INJECTED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")


class ClaudeCodeImporter:
    """One trace a session, and one for each of its sub-agents whose rows are in the file."""

    name = "claude-code"
    signs = "rows with a `sessionId` and a `type`, and messages of a session's tree"

    def recognises(self, sample: Sample) -> float:
        """By rows of a session's tree with messages in them, or by what is kept beside those of a sub-agent."""
        if sample.rows and all(map(_is_agent, sample.rows)):
            return 0.8
        return 0.9 if any(map(_is_message, sample.rows)) else 0.5 if any(map(_is_bookkeeping, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The sessions in the order of their first rows; all of a file's are in memory, within a bound."""
        agent = _agent_beside(file.path)
        sessions: dict[tuple[ExternalId, ...], _ClaudeCodeSession] = {}
        chains = _Sidechains()
        titles: list[tuple[str, str]] = []
        left = RECORD_MEMORY
        for row in read_rows(file):
            if isinstance(row, Skipped):
                yield row
                continue
            if _is_agent(row.value):  # it belongs to the session in the file beside it
                continue
            left -= held_memory(row.raw)
            if left < 0:
                yield Skipped(row.record, TOO_MANY_ROWS)
                break
            if title := text_of(row.value, _TITLES.get(text_of(row.value, "type"), "")):
                titles.append((text_of(row.value, "leafUuid", "sessionId"), title))
                continue
            ids = _ids(row.value, chains, place_of(file.path))
            why = sessions.setdefault(ids, _ClaudeCodeSession(row)).take(row.value) if ids else ""
            if why:
                yield Skipped(row.record, why)
        for ids, session in sessions.items():
            if session.turns:
                yield session.trace(ids, titles, agent)


def _is_message(value: JsonObject) -> bool:
    return text_of(value, "type") in ("user", "assistant") and "sessionId" in value and "message" in value


def _is_bookkeeping(value: JsonObject) -> bool:
    return "sessionId" in value and text_of(value, "type") in ("queue-operation", "system", "attachment", "progress")


def _is_agent(value: JsonObject) -> bool:
    """Whether an object is what Claude Code keeps of a sub-agent beside its rows (`agent-ID.meta.json`)."""
    return "agentType" in value and "sessionId" not in value and "message" not in value


def _agent_beside(path: Path) -> str:
    """What the file `agent-ID.meta.json` beside `agent-ID.jsonl` calls the sub-agent, `""` where there is none."""
    if path.suffix != ".jsonl":
        return ""
    try:
        with path.with_suffix(".meta.json").open("rb") as stream:
            value = parse_json(stream.read(_META_BYTES))
    except (OSError, ValueError):
        return ""
    if not isinstance(value, dict) or not _is_agent(value):
        return ""
    kind, task = text_of(value, "agentType"), text_of(value, "description")
    return f"{kind}: {task}" if kind and task else kind or task


class _Sidechains:
    """Finds the first row of a sidechain from any of its rows."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}

    def root(self, value: JsonObject) -> str:
        """The `uuid` of the first row of the sidechain that a row belongs to."""
        uuid = text_of(value, "uuid")
        root = self._roots.get(text_of(value, "parentUuid"), uuid)
        self._roots[uuid] = root
        return root


def _ids(value: JsonObject, chains: _Sidechains, place: ExternalId) -> tuple[ExternalId, ...]:
    """The ids of a row's session; none for a row that belongs to no conversation."""
    if text_of(value, "type") not in ("user", "assistant", "system", "attachment"):
        return ()
    named = text_of(value, "sessionId")
    session = ExternalId("sessionId", named) if named else place
    if value.get("isSidechain") is not True:
        return (session,)
    agent = text_of(value, "agentId")
    return (session, ExternalId("agentId", agent) if agent else ExternalId("sidechain", chains.root(value)))


@dataclass(slots=True)
class _ClaudeCodeSession:
    """The rows of one agent, in order."""

    first: Row
    turns: list[Turn | PartialClaudeAnswer] = field(default_factory=list)
    answers: dict[tuple[str, str], PartialClaudeAnswer] = field(default_factory=dict)
    uuids: set[str] = field(default_factory=set)
    prompted: set[str] = field(default_factory=set)
    warnings: dict[str, None] = field(default_factory=lambda: dict.fromkeys(_NOT_STORED))
    forked_from: str = ""
    started: Instant | None = None
    version: str = ""
    folder: str = ""
    branch: str = ""

    def take(self, value: JsonObject) -> str:
        """Add a row; why it cannot be read comes back, `""` where it could."""
        uuid = text_of(value, "uuid")
        if uuid and uuid in self.uuids:
            return ""
        self.uuids.add(uuid)
        self.started = self.started or instant(value.get("timestamp"))
        self.version = text_of(value, "version") or self.version
        self.folder = self.folder or text_of(value, "cwd")
        self.branch = text_of(value, "gitBranch") or self.branch
        flags = self._flags(value)
        match text_of(value, "type"):
            case "assistant":
                return self._answer(value, flags)
            case "user":
                return self._prompt(value, flags)
            case "system" if value.get("subtype") == "api_error":
                self.turns.append(
                    PartialClaudeAnswer(ended=instant(value.get("timestamp")), error=error_of(value, ""), flags=flags)
                )
            case "attachment":
                self._attachment(value.get("attachment"), flags)
        return ""

    def trace(self, ids: tuple[ExternalId, ...], titles: list[tuple[str, str]], agent: str = "") -> Trace:
        """The session as a trace; `agent` is what a sub-agent is called."""
        turns = tuple(turn.turn() if isinstance(turn, PartialClaudeAnswer) else turn for turn in self.turns)
        models = [turn.generation.answered_model for turn in turns if turn.generation]
        ours = self.uuids | {ids[0].value} if len(ids) == 1 else self.uuids
        title = next((title for leaf, title in reversed(titles) if leaf in ours), "")
        session = ids[0]
        return Trace(
            turns=turns,
            name=title or (agent if len(ids) > 1 else "") or first_words(turns),
            model=next((model for model in models if model), ""),
            started=self.started,
            external_ids=ids,
            recognised_by=RecognisedBy.FIELD if session.name == "sessionId" else RecognisedBy.FILE,
            parent=self._parent(ids),
            provenance=Provenance(source_version=self.version, record=self.first.record, warnings=tuple(self.warnings)),
            project=project_of(self.folder),
            branch=self.branch,
        )

    def _flags(self, value: JsonObject) -> frozenset[TurnFlag]:
        injected = any(value.get(key) is True for key in _INJECTED)
        forked = value.get("forkedFrom")
        if isinstance(forked, dict):
            self.forked_from = text_of(forked, "sessionId") or self.forked_from
        flags = ((TurnFlag.INJECTED, injected), (TurnFlag.COPIED_CONTEXT, isinstance(forked, dict)))
        return frozenset(flag for flag, holds in flags if holds)

    def _answer(self, value: JsonObject, flags: frozenset[TurnFlag]) -> str:
        message = value.get("message")
        if isinstance(message, str):
            message = JsonObject(content=message)
        if not isinstance(message, dict):
            return "the row's `message` is no object"
        key = text_of(message, "id"), text_of(value, "requestId")
        answer = self.answers.get(key)
        if answer is None:
            answer = PartialClaudeAnswer(flags=flags)
            self.turns.append(answer)
            if key[0]:
                self.answers[key] = answer
        answer.take(message, value.get("timestamp"))
        if value.get("isApiErrorMessage") is True and answer.model in ("", SYNTHETIC_MODEL):
            answer.error = error_of(value, words_of(message.get("content")))
        if answer.was_cut:
            self.warnings[_CUT] = None
        return ""

    def _prompt(self, value: JsonObject, flags: frozenset[TurnFlag]) -> str:
        message = value.get("message")
        if not isinstance(message, dict | str):
            return "the row's `message` is neither an object nor a text"
        turns = list(user_turns(message, flags))
        self.turns += turns
        parent = text_of(value, "parentUuid")
        if parent and not flags and any(turn.role is Role.USER for turn in turns):
            if parent in self.prompted:
                self.warnings[_REWOUND] = None
            self.prompted.add(parent)
        return ""

    def _attachment(self, attachment: Json, flags: frozenset[TurnFlag]) -> None:
        """Words that a user typed while the agent worked; of other attachments only their kinds are in the request."""
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            self.turns += user_turns({"role": "user", "content": attachment.get("prompt")}, flags)

    def _parent(self, ids: tuple[ExternalId, ...]) -> ParentTrace | None:
        if len(ids) > 1:
            return ParentTrace(ids[0], ParentWhy.SUBAGENT)
        return ParentTrace(ExternalId("sessionId", self.forked_from), ParentWhy.FORK) if self.forked_from else None
