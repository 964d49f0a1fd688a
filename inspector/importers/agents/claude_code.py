"""Claude Code's sessions: `~/.claude/projects/<folder>/<sessionId>.jsonl`, and the files of sub-agents beside them.

A row is a user's message, one content block of an answer, a failed request or bookkeeping; `sessionId`, `uuid` and
`parentUuid` identify its position. Blocks with the same `message.id` and `requestId` are one answer. Sessions on the
web are one object with the rows as `loglines`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs

from weaklink.inspector.apis.anthropic.messages import CALL_BLOCK, AnthropicUsageShape, read_turns
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import instant, place_of, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row, parse_json_bytes
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, member_at, object_of, objects_of
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    Json,
    ParentTrace,
    ParentWhy,
    Part,
    RecognisedBy,
    RecordedRun,
    Role,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.scanning import lazy_pattern

SOURCE = "claude-code"
"""The name of this source in the runs of tools that it recorded."""

API = "messages"
"""The kind of endpoint that Claude Code uses."""

SYNTHETIC_MODEL = "<synthetic>"
"""The model of answers that Claude Code wrote itself."""

_NOT_STORED = (
    "the source does not store the system prompt, the tools or the chunks of answers",
    "the arguments of calls are stored parsed; their original text is lost",
)

_FACTS = maps.Facts(version="version", branch="gitBranch", started="timestamp")
_CUT = "the source truncated the malformed input of a call"
_REWOUND = "the session was rewound; all branches are included, in the order they were written"
_META_BYTES = 1 << 20
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_NO_FLAGS: frozenset[TurnFlag] = frozenset()
_INJECTED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")

_FILE_BEFORE = "originalFile"  # the whole file before `Edit` or `Write`: not a version of the call or its result
_BLANK_HEAD = lazy_pattern(r"\A(?:[^\S\n]*\n)+")


class PartialClaudeAnswer(Struct):
    """One answer, from the rows that have been read.

    `blocks` are its content, each once in its last version; `was_cut` is True if Claude Code stored only a part of a
    malformed input.
    """

    model: str = ""
    id: str = ""
    blocks: list[Json] = field(default_factory=list)
    stop_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    ended: Instant | None = None
    error: GenerationError | None = None
    flags: frozenset[TurnFlag] = frozenset()
    was_cut: bool = False
    _known: set[tuple[str, str]] = field(default_factory=set)
    _turn: Turn | None = None  # of the rows so far, once it was read

    def take(self, message: JsonObject, at: Json = None) -> None:
        """Add a row's blocks, and the row's facts about the answer; `at` is when it was written."""
        self._turn = None
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else [content or ""]):
            known = _key(block)
            earlier = self._earlier_version(index, block)
            if earlier is not None:
                self.blocks[earlier] = block
            elif known not in self._known:
                self.blocks.append(block)
            self._known.add(known)
            self.was_cut = self.was_cut or _is_cut(block)
        self.model = text_of(message, "model") or self.model
        self.id = text_of(message, "id") or self.id
        self.stop_reason = text_of(message, "stop_reason") or self.stop_reason
        self.usage = usage_of(message.get("usage")) or self.usage
        self.ended = instant(at) or self.ended

    def _earlier_version(self, index: int, block: Json) -> int | None:
        """The position of the block that this one continues, None if it is new.

        Gateways write the same message again while it streams, each time with all that it has so far.
        """
        if not isinstance(block, dict):
            return None
        kind, id_ = text_of(block, "type"), text_of(block, "id")
        if kind == CALL_BLOCK and id_:
            same = (at for at, one in enumerate(self.blocks) if isinstance(one, dict) and one.get("id") == id_)
            return next((at for at in same if block.get("input")), None)
        before = self.blocks[index] if index < len(self.blocks) else None
        if not isinstance(before, dict) or text_of(before, "type") != kind:
            return None
        start = text_of(before, "text", "thinking")
        return index if start and text_of(block, "text", "thinking").startswith(start) else None

    def turn(self) -> Turn:
        """The assistant's turn. One that Claude Code wrote itself has a generation only for a request that failed.

        The text of a failure belongs to the error, not to the model.
        """
        self._turn = self._turn or self._read_turn()
        return self._turn

    def _read_turn(self) -> Turn:
        (turn,) = read_turns({"role": "assistant", "content": list(self.blocks)})
        if self.error:
            return Turn(Role.ASSISTANT, (Part("text", ""),), "assistant", generation=self._failed(), flags=self.flags)
        if self.model == SYNTHETIC_MODEL:
            return structs.replace(turn, flags=self.flags | {TurnFlag.SYNTHETIC})
        raws = dict(self._unparsed())
        parts = tuple(Part(part.name, raws.get(part.name, part.text)) for part in turn.parts)
        return structs.replace(turn, parts=parts, generation=self._generation(), flags=self.flags)

    def _unparsed(self) -> Iterator[tuple[str, str]]:
        """The parts of calls whose input was not JSON, each with its raw text."""
        calls = (block for block in objects_of(self.blocks) if block.get("type") == CALL_BLOCK)
        for index, call in enumerate(calls):
            if isinstance(raw := member_at(call, "input.__unparsedToolInput.raw"), str):
                yield f"call:{index}", raw

    def _generation(self) -> Generation:
        return stored_generation(
            api=API,
            answered_model=self.model,
            ended=self.ended,
            usage=self.usage,
            finish=self.stop_reason,
            response_id=self.id,
        )

    def _failed(self) -> Generation:
        return Generation(api=API, ended=self.ended, error=self.error, body=BodyState.NOT_STORED)


def usage_of(usage: Json) -> Usage | None:
    """Anthropic's token counts; None if there are none that can be read."""
    if not isinstance(usage, dict) or not usage:
        return None
    try:
        return msgspec.convert(usage, AnthropicUsageShape).usage()
    except (msgspec.ValidationError, ValueError):
        return None


def error_of(value: JsonObject, words: str) -> GenerationError:
    """The failed request that a row reports."""
    error = value.get("error")
    inner = object_of(error)
    status = next((one for one in (value.get("apiErrorStatus"), inner.get("status")) if isinstance(one, int)), None)
    code = error if isinstance(error, str) else text_of(inner, "type", "code")
    message = words or text_of(inner, "message") or (compact_json(error) if error else "the request failed")
    return GenerationError(ErrorPhase.HTTP if status else ErrorPhase.TRANSPORT, message, status, code or None)


def content_text(content: Json) -> str:
    """The texts of a message's content, concatenated."""
    return content if isinstance(content, str) else "".join(text_of(block, "text") for block in objects_of(content))


def user_turns(message: Json, flags: frozenset[TurnFlag]) -> Iterator[Turn]:
    """The turns of a user's message: its text, and each result in it."""
    for turn in read_turns({"role": "user", "content": message} if isinstance(message, str) else message):
        read = (
            turn
            if turn.role in (Role.USER, Role.TOOL)
            else structs.replace(turn, role=Role.USER, calls=(), result=None)
        )
        yield structs.replace(read, flags=flags) if flags else read


def with_run(turns: list[Turn], record: Json, at: Json = None) -> list[Turn]:
    """The turns of a row. A single result gets the tool's own return value (`toolUseResult`) as its run."""
    positions = [at for at, turn in enumerate(turns) if turn.role is Role.TOOL and turn.result is not None]
    if len(positions) != 1 or (header := turns[positions[0]].result) is None:
        return turns
    header = structs.replace(header, recorded=read_state(SOURCE, record))
    turns[positions[0]] = structs.replace(turns[positions[0]], result=header)
    is_error = header.is_error is True
    text = _plain_text(record, is_error=is_error) if isinstance(record, str) else returned_text(record)
    own_form: tuple[str, ...] = ()
    if text is None and isinstance(record, dict | list) and record:
        stored = {key: record[key] for key in record if key != _FILE_BEFORE} if isinstance(record, dict) else record
        text, own_form = compact_json(stored), ("result",)
    if text is not None:
        run = RecordedRun(SOURCE, "", header.call_id, None, text, header.is_error, ended=instant(at), own_form=own_form)
        turns[positions[0]] = structs.replace(turns[positions[0]], run=run)
    return turns


def _plain_text(record: str, *, is_error: bool) -> str | None:
    """A record that is a text. For most errors (`User rejected tool use`) the text is Claude Code's, not the tool's."""
    if is_error:
        return record.removeprefix("Error: ") if record.startswith("Error: Exit code ") else None
    return record or None


def returned_text(record: Json) -> str | None:
    """The text from a row's `toolUseResult` that goes to the model unchanged; None if the record has another form.

    Claude Code records each tool in a different form. `Bash` (joined as Claude Code joins it), `Read`, `WebFetch` and
    the text blocks of MCP servers have such a text. For `Edit`, `Write`, `Glob`, `Grep`, `Task` and others the model
    reads a text that Claude Code builds from the record.
    """
    match record:
        case {"isImage": True} | {"backgroundTaskId": str()} | {"interrupted": True}:
            return None
        case {"stdout": str(stdout)} if isinstance(record, dict):
            pieces = (_BLANK_HEAD.sub("", stdout).rstrip(), text_of(record, "stderr").strip())
            return "\n".join(piece for piece in pieces if piece) or None
        case {"type": "text", "file": {"content": str(content)}}:
            return content or None
        case {"url": str(), "code": int(), "result": str(result)}:
            return result or None
        case [_, *_] if all(isinstance(block, dict) and block.get("type") == "text" for block in record):
            return compact_json(record)
    return None


def _key(block: Json) -> tuple[str, str]:
    """What distinguishes a block from the others of its answer: its id or text, or else all of it."""
    if isinstance(block, dict):
        kind, identity = text_of(block, "type"), text_of(block, "id", "text", "thinking")
        if identity and kind in ("text", "thinking", CALL_BLOCK):
            return kind, identity
    return "", compact_json(block)


def _is_cut(block: Json) -> bool:
    match block:
        case {"input": {"__unparsedToolInput": {"raw": str(raw), "len": int(length)}}}:
            return len(raw.encode("utf-16-le", "surrogatepass")) // 2 < length
    return False


def _score(sample: FileSample) -> float:
    """By rows of a session's tree with messages in them, or by the metadata file of a sub-agent."""
    if sample.rows and all(map(_is_agent, sample.rows)):
        return 0.8
    if any(map(_has_message, objects_of(sample.rows[0].get("loglines")) if sample.rows else ())):
        return 0.9
    return 0.9 if any(map(_is_message, sample.rows)) else 0.5 if any(map(_is_bookkeeping, sample.rows)) else 0.0


class _SessionTree:
    """The sessions of a file's rows, in the order of their first rows, and those of their sub-agents."""

    def __init__(self, file: SourceFile, _: int) -> None:
        self._path = file.path
        self._place = place_of(file.path)
        self._sessions: dict[tuple[ExternalId, ...], _ClaudeCodeSession] = {}
        self._roots: dict[str, str] = {}
        self._titles: list[tuple[str, str]] = []

    def add(self, row: Row) -> Iterator[Skipped]:
        for inner in _rows(row):
            if _is_agent(inner.value):
                yield Skipped("file", _belongs_to(self._path), is_irrelevant=True)
            elif title := text_of(inner.value, _TITLES.get(text_of(inner.value, "type"), "")):
                self._titles.append((text_of(inner.value, "leafUuid", "sessionId"), title))
            elif ids := _ids(inner.value, self._roots, self._place):
                if ids not in self._sessions:
                    self._sessions[ids] = _ClaudeCodeSession(inner, ids)
                if why := self._sessions[ids].take(inner.value):
                    yield Skipped(inner.record, why)

    def traces(self) -> Iterator[Trace | Skipped]:
        """The sessions with turns."""
        agent = _agent_beside(self._path)
        return (session.trace(self._titles, agent) for session in self._sessions.values() if session.turns)


def _session_on_the_web(value: JsonObject) -> str | bool:
    """The id of the session that a row is the whole of, True if it names none; `""` for a row of a session."""
    lines = value.get("loglines")
    named = (text_of(line, "sessionId") for line in objects_of(lines))
    return next(filter(None, named), True) if isinstance(lines, list) else ""


def _rows(row: Row) -> Iterator[Row]:
    """The rows of a row: a session of Claude Code on the web is one object with its rows as `loglines`.

    Source: what readers of its sessions API take (simonw/claude-code-transcripts, `parse_session_file`).
    """
    if not isinstance(row.value.get("loglines"), list):
        yield row
        return
    for number, line in enumerate(objects_of(row.value["loglines"]), 1):
        yield Row(row.unit, row.number, line, b"", instance=number)


def _is_message(value: JsonObject) -> bool:
    """Whether a row is a message of a session; Gemini CLI's list of prompts has plain texts as `message`."""
    is_message = _has_message(value) and "sessionId" in value
    return is_message and (isinstance(value["message"], dict) or "uuid" in value)


def _has_message(value: JsonObject) -> bool:
    return text_of(value, "type") in ("user", "assistant") and "message" in value


def _is_bookkeeping(value: JsonObject) -> bool:
    return "sessionId" in value and text_of(value, "type") in ("queue-operation", "system", "attachment", "progress")


def _is_agent(value: JsonObject) -> bool:
    """Whether an object is the metadata of a sub-agent, which Claude Code keeps in `agent-ID.meta.json`."""
    return "agentType" in value and "sessionId" not in value and "message" not in value


def _belongs_to(path: Path) -> str:
    """Why the file `agent-ID.meta.json` contains no trace."""
    rows = path.with_name(path.name.removesuffix(".meta.json") + ".jsonl")
    if rows.is_file():
        return f"it describes the sub-agent whose session is in {rows.name}; that trace uses its name"
    return f"it describes a sub-agent whose session, {rows.name}, is not in the same folder"


def _agent_beside(path: Path) -> str:
    """The sub-agent's name from the file `agent-ID.meta.json` beside `agent-ID.jsonl`, `""` if there is none."""
    if path.suffix != ".jsonl":
        return ""
    try:
        with path.with_suffix(".meta.json").open("rb") as stream:
            value = parse_json_bytes(stream.read(_META_BYTES))
    except (OSError, ValueError):
        return ""
    if not isinstance(value, dict) or not _is_agent(value):
        return ""
    kind, task = text_of(value, "agentType"), text_of(value, "description")
    return f"{kind}: {task}" if kind and task else kind or task


def _ids(value: JsonObject, roots: dict[str, str], place: ExternalId) -> tuple[ExternalId, ...]:
    """The ids of a row's session; empty for a row that belongs to no conversation.

    `roots` are the first rows of sidechains, by the `uuid` of each row before in them.
    """
    if text_of(value, "type") not in ("user", "assistant", "system", "attachment"):
        return ()
    session_id = text_of(value, "sessionId")
    session = ExternalId("sessionId", session_id) if session_id else place
    if value.get("isSidechain") is not True:
        return (session,)
    agent = text_of(value, "agentId")
    if agent:
        return (session, ExternalId("agentId", agent))
    uuid = text_of(value, "uuid")
    roots[uuid] = roots.get(text_of(value, "parentUuid"), uuid)
    return (session, ExternalId("sidechain", roots[uuid]))


class _ClaudeCodeSession:
    """The rows of one agent, in order. Answers are read when all their rows are there."""

    def __init__(self, first: Row, ids: tuple[ExternalId, ...]) -> None:
        self.session = AgentSession(SOURCE, [(id_.name, id_.value) for id_ in ids], first.record, _NOT_STORED)
        self.turns: list[Turn | PartialClaudeAnswer] = []
        self._answers: dict[tuple[str, str], PartialClaudeAnswer] = {}
        self._uuids: set[str] = set()
        self._prompted: set[str] = set()

    def take(self, value: JsonObject) -> str:
        """Add a row. Returns the reason if it cannot be read, else `""`."""
        uuid = text_of(value, "uuid")
        if uuid and uuid in self._uuids:
            return ""
        self._uuids.add(uuid)
        _FACTS(value, self.session)
        self.session.folder = self.session.folder or text_of(value, "cwd")
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

    def trace(self, titles: list[tuple[str, str]], agent: str = "") -> Trace | Skipped:
        """The session as a trace; `agent` is the name of a sub-agent."""
        session, (root, *others) = self.session.so_far(), self.session.ids
        session.turns = read_answers(self.turns)
        own_ids = self._uuids if others else {*self._uuids, root.value}
        title = next((title for leaf, title in reversed(titles) if leaf in own_ids), "")
        session.title = title or (agent if others else "")
        session.model = answering_model(session.turns)
        session.recognised_by = RecognisedBy.FIELD if root.name == "sessionId" else RecognisedBy.FILE
        session.parent = ParentTrace(root, ParentWhy.SUBAGENT) if others else session.parent
        return session.trace()

    def _flags(self, value: JsonObject) -> frozenset[TurnFlag]:
        flags = frozenset({TurnFlag.INJECTED}) if any(value.get(key) is True for key in _INJECTED) else _NO_FLAGS
        forked = value.get("forkedFrom")
        if not isinstance(forked, dict):
            return flags
        if forked_from := text_of(forked, "sessionId"):
            self.session.parent = ParentTrace(ExternalId("sessionId", forked_from), ParentWhy.FORK)
        return flags | {TurnFlag.COPIED_CONTEXT}

    def _answer(self, value: JsonObject, flags: frozenset[TurnFlag]) -> str:
        message = value.get("message")
        if isinstance(message, str):
            message = JsonObject(content=message)
        if not isinstance(message, dict):
            return "the row's `message` is not an object"
        key = text_of(message, "id"), text_of(value, "requestId")
        answer = self._answers.get(key)
        if answer is None:
            answer = PartialClaudeAnswer(flags=flags)
            self.turns.append(answer)
            if key[0]:
                self._answers[key] = answer
        answer.take(message, value.get("timestamp"))
        if value.get("isApiErrorMessage") is True and answer.model in ("", SYNTHETIC_MODEL):
            answer.error = error_of(value, content_text(message.get("content")))
        if answer.was_cut:
            self.session.notes[_CUT] = None
        return ""

    def _prompt(self, value: JsonObject, flags: frozenset[TurnFlag]) -> str:
        message = value.get("message")
        if not isinstance(message, dict | str):
            return "the row's `message` is neither an object nor a string"
        turns = with_run(list(user_turns(message, flags)), value.get("toolUseResult"), value.get("timestamp"))
        if value.get("isCompactSummary") is True and turns:
            turns[0] = structs.replace(turns[0], summarises=len(self.turns))
        self.turns += turns
        parent = text_of(value, "parentUuid")
        if parent and not flags and any(turn.role is Role.USER for turn in turns):
            if parent in self._prompted:
                self.session.notes[_REWOUND] = None
            self._prompted.add(parent)
        return ""

    def _attachment(self, attachment: Json, flags: frozenset[TurnFlag]) -> None:
        """Add what a user typed while the agent worked. Of other attachments the request contains only the kind."""
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            self.turns += user_turns({"role": "user", "content": attachment.get("prompt")}, flags)


def read_answers(turns: Iterable[Turn | PartialClaudeAnswer]) -> list[Turn]:
    """The turns, with the answers as they are from the rows so far."""
    return [turn if isinstance(turn, Turn) else turn.turn() for turn in turns]


def answering_model(turns: Iterable[Turn]) -> str:
    """The first model that answered."""
    models = (turn.generation.answered_model for turn in turns if turn.generation)
    return next(filter(None, models), "")


CLAUDE_CODE = LogSource(
    name=SOURCE,
    signs="rows with a `sessionId` and a `type`, such as messages",
    score=_score,
    reader=SessionLogs(_SessionTree, _session_on_the_web),
)
"""One trace per session, in the order of their first rows, and per sub-agent; all rows are held, within a bound."""
