"""Codex's rollouts: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

A row is `{"timestamp", "type", "payload"}`; the first is the `session_meta`. Files from before October 2025 have no
such envelope. Items (`response_item`) become turns. Events (`event_msg`) only add usage, failures, the end of tasks,
and the commands and MCP tools that ran with their own results, and prompts that no item has.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.apis.openai.responses import API, read_responses_request
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, copied, ids_of
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.identity import instant, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import compact_json, member_at, object_of, objects_of, text_or_json, window_of_tokens
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    Part,
    RecognisedBy,
    RecordedRun,
    RecordedState,
    ResultHeader,
    Role,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.scanning import lazy_pattern

_NOT_STORED = "the source does not store the tools, the chunks of answers or answers that did not end"
_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
# The kinds of items, beside the assistant's messages, that an answer consists of.
_ANSWERS = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_WRITTEN_BY_CODEX = lazy_pattern(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|subagent_notification|skill|model_switch)>"
    r"|# AGENTS\.md instructions)"
)

_SOURCE = "codex"
_FACTS = maps.Facts(version="cli_version", started="timestamp")

# openai/codex, codex-rs/rollout, sanitize_rollout_item_for_persistence: a command's output is written with at most
# 10,000 bytes, without the middle.
_CUT_BYTES = 10_000
_CUT = lazy_pattern(r"…\d+ (?:chars|tokens|bytes|lines) truncated…|\[\.\.\. omitted \d+")
_STILL_RUNNING = lazy_pattern(r"Process running with session ID")

_INJECTED = frozenset({TurnFlag.INJECTED})

# Kinds of failures that Codex records without a status, although the server sent them: openai/codex, CodexErrorInfo.
_SERVER_ERRORS = frozenset(
    {
        "bad_request",
        "context_window_exceeded",
        "internal_server_error",
        "server_overloaded",
        "unauthorized",
        "usage_limit_exceeded",
    }
)

_UNKNOWN_FORK = (
    "the source does not store where the copied history of a fork ends; its answers count as part of this session"
)


def _score(sample: FileSample) -> float:
    """By a head without Codex's envelope, followed by items."""
    has_head = any(map(_is_bare_head, sample.rows[:2]))
    return 0.8 if has_head and any(map(_is_item, sample.rows)) else 0.0


def _is_enveloped(value: JsonObject) -> bool:
    return text_of(value, "type") in _TYPES and isinstance(value.get("payload"), dict)


def _is_bare_head(value: JsonObject) -> bool:
    return {"id", "timestamp"} <= value.keys() and "type" not in value


def _begun_session(value: JsonObject) -> str | bool:
    """The id of the session whose head a row is, True if the head has none; `""` for any other row."""
    if _is_bare_head(value):
        return text_of(value, "id")
    is_head = value.get("type") == "session_meta" and isinstance(value.get("payload"), dict)
    return (text_at(value, "payload.id") or True) if is_head else ""


class _CodexSession:
    """One rollout: its head, and its rows as they are read. A fork repeats the heads of those that it continues."""

    def __init__(self, file: SourceFile, number: int) -> None:
        self.continued: set[str] = set()  # its own id, and those of the sessions whose rows it repeats
        self._session = AgentSession(_SOURCE, ids_of("", file, number), "", (_NOT_STORED,))
        self._session.recognised_by = RecognisedBy.FILE
        self._has_head = False
        self._rollout = _Rollout()

    def add(self, row: Row) -> Iterator[Skipped]:
        value = row.value
        kind, payload = text_of(value, "type"), value.get("payload")
        self._session.record = self._session.record or row.record
        if _is_item(value):
            self._rollout.take_item(value, value.get("timestamp"))
        elif _is_bare_head(value):
            self._begin(value)
        elif isinstance(payload, dict):
            self._take(kind, payload, value.get("timestamp"))
        elif kind in _TYPES:
            yield Skipped(row.record, "the row's `payload` is not an object")

    def _take(self, kind: str, payload: JsonObject, at: Json) -> None:
        match kind:
            case "session_meta":
                self._begin(payload)
            case "response_item":
                self._rollout.take_item(payload, at)
            case "event_msg":
                self._rollout.take_event(payload, at)
            case "turn_context":
                self._rollout.model = text_of(payload, "model") or self._rollout.model
            case "compacted":
                self._rollout.take_compaction(payload)

    def traces(self) -> Iterator[Trace | Skipped]:
        """The session as a trace; empty if it has no turns."""
        session = self._session.so_far()
        session.turns = self._rollout.turns()
        models = (turn.generation.requested_model for turn in session.turns if turn.generation)
        session.model = next(filter(None, models), self._rollout.model)
        session.outcome = self._rollout.outcome
        session.notes |= dict.fromkeys(self._rollout.notes)
        if session.turns:
            yield session.trace()

    def _begin(self, head: JsonObject) -> None:
        named, parent = text_of(head, "id"), _parent(head)
        self.continued |= {named, *((parent.external_id.value,) if parent else ())}
        if self._has_head:
            return  # the head of a session that this one was forked from, or the same one again
        self._has_head = True
        if named:
            self._session.ids, self._session.recognised_by = (ExternalId("id", named),), RecognisedBy.FIELD
        self._session.parent = parent
        _FACTS(head, self._session)
        if parent and self._session.started:
            self._rollout.forked_at_s = self._session.started.at_s
        self._rollout.take_instructions(_instructions(head.get("base_instructions", head.get("instructions"))))


def _parent(head: JsonObject) -> ParentTrace | None:
    if starter := text_at(head, "source.subagent.thread_spawn.parent_thread_id", "parent_thread_id"):
        return ParentTrace(ExternalId("id", starter), ParentWhy.SUBAGENT)
    forked = text_of(head, "forked_from_id")
    return ParentTrace(ExternalId("id", forked), ParentWhy.FORK) if forked else None


class _CodexAnswer(Struct):
    """Items of one answer."""

    model: str
    window: int | None
    items: list[Json] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    ended: Json = None
    _known: tuple[tuple[object, ...], Turn] | None = None  # the turn, and what it was read from

    def turn(self) -> Turn:
        """The assistant's turn, from the items so far; the same object if nothing was added."""
        facts = (len(self.items), self.usage, self.ended, self.window)
        if self._known is None or self._known[0] != facts:
            self._known = facts, self._read_turn()
        return self._known[1]

    def _read_turn(self) -> Turn:
        (turn,) = read_responses_request({"input": list(self.items)}).turns
        generation = Generation(
            api=API,
            requested_model=self.model,
            usage=self.usage,
            ended=instant(self.ended),
            context_window=self.window,
        )
        return structs.replace(turn, generation=generation)


@memoized
def _with_run(turn: Turn, state: RecordedState | None, run: RecordedRun | None) -> Turn:
    if state is not None and turn.result is not None:
        turn = structs.replace(turn, result=structs.replace(turn.result, recorded=state))
    if run is None:
        return turn
    text = turn.part("text")
    if text is not None and _STILL_RUNNING.search(text.text):  # the model read the output up to that time
        run = structs.replace(run, own_form=(*run.own_form, "result"))
    return structs.replace(turn, run=run)


class _Rollout(Struct):
    """The rows of one session, in order. `forked_at_s` is when it was forked from another, None if it was not."""

    forked_at_s: float | None = None
    model: str = ""
    outcome: Outcome | None = None
    _window: int | None = None
    _turns: list[Turn | _CodexAnswer] = field(default_factory=list)
    _open: _CodexAnswer | None = None
    _last: _CodexAnswer | None = None
    _counted: Json = None
    _counts_first: bool | None = None
    _usage_of_next: Usage = field(default_factory=Usage)
    _has_failed: bool = False
    _copied: int | None = None
    _runs: dict[str, RecordedRun] = field(default_factory=dict)
    _states: dict[str, RecordedState] = field(default_factory=dict)
    _event_prompts: dict[str, int] = field(default_factory=dict)

    def take_instructions(self, text: str) -> None:
        """Add the system prompt."""
        if text and not self._turns:
            self._turns.append(Turn(Role.SYSTEM, (Part("text", text),), "instructions"))

    def take_item(self, item: JsonObject, at: Json) -> None:
        """Add a `response_item`, written at this time."""
        kind = text_of(item, "type") or "message"
        if kind in _ANSWERS or (kind == "message" and item.get("role") == "assistant"):
            if self._open is None:
                self._open = self._last = _CodexAnswer(self.model, self._window, usage=self._usage_of_next)
                self._usage_of_next = Usage()
                self._turns.append(self._open)
            self._open.items.append(_as_call(item) if kind in ("local_shell_call", "web_search_call") else item)
            self._open.ended = at
            self._event_prompts.clear()
            if kind == "web_search_call":
                self._turns.append(_search_result(item))
            return
        if not (self._counts_first and kind.endswith("_output")):
            self._open = None
        for turn in read_responses_request({"input": [_with_plain_output(item)]}).turns:
            flags = _INJECTED if turn.role is Role.USER and _is_injected(item, turn) else frozenset()
            known = self._event_prompts.pop(_plain_text(turn), None) if turn.role is Role.USER else None
            if known is None:
                self._turns.append(structs.replace(turn, flags=flags))
            else:
                self._turns[known] = structs.replace(turn, flags=flags)

    def take_event(self, event: JsonObject, at: Json = None) -> None:
        """Add the facts from an `event_msg` that the items do not contain."""
        for path in ("model_context_window", "info.model_context_window"):
            self._window = window_of_tokens(member_at(event, path)) or self._window
        if self._last is not None and self._last.window is None:
            self._last.window = self._window
        match text_of(event, "type"):
            case "token_count":
                self._count(event.get("info"))
            case "task_started" | "turn_started":
                self._begin(event)
            case "task_complete" | "turn_complete":
                self._complete(event.get("error"))
            case "error" | "stream_error":
                self._fail(event)
            case "turn_aborted":
                self._abort(text_of(event, "reason") or "interrupted")
            case "user_message":
                self._add_prompt(text_of(event, "message"))
            case "exec_command_end" | "mcp_tool_call_end" | "patch_apply_end":
                self._end_run(event, instant(at))

    def _add_prompt(self, text: str) -> None:
        """Add a prompt of an event, unless an item has it: Codex's desktop app writes only the event."""
        for turn in reversed(self._turns):
            if not isinstance(turn, Turn) or turn.role is not Role.USER:
                break
            if _plain_text(turn) == text:
                return
        if text:
            self._open = None
            self._event_prompts[text] = len(self._turns)
            self._turns.append(Turn(Role.USER, (Part("text", text),), "user"))

    def _end_run(self, event: JsonObject, ended: Instant | None) -> None:
        """A command, patch or MCP tool ended: its state, and its own result."""
        if (state := read_state(_SOURCE, event)) is not None:
            self._states[text_of(event, "call_id")] = state
        run = _recorded_run(event, ended)
        if run is not None and run.call_id:
            self._runs[run.call_id] = run

    def take_compaction(self, payload: JsonObject) -> None:
        """Add the summary that replaced the history."""
        self._open = None
        if text := text_of(payload, "message"):
            before = len(self._turns)
            summary = Turn(Role.USER, (Part("text", text),), "compacted", flags=_INJECTED, summarises=before)
            self._turns.append(summary)

    @property
    def notes(self) -> Sequence[str]:
        """What is unknown of the rows so far."""
        is_unknown = self.forked_at_s is not None and self._copied is None and self._turns
        return (_UNKNOWN_FORK,) if is_unknown else ()

    def turns(self) -> list[Turn]:
        """All turns; those of a fork's history are marked as copied."""
        turns = [self._with_run(turn) if isinstance(turn, Turn) else turn.turn() for turn in self._turns]
        return [*map(copied, turns[: self._copied or 0]), *turns[self._copied or 0 :]]

    def _with_run(self, turn: Turn) -> Turn:
        header = turn.result
        if header is None:
            return turn
        return _with_run(turn, self._states.get(header.call_id or ""), self._runs.get(header.call_id or ""))

    def _count(self, info: Json) -> None:
        total, last = member_at(info, "total_token_usage"), member_at(info, "last_token_usage")
        if not isinstance(last, dict) or total == self._counted:
            return  # Codex repeats the counts when its limits change
        self._counted, self._open = total, None
        reasoning, cached = "reasoning_output_tokens", "cached_input_tokens"
        usage = usage_of(last, "input_tokens", "output_tokens", reasoning=reasoning, cached=cached)
        if self._counts_first is None:
            self._counts_first = self._last is None
        if self._counts_first or self._last is None:
            self._usage_of_next = usage
        else:
            self._last.usage = usage

    def _begin(self, event: JsonObject) -> None:
        self._open, self._has_failed = None, False
        began = instant(event.get("started_at"))
        if self.forked_at_s is not None and self._copied is None and began and began.at_s >= int(self.forked_at_s):
            self._copied = len(self._turns)

    def _complete(self, error: Json) -> None:
        self._open = None
        if isinstance(error, dict):
            self._fail(error)
        self.outcome = Outcome(completed=not isinstance(error, dict))

    def _fail(self, error: JsonObject) -> None:
        """A request failed; the end of its task may report the same error again."""
        self._open = None
        if text_of(error, "type") != "stream_error" and self._has_failed:
            return
        self._has_failed = text_of(error, "type") != "stream_error"
        info = error.get("codex_error_info")
        status = next(_statuses(info), None)
        code = info if isinstance(info, str) else next(iter(info), None) if isinstance(info, dict) else None
        has_answered = status is not None or code in _SERVER_ERRORS
        phase = ErrorPhase.HTTP if has_answered else ErrorPhase.TRANSPORT
        self._append_failed(GenerationError(phase, text_of(error, "message") or "the request failed", status, code))

    def _abort(self, reason: str) -> None:
        """The user stopped the turn: the unfinished answer is lost, a call that was running is kept."""
        self._open = None
        last = self._turns[-1] if self._turns else None
        if isinstance(last, Turn) and last.role is not Role.ASSISTANT:
            self._append_failed(GenerationError(ErrorPhase.CLIENT_ABORT, reason))
        self.outcome = Outcome(completed=False, exit_status=reason)

    def _append_failed(self, error: GenerationError) -> None:
        generation = Generation(api=API, requested_model=self.model, error=error, body=BodyState.NOT_STORED)
        self._turns.append(Turn(Role.ASSISTANT, (Part("text", ""),), "assistant", generation=generation))


def _recorded_run(event: JsonObject, ended: Instant | None) -> RecordedRun | None:
    """The command, patch or MCP tool that ran according to an event; None for a command that the user declined.

    These are stored in a form that cannot be compared: a result that Codex truncated before it wrote the event, the
    text of a failed MCP call, which is Codex's own, and the changes of a patch.
    """
    call_id = text_of(event, "call_id")
    match event:
        case {"invocation": {"tool": str(tool), "arguments": arguments}}:
            result, answer = event.get("result"), member_at(event, "result.Ok")
            failed = not isinstance(answer, dict) or True in (answer.get("isError"), answer.get("is_error"))
            returned = compact_json(answer if isinstance(answer, dict) else result) if result is not None else None
            ran, own_form = compact_json(arguments or {}), () if isinstance(answer, dict) else ("result",)
            return RecordedRun(_SOURCE, tool, call_id, ran, returned, failed, ended=ended, own_form=own_form)
        case {"command": list(command), "exit_code": int(code)} if event.get("status") != "declined":
            output = text_of(event, "aggregated_output") or _joined(event)
            is_cut = len(output.encode("utf-8", "replace")) >= _CUT_BYTES or _CUT.search(output) is not None
            ran = compact_json({"command": command})
            own_form = ("result",) if is_cut else ()
            return RecordedRun(_SOURCE, "", call_id, ran, output or None, code != 0, ended=ended, own_form=own_form)
        case {"changes": dict(changes), "success": bool(success)} if event.get("status") != "declined":
            ran = compact_json({"changes": changes})
            joined = _joined(event) or None
            return RecordedRun(_SOURCE, "", call_id, ran, joined, not success, ended=ended, own_form=("arguments",))
    return None


def _joined(event: JsonObject) -> str:
    return "".join(text for key in ("stdout", "stderr") if (text := text_of(event, key)))


def _as_call(item: JsonObject) -> JsonObject:
    """A `local_shell_call` or `web_search_call` in the shape of the others: its action has the model's arguments."""
    call_id, name = item.get("call_id") or item.get("id"), text_of(item, "type").removesuffix("_call")
    action = item.get("action") if item.get("action") is not None else {}
    return {"type": "function_call", "name": name, "call_id": call_id, "arguments": action}


def _search_result(item: JsonObject) -> Turn:
    """The result of a search that the server ran: its state; Codex does not store what was found."""
    call_id = text_of(item, "call_id", "id") or None
    header = ResultHeader(call_id, "web_search", recorded=read_state(_SOURCE, item))
    return Turn(Role.TOOL, (Part("text", ""),), "web_search_call", result=header)


def _plain_text(turn: Turn) -> str:
    return "".join(part.text for part in turn.parts if part.name == "text")


def _with_plain_output(item: JsonObject) -> JsonObject:
    """A result whose output is `{"content": ..., "success": ...}`, as in older files, with only the content."""
    output = item.get("output")
    return {**item, "output": output["content"]} if isinstance(output, dict) and "content" in output else item


def _is_injected(item: JsonObject, turn: Turn) -> bool:
    """Whether Codex wrote a user's message itself: recorded since 0.160, before that recognised by the text."""
    origins = list(_origins(item))
    if origins:
        return "user" not in origins
    return bool(_WRITTEN_BY_CODEX.match(turn.parts[0].text))


def _origins(item: JsonObject) -> Iterator[str]:
    for one in objects_of(member_at(item, "internal_chat_message_metadata_passthrough.content_item_metadata")):
        if isinstance(one.get("provenance"), dict):
            yield text_at(one, "provenance.type")


def _statuses(info: Json) -> Iterator[int]:
    for details in object_of(info).values():
        if isinstance(status := member_at(details, "http_status_code"), int):
            yield status


def _is_item(value: JsonObject) -> bool:
    """Whether a row is an item without an envelope, as in files before October 2025."""
    kind = text_of(value, "type")
    return kind in _ANSWERS or kind.endswith("_call_output") or (kind == "message" and "role" in value)


def _instructions(value: Json) -> str:
    """Instructions as text, whether they are a text or in an object."""
    return text_of(value, "text") if isinstance(value, dict) else text_or_json(value)


CODEX = LogSource(
    name=_SOURCE,
    signs="rows with a `type` and a `payload`, the format of Codex rollouts",
    is_row=_is_enveloped,
    confidence=0.9,
    score=_score,
    reader=SessionLogs(_CodexSession, _begun_session, lambda session, id_: id_ in session.continued),
)
"""One trace per session: a file is one session, unless files were concatenated. A session's rows are in memory."""
