"""MCP traffic in a proxy's file: tool runs, attached to the results of the calls that they belong to.

A run begins with the JSON-RPC request `tools/call`. Its answer is in the body of the same exchange, an event of its
stream, or, in revisions with sessions, on another stream of the session. Since revision 2026-07-28 there is neither an
`initialize` nor a session: every answer is in its own exchange, and ids of requests may be used again by anybody.

A run may take more than one request, and is one run all the same:

* `"resultType": "input_required"`: the tool asks for something first. The client sends the same call again, with the
  `requestState` that it got and the `inputResponses`; this request continues the run.
* a task (`"resultType": "task"` with a `taskId`; in 2025-11-25 a member `task`): the client asks for its state
  (`tasks/get`), which has the result in the end; in 2025-11-25 `tasks/result` has it. Notifications have the same.

Runs are matched with calls first by name and arguments, over all traces of the file, then by name alone in their order.
A run is never matched with a call whose answer began after the run.

Sources, read on 2026-11-29: modelcontextprotocol.io/specification/2026-07-28, "Transports", "Tools" and "Multi
Round-Trip Requests"; modelcontextprotocol/ext-tasks, specification/2026-07-28/tasks.md; 2025-11-25, "Tasks"; for the
older transport with two endpoints 2024-11-05, "HTTP with SSE".
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field, structs

from weaklink.inspector.importers.identity import with_warnings
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import compact_json, list_of, object_of, objects_of, word_of
from weaklink.inspector.model import Instant, Json, RecordedRun, Role, Trace, Turn
from weaklink.inspector.sessions.exchange import Exchange, header_of
from weaklink.inspector.sessions.fingerprints import arguments_by_value
from weaklink.inspector.sessions.gathering import decompressed
from weaklink.inspector.wire.framing import SseDecoder
from weaklink.inspector.wire.provider_json import parse_json

SOURCE = "mcp"
"""The name of this source in the runs of tools that it recorded."""

_MARKER = b'"jsonrpc"'
_SESSION = "mcp-session-id"
_SESSION_KEYS = ("session_id", "sessionId")
_SEPARATORS = "_.:/-"
_Key = tuple[str, str, str]
"""An upstream, one of its sessions, and the id of a request in the session, as JSON."""
_INPUT, _TASK = "input_required", "task"
_CANCELLED = "cancelled"
_TASK_METHODS = frozenset({"tasks/get", "tasks/result"})
_TASK_NOTES = frozenset({"notifications/tasks", "notifications/tasks/status"})
_MAX_QUESTION_CHARS = 200
_MAX_NOTES = 20


class _McpRun(Struct):
    """A call of a server's tool, with the answer if it was recorded.

    `questions` are what the tool asked for before it answered, in words; `states` those of its task, in order.
    """

    key: _Key
    name: str
    arguments: str
    started_s: float | None
    answer: JsonObject | None = None
    ended_s: float | None = None
    questions: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def recorded(self) -> RecordedRun:
        """The run. The result is the text if it has a single one, else JSON.

        A run that is not over, or whose task was cancelled, has what the server said last, in its own form.
        """
        answer = self.answer or {}
        result = answer.get("result")
        text: str | None = None
        failed: bool | None = None
        is_comparable = False
        if isinstance(result, dict):
            text, is_comparable = _result_text(result)
            failed = result.get("isError") is True if "content" in result else None
            if word_of(result.get("status")) == _CANCELLED:
                failed = True
        elif "error" in answer:
            text = compact_json(answer["error"])
            failed = True
        return RecordedRun(
            SOURCE,
            self.name,
            arguments=self.arguments,
            result=text,
            failed=failed,
            started=None if self.started_s is None else Instant(self.started_s),
            ended=None if self.ended_s is None else Instant(self.ended_s),
            own_form=() if is_comparable or text is None else ("result",),
        )

    @property
    def state(self) -> Json:
        """The opaque state that the client sends back with what the tool asked for; None if there is none."""
        return object_of((self.answer or {}).get("result")).get("requestState")

    def notes(self) -> Iterator[str]:
        """How the run came to its result, if that took more than one request."""
        for question in self.questions:
            yield f"the MCP tool `{self.name}` asked before it answered: {question}"
        if self.states:
            yield f"the MCP tool `{self.name}` ran as a task: {', '.join(self.states)}"


def _result_text(result: JsonObject) -> tuple[str, bool]:
    """What a tool returned, and whether an agent passes it to the model unchanged, which is not so for a picture."""
    blocks = result.get("content")
    if blocks is None:
        return compact_json(result), False
    listed = list_of(blocks)
    texts = [block["text"] for block in objects_of(listed) if isinstance(block.get("text"), str)]
    if len(texts) == len(listed) == 1 and "structuredContent" not in result:
        return str(texts[0]), True
    return compact_json(result), len(texts) == len(listed)


class _OpenCall(Struct, frozen=True):
    """A call with a result in its trace: `turn` is the index of the result's turn."""

    trace: int
    turn: int
    name: str
    arguments: str
    began_s: float | None

    def is_before(self, run: _McpRun) -> bool:
        """Whether the answer with this call began before a run, as far as both times are known."""
        return self.began_s is None or run.started_s is None or self.began_s <= run.started_s


class _OpenCalls:
    """The calls without a run, by name, and by name and arguments."""

    def __init__(self, calls: Iterable[_OpenCall]) -> None:
        self._by_name: dict[str, list[_OpenCall]] = {}
        self._by_arguments: dict[tuple[str, str], list[_OpenCall]] = {}
        for call in calls:
            self._by_name.setdefault(call.name, []).append(call)
            self._by_arguments.setdefault((call.name, call.arguments), []).append(call)

    def take(self, run: _McpRun, *, is_exact: bool) -> _OpenCall | None:
        """Remove and return the first call that a run may belong to; None if there is none."""
        arguments = arguments_by_value(run.arguments) if is_exact else ""
        for name in self._by_name:
            if not _is_named(name, run.name):
                continue
            candidates = self._by_arguments.get((name, arguments), []) if is_exact else self._by_name[name]
            call = next((candidate for candidate in candidates if candidate.is_before(run)), None)
            if call is not None:
                self._by_name[name].remove(call)
                self._by_arguments[name, call.arguments].remove(call)
                return call
        return None


def _is_named(name: str, tool: str) -> bool:
    """Whether a call's name is that of a server's tool; agents put the server's name before it."""
    return bool(tool) and (name == tool or (name.endswith(tool) and name[-len(tool) - 1] in _SEPARATORS))


class McpTraffic:
    """The MCP messages of one file: `messages` counts exchanges without a run, `unplaced` runs without a call."""

    def __init__(self) -> None:
        self.messages = 0
        self.unplaced = 0
        self._runs: list[_McpRun] = []
        self._of_sessions: dict[_Key, _McpRun] = {}  # in a session, no two requests have the same id
        self._waiting: dict[_Key, _McpRun] = {}  # runs whose answer may come on another stream of their session
        self._apart: dict[_Key, tuple[JsonObject, float | None]] = {}  # answers without a run in their exchange
        self._asking: list[_McpRun] = []  # runs whose tool asked for something
        self._tasks: dict[tuple[str, str], _McpRun] = {}  # runs that became tasks, by upstream and id of the task

    @property
    def has_runs(self) -> bool:
        """Whether tools were called."""
        return bool(self._runs)

    def take(self, exchange: Exchange) -> bool:
        """Record an exchange if it is an MCP one, and return whether it is. Never raises."""
        requests = _messages(decompressed(exchange.body or b"", exchange.head.headers))
        is_stream = exchange.head.method.upper() == "GET"
        answers = list(_answer_messages(exchange)) if requests or is_stream else []
        if not requests and not answers:
            return False
        server, session = exchange.head.upstream, _session_of(exchange)
        own = {
            compact_json(answer["id"]): answer
            for answer in answers
            if "id" in answer and ("result" in answer or "error" in answer)
        }
        runs = [request for request in requests if request.get("method") == "tools/call" and "id" in request]
        runs = [run for run in runs if isinstance(object_of(run.get("params")).get("name"), str)]
        for request in runs:
            id_ = compact_json(request["id"])
            self._take_call(request, (server, session, id_), exchange, own.pop(id_, None))
        for request in requests:
            is_poll = word_of(request.get("method")) in _TASK_METHODS
            if is_poll and (answer := own.pop(compact_json(request.get("id")), None)):
                self._take_task(server, object_of(request.get("params")), answer, exchange.ended_s)
        for note in answers:
            if word_of(note.get("method")) in _TASK_NOTES:
                params = object_of(note.get("params"))
                self._take_task(server, params, {"result": params}, exchange.ended_s)
        for id_, answer in own.items():
            self._apart.setdefault((server, session, id_), (answer, exchange.ended_s))
        self.messages += not runs
        return True

    def _take_call(self, request: JsonObject, key: _Key, exchange: Exchange, answer: JsonObject | None) -> None:
        """A call: a new run, or the continuation of one whose tool asked for something."""
        params = object_of(request.get("params"))
        run = self._continued(key[0], params)
        if run is None:
            run = self._of_sessions.get(key)  # the same request, sent again
        if run is None:
            arguments = compact_json(params.get("arguments") or {})
            run = _McpRun(key, word_of(params.get("name")), arguments, exchange.head.at_s)
            self._runs.append(run)
        if key[1]:
            self._of_sessions.setdefault(key, run)
        if answer is None:
            self._waiting[key] = run
        else:
            self._answer(run, answer, exchange.ended_s)

    def _continued(self, server: str, params: JsonObject) -> _McpRun | None:
        """The run that a call with answers of the client continues; None if it has none, or continues no run."""
        if "inputResponses" not in params and "requestState" not in params:
            return None
        name, arguments = params.get("name"), compact_json(params.get("arguments") or {})
        same = [run for run in self._asking if (run.key[0], run.name, run.arguments) == (server, name, arguments)]
        state = params.get("requestState")
        run = next((run for run in same if run.state == state), None)
        if run is not None:
            self._asking.remove(run)
        return run

    def _answer(self, run: _McpRun, answer: JsonObject, ended_s: float | None) -> None:
        run.answer, run.ended_s = answer, ended_s
        result = object_of(answer.get("result"))
        task = object_of(result.get("task")) or result
        if result.get("resultType") == _INPUT:
            self._asking.append(run)
            run.questions += _questions(result)
        elif "content" not in result and isinstance(task_id := task.get("taskId"), str):
            self._tasks[run.key[0], task_id] = run
            _add_state(run, task)

    def _take_task(self, server: str, params: JsonObject, answer: JsonObject, ended_s: float | None) -> None:
        """What a server says of a task: its state, or its result."""
        run = self._tasks.get((server, word_of(params.get("taskId"))))
        if run is None:
            return
        task = object_of(answer.get("result"))
        run.questions += [question for question in _questions(task) if question not in run.questions]
        _add_state(run, task)
        inner = {name: task[name] for name in ("result", "error") if isinstance(task.get(name), dict)}
        is_result = "content" in task or "error" in answer
        if inner or is_result or word_of(task.get("status")) in (_CANCELLED, "failed"):
            run.answer, run.ended_s = inner or answer, ended_s

    def with_runs(self, traces: Sequence[Trace]) -> list[Trace]:
        """The traces, with each run attached to the result of the call that it belongs to."""
        for key, run in self._waiting.items():
            if run.answer is None and key in self._apart:
                self._answer(run, *self._apart[key])
        calls = _OpenCalls(call for number, trace in enumerate(traces) for call in _open_calls(number, trace.turns))
        left = sorted(self._runs, key=lambda run: run.started_s or 0.0)
        placed: dict[tuple[int, int], _McpRun] = {}
        for is_exact in (True, False):
            rest: list[_McpRun] = []
            for run in left:
                found = calls.take(run, is_exact=is_exact)
                if found is None:
                    rest.append(run)
                    continue
                placed[found.trace, found.turn] = run
            left = rest
        self.unplaced = len(left)
        return [_with_runs(number, trace, placed) for number, trace in enumerate(traces)]


def _add_state(run: _McpRun, task: JsonObject) -> None:
    state = word_of(task.get("status"))
    if state and run.states[-1:] != [state]:
        run.states.append(state)


def _questions(result: JsonObject) -> Iterator[str]:
    """What a server asks the client for: the message to the user, else the kind of request."""
    for name, request in object_of(result.get("inputRequests")).items():
        members = object_of(request)
        asked = word_of(object_of(members.get("params")).get("message")) or word_of(members.get("method"))
        yield f"`{name}`: {asked[:_MAX_QUESTION_CHARS]}" if asked else f"`{name}`"


def _with_runs(number: int, trace: Trace, placed: dict[tuple[int, int], _McpRun]) -> Trace:
    runs = {turn: run for (at, turn), run in placed.items() if at == number}
    if not runs:
        return trace
    turns = (
        structs.replace(turn, run=runs[at].recorded()) if at in runs else turn for at, turn in enumerate(trace.turns)
    )
    notes = [note for _, run in sorted(runs.items()) for note in run.notes()][:_MAX_NOTES]
    return with_warnings(structs.replace(trace, turns=tuple(turns)), notes)


def _open_calls(number: int, turns: Sequence[Turn]) -> Iterator[_OpenCall]:
    """The calls of a trace with their results, in order; a result without an id belongs to the first open call."""
    open_: list[tuple[str | None, str, str, float | None]] = []
    for index, turn in enumerate(turns):
        if turn.role is Role.ASSISTANT:
            texts = {part.name: part.text for part in turn.parts}
            began = turn.generation.started if turn.generation is not None else None
            open_ += [
                (call.id, call.name or "", arguments_by_value(texts.get(call.part, "")), began.at_s if began else None)
                for call in turn.calls
            ]
        elif turn.role is Role.TOOL and open_:
            id_ = turn.result.call_id if turn.result is not None else None
            at = next((at for at, call in enumerate(open_) if id_ is None or call[0] == id_), None)
            if at is not None:
                _, name, arguments, began_s = open_.pop(at)
                yield _OpenCall(number, index, name, arguments, began_s)


def answer_body(exchange: Exchange) -> bytes:
    """The whole body of an answer, unpacked."""
    return decompressed(b"".join(raw for _, raw in exchange.answer or ()), exchange.headers)


def _messages(body: bytes) -> list[JsonObject]:
    """The JSON-RPC messages of a body, which may be a list of them."""
    if _MARKER not in body:
        return []
    try:
        value: Json = parse_json(body.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return []
    listed = objects_of(value) if isinstance(value, list) else [object_of(value)]
    return [one for one in listed if one.get("jsonrpc") == "2.0"]


def _answer_messages(exchange: Exchange) -> Iterator[JsonObject]:
    """The messages of an answer: its body, or the events of its stream."""
    body = answer_body(exchange)
    if _MARKER not in body:
        return
    if not header_of(exchange.headers, "content-type").startswith("text/event-stream"):
        yield from _messages(body)
        return
    decoder = SseDecoder()
    for event in (*decoder.feed(body), *decoder.close()):
        yield from _messages((event.data or "").encode("utf-8", "surrogateescape"))


def _session_of(exchange: Exchange) -> str:
    """The session that an exchange belongs to, `""` if it names none."""
    for headers in (exchange.head.headers, exchange.headers):
        if session := header_of(headers, _SESSION):
            return session
    return _named_in(exchange.head.target) or _endpoint_session(exchange)


def _endpoint_session(exchange: Exchange) -> str:
    """The session of the older transport's stream: its first event is the address for the client's messages."""
    if exchange.head.method.upper() != "GET":
        return ""
    first = next(iter(SseDecoder().feed(answer_body(exchange))), None)
    return _named_in(first.data or "") if first is not None and first.event == "endpoint" else ""


def _named_in(target: str) -> str:
    try:
        query = parse_qs(urlsplit(target).query)
    except ValueError:
        return ""
    return next((query[key][0] for key in _SESSION_KEYS if key in query), "")
