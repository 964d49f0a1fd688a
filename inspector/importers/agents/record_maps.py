"""The map of an agent's records as a description: the paths of what an answer, a result and a session consist of.

    _ANSWER = Answer(
        content="message.content[text].text",
        calls=Calls("message.content[tool_use]", arguments="input"),
        usage=TokenCounts("message.usage.input", "message.usage.output"),
        ended="timestamp",
    )
    _RESULT = Result("callId", "output", is_error="failed")

A description is called with a record and its session, to which it adds what the record says. `message.model` is a
member of a member, `content[text]` are the elements of a list whose `type` is `text` (a plain text is one), `content[]`
all that are objects; the texts at the ends of such a path are joined. Of several paths (`raw_input input`) the first
with a value that is not empty counts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import call_object
from weaklink.inspector.importers.agents.agent_session import AgentSession, blocks_of
from weaklink.inspector.importers.generations import usage_of
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import object_of, text_or_json
from weaklink.inspector.model import GenerationError, Json, Usage

_Get: TypeAlias = Callable[[JsonObject], Json]


def objects_at(record: JsonObject, path: str) -> list[JsonObject]:
    """The objects at the ends of a path."""
    return [value for value in _ends(record, _steps(path)) if isinstance(value, dict)]


def value_at(record: JsonObject, paths: str) -> Json:
    """The first value that is not empty, else the last one that is; None if there is none."""
    last: Json = None
    for get in _getters(paths):
        value = get(record)
        if value:
            return value
        last = last if value is None else value
    return last


def words_at(record: JsonObject, paths: str) -> str:
    """The first text that is not empty, else `""`."""
    for get in _getters(paths):
        value = get(record)
        if isinstance(value, str) and value:
            return value
    return ""


@cache
def _getters(paths: str) -> tuple[_Get, ...]:
    """What gets the value of each path: compiled once, since every record of a log is read by the same paths."""
    return tuple(map(_getter, paths.split()))


def _getter(path: str) -> _Get:
    steps = _steps(path)
    if any(kind is not None for _, kind in steps):
        return lambda record: "".join(end for end in _ends(record, steps) if isinstance(end, str))
    return partial(_member, keys=path.split(".")) if len(steps) > 1 else lambda record: record.get(path)


def _member(value: Json, keys: Sequence[str]) -> Json:
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


@cache
def _steps(path: str) -> tuple[tuple[str, str | None], ...]:
    """The members of a path; for one that is a list, the `type` of the elements that count."""
    names = (name.removesuffix("]").partition("[") for name in path.split("."))
    return tuple((key, kind if bracket else None) for key, bracket, kind in names)


def _ends(record: JsonObject, steps: tuple[tuple[str, str | None], ...]) -> Sequence[Json]:
    values: Sequence[Json] = (record,)
    for key, kind in steps:
        values = [value[key] for value in values if isinstance(value, dict) and key in value]
        if kind is not None:
            values = [block for value in values for block in blocks_of(value) if not kind or block.get("type") == kind]
    return values


def _id_at(record: JsonObject, paths: str) -> str | None:
    """An id, which may be a number; None if there is none."""
    value = value_at(record, paths)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


class Facts(Struct, frozen=True, kw_only=True):
    """Facts of the session. A later one replaces an earlier one, except the time.

    `parent` is the session for which this one worked as a sub-agent.
    """

    title: str = ""
    model: str = ""
    version: str = ""
    folder: str = ""
    branch: str = ""
    started: str = ""
    parent: str = ""

    def __call__(self, record: JsonObject, session: AgentSession) -> None:
        """Set those that the record has."""
        session.title = words_at(record, self.title) or session.title
        session.model = words_at(record, self.model) or session.model
        session.version = words_at(record, self.version) or session.version
        session.folder = words_at(record, self.folder) or session.folder
        session.branch = words_at(record, self.branch) or session.branch
        for path in () if session.started else self.started.split():
            session.began(value_at(record, path))
        session.child_of(words_at(record, self.parent))


class Calls(Struct, frozen=True):
    """The calls of an answer: the objects at a path, and the paths of their members in each."""

    path: str
    name: str = "name"
    arguments: str = "arguments"
    id: str = "id"

    def __call__(self, record: JsonObject) -> list[JsonObject]:
        """The calls as OpenAI's messages have them; values of any type are kept."""
        return [
            call_object(value_at(call, self.name), value_at(call, self.arguments), _id_at(call, self.id))
            for call in objects_at(record, self.path)
        ]


class TokenCounts(Struct, frozen=True):
    """The counts of tokens of an answer: their paths, or several of which the first counts."""

    inputs: str
    outputs: str
    cached: str = ""
    reasoning: str = ""

    def __call__(self, record: JsonObject) -> Usage:
        """The counts that the record has."""
        return usage_of(record, self.inputs, self.outputs, cached=self.cached, reasoning=self.reasoning)


class Answer(Struct, frozen=True, kw_only=True):
    """An answer of the model. `calls`, `usage` and `error` may be functions of the record.

    A finish reason that is the code of its error does not count. With `is_of_session`, the session's model answered
    where the record names none.
    """

    content: str = ""
    reasoning: str = ""
    calls: Callable[[JsonObject], Sequence[Json]] = lambda _: ()
    model: str = ""
    usage: Callable[[JsonObject], Usage | None] = lambda _: None
    started: str = ""
    ended: str = ""
    finish: str = ""
    response_id: str = ""
    error: Callable[[JsonObject], GenerationError | None] = lambda _: None
    is_of_session: bool = False

    def __call__(self, record: JsonObject, session: AgentSession) -> None:
        """Add the answer."""
        error, finish = self.error(record), words_at(record, self.finish)
        session.answer(
            value_at(record, self.content),
            calls=self.calls(record),
            reasoning=words_at(record, self.reasoning),
            model=words_at(record, self.model) or (session.model if self.is_of_session else ""),
            usage=self.usage(record),
            started=value_at(record, self.started),
            ended=value_at(record, self.ended),
            finish="" if error and error.code == finish else finish,
            error=error,
            response_id=words_at(record, self.response_id),
        )


class Result(Struct, frozen=True):
    """A call's result. `states` says of the values at `is_error` which are errors, and `otherwise` what any other is.

    If it `may_be_pending`, any other means that there is no result yet. `recorded` is the path of what states how the
    run ended (`STATE_FIELDS`), which may be JSON's text; `""` is the record itself.
    """

    call_id: str
    content: str
    name: str = ""
    is_error: str = ""
    states: Mapping[Json, bool] = MappingProxyType({True: True, False: False})
    otherwise: bool | None = None
    may_be_pending: bool = False
    recorded: str = ""

    def __call__(self, record: JsonObject, session: AgentSession) -> None:
        """Add the result."""
        state = value_at(record, self.is_error)
        is_error = self.states.get(state, self.otherwise) if isinstance(state, str | bool) else self.otherwise
        content = value_at(record, self.content)
        if is_error is not None or not self.may_be_pending:
            session.result(
                _id_at(record, self.call_id) or "",
                content if isinstance(content, str | list) else text_or_json(content),
                name=words_at(record, self.name),
                is_error=is_error,
                recorded=object_of(json_within(value_at(record, self.recorded))) if self.recorded else record,
            )


ANTHROPIC_RESULT = Result("tool_use_id", "content", is_error="is_error")
"""A `tool_result`, a block of the user's message."""


def anthropic_answer(
    *, model: str = "", usage: Callable[[JsonObject], Usage | None] = lambda _: None, ended: str = ""
) -> Answer:
    """A message of Anthropic's blocks, which several agents store."""
    return Answer(
        content="content[text].text",
        reasoning="content[].thinking",
        calls=Calls("content[tool_use]", arguments="input"),
        model=model,
        usage=usage,
        ended=ended,
    )
