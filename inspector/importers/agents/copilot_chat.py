"""Copilot Chat's sessions in VS Code: a session as JSON, its log of mutations, or the export of a chat.

The log is replayed: `{"kind": 0, "v"}` is the session, 1 sets the value at the path `k`, 2 appends `v` to a list (which
is first cut at `i`), 3 deletes. A request holds what was shown (`response`) and what the model got and gave
(`result.metadata.toolCallRounds`, with raw arguments); a cancelled one has only the former. Source: `chatModel.ts` of
VS Code, sessions in the tests of another reader.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile

from weaklink.inspector.apis.openai.messages import call_objects
from weaklink.inspector.importers.agents import record_maps as maps
from weaklink.inspector.importers.agents.agent_session import AgentSession, failure, ids_of
from weaklink.inspector.importers.agents.session_logs import SessionLogs
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import flag_of, list_of, object_of, objects_of
from weaklink.inspector.model import GenerationError, Json, Trace

_NOTES = ("the source stores neither the system prompt, the tools, usage per answer nor chunks",)
_SHOWN = "of a cancelled or failed request the source stores what was shown: calls without their arguments"
_SET, _APPEND, _DELETE = 1, 2, 3
_CANCELLED = 2
_TOOL = "toolInvocationSerialized"


def _mutated_session(row: JsonObject) -> str:
    """The id of the session whose mutations a row begins; `""` for any other row."""
    return text_at(row, "v.sessionId") if row.get("kind") == 0 else ""


def _change(state: JsonObject, row: JsonObject) -> bool:
    """Apply a mutation in place; False if its path does not exist."""
    *path, key = list_of(row.get("k")) or [None]
    owner: Json = state
    for step in path:
        owner = _member(owner, step)
    kind, value = row.get("kind"), row.get("v")
    if kind == _APPEND:
        listed = _member(owner, key)
        if listed is None and isinstance(owner, dict) and isinstance(key, str):
            listed = owner[key] = []
        if not isinstance(listed, list):
            return False
        start = row.get("i")
        listed[start if isinstance(start, int) and start >= 0 else len(listed) :] = list_of(value)
    elif isinstance(owner, dict) and isinstance(key, str):
        owner.pop(key, None)
        owner.update({key: value} if kind == _SET else {})
    elif isinstance(owner, list) and isinstance(key, int) and kind == _SET and 0 <= key < len(owner):
        owner[key] = value
    else:
        return False
    return kind in (_SET, _APPEND, _DELETE)


def _member(owner: Json, key: Json) -> Json:
    if isinstance(owner, dict) and isinstance(key, str):
        return owner.get(key)
    if isinstance(owner, list) and isinstance(key, int) and 0 <= key < len(owner):
        return owner[key]
    return None


def _session(value: JsonObject, record: str, file: SourceFile) -> Trace | Skipped:
    session = AgentSession("copilot-chat", ids_of(text_of(value, "sessionId"), file), record, _NOTES)
    maps.Facts(title="customTitle computedTitle", started="creationDate")(value, session)
    session.version = str(value.get("version", ""))
    for request in objects_of(value.get("requests")):
        _request(request, session)
    return session.trace()


def _request(request: JsonObject, session: AgentSession) -> None:
    session.began(request.get("timestamp"))
    message = request.get("message")
    session.say("user", message if isinstance(message, str) else text_of(object_of(message), "text"))
    result = object_of(request.get("result"))
    facts = object_of(result.get("metadata"))
    state = object_of(request.get("modelState"))
    results = {**object_of(facts.get("toolCallResults"))}
    rounds = objects_of(facts.get("toolCallRounds"))
    shown = objects_of(request.get("response"))
    if rounds and not any(step.get("thinking") for step in rounds):
        first = takewhile(lambda part: part.get("kind") != _TOOL, shown)
        rounds[0] = {**rounds[0], "thinking": _shown(first, {})["thinking"]}
    if not rounds:
        rounds = [_shown(shown, results)]
        session.notes.update(dict.fromkeys([_SHOWN]) if rounds[0]["toolCalls"] else {})
    is_cancelled = request.get("isCanceled") is True or state.get("value") == _CANCELLED
    for number, step in enumerate(rounds, 1):
        calls = objects_of(step.get("toolCalls"))
        is_last = number == len(rounds)
        session.answer(
            text_of(step, "response"),
            reasoning=_words(object_of(step.get("thinking")).get("text")),
            calls=call_objects(calls),
            model=text_of(facts, "resolvedModel") or text_of(request, "modelId"),
            usage=usage_of(facts, "promptTokens", "outputTokens") if len(rounds) == 1 else None,
            started=request.get("timestamp") if number == 1 else None,
            ended=state.get("completedAt") if is_last else None,
            error=_error(object_of(result.get("errorDetails")), is_cancelled=is_cancelled) if is_last else None,
        )
        for call in calls:
            id_ = text_of(call, "id")
            if id_ in results:
                result = object_of(results[id_])
                failed = flag_of(result.get("isError"))
                session.result(id_, _words(result.get("content")), name=text_of(call, "name"), is_error=failed)


def _error(details: JsonObject, *, is_cancelled: bool) -> GenerationError | None:
    code = "cancelled" if is_cancelled else text_of(details, "code")
    message = text_of(details, "message") or ("the user cancelled the request" if is_cancelled else "")
    return failure(message, code=code) if message else None


def _shown(response: Iterable[JsonObject], results: JsonObject) -> JsonObject:
    """What was shown of a request without rounds, as one round; results of its calls are added to `results`."""
    calls: list[Json] = []
    words = thoughts = ""
    for part in response:
        if "kind" not in part:
            words += _words(part.get("value"))
        elif part["kind"] == "thinking":
            thoughts += _words(part.get("value"))
        elif part["kind"] == _TOOL:
            details, id_ = object_of(part.get("resultDetails")), part.get("toolCallId")
            calls.append({"id": id_, "name": part.get("toolId"), "arguments": details.get("input", "{}")})
            if isinstance(id_, str) and "output" in details:
                results[id_] = {"content": details["output"], "isError": details.get("isError")}
    return {"response": words, "thinking": {"text": thoughts}, "toolCalls": calls}


def _words(value: Json) -> str:
    """The texts of a value in order: a text, a list of them, or a tree of VS Code's prompt elements."""
    found, waiting = [], [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
        elif isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            waiting += [node[key] for key in ("children", "node", "text", "value") if key in node]
    return "".join(found)


class _ChatLog:
    """The sessions of objects as they come, or the one that the mutations make."""

    def __init__(self, file: SourceFile, _: int) -> None:
        self._file = file
        self._state: JsonObject = {}
        self._first = ""

    def add(self, row: Row) -> Iterator[Trace | Skipped]:
        if "kind" not in row.value:
            yield _session(row.value, row.record, self._file)
        elif row.value["kind"] == 0:
            self._state, self._first = object_of(row.value.get("v")), self._first or row.record
        elif not _change(self._state, row.value):
            yield Skipped(row.record, "the mutation does not fit the session before it")

    def traces(self) -> Iterator[Trace | Skipped]:
        if self._first:
            yield _session(self._state, self._first, self._file)


def _is_session(row: JsonObject) -> bool:
    """By the members of a session, in an object or in a first mutation."""
    value = object_of(row.get("v")) if row.get("kind") == 0 else row
    return {"requests", "responderUsername"} <= value.keys()


COPILOT_CHAT = LogSource(
    name="copilot-chat",
    signs="`requests` with a `responderUsername`, or mutations of such a session",
    is_row=_is_session,
    reader=SessionLogs(_ChatLog, _mutated_session),
)
"""One trace per session."""
