"""The facts of traces and turns as weaklink before 0.3.0 packed them, upgraded on plain values.

A Struct was the list of its fields in order, and fields at the end could be missing: a result header was
`["call-1", "search", None]`. Three things were otherwise: a value that may be empty was in a list of its own
(`"retry_of": [""]`), a request was `[after, kept, *messages]`, and a message began with the number of its turn.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from weaklink.inspector import model
from weaklink.inspector.trace_file.lines import Record
from weaklink.storage.packing.values import pack, unpack

VERSION = b"\2"
"""The byte with which packed facts begin today; former ones are packed maps, none of which begins with it."""


def upgraded(facts: Record) -> Record:
    """The facts of a trace or a turn in today's form; TypeError or another ValueError for what no weaklink packed."""
    return _with_steps(facts, _STEPS)


def with_request_of(raw: bytes, turn: model.Turn) -> bytes:
    """Former facts whose request has the texts that it has in `turn`, as of `compacted`; today's are returned as is."""
    if raw.startswith(VERSION):
        return raw
    facts = unpack(raw)
    request = turn.generation and turn.generation.request
    for message, stored in zip(request.messages if request else (), facts["generation"]["request"][2:], strict=True):
        if isinstance(message, model.SentMessage):
            stored[2] = [
                [part.name, part.text, *((part.prefix, part.suffix) if part.prefix or part.suffix else ())]
                for part in message.parts
            ]
    return pack(facts)


Step = Callable[[Any], Any]


def _with_steps(record: Record, steps: dict[str, Step]) -> Record:
    return {name: steps[name](value) if name in steps else value for name, value in record.items()}


def _by_name(kind: type[Struct], steps: dict[str, Step] | None = None) -> Step:
    """The step from the values of a Struct, in the order of its fields, to its record."""

    def step(values: Sequence[Any] | None) -> Record | None:
        if values is None:
            return None
        return _with_steps(dict(zip(kind.__struct_fields__, values, strict=False)), steps or {})

    return step


def _each(step: Step) -> Step:
    return lambda values: list(map(step, values))


def _only(values: Sequence[Any]) -> Any:
    (value,) = values
    return value


def _request(values: list[Any]) -> Record:
    after, kept, *messages = values
    return {"after": after, "kept": kept, "messages": list(map(_message, messages))}


def _message(values: int | list[Any]) -> int | list[int] | Record:
    if isinstance(values, int) or len(values) == 2:
        return values
    names = ("turn", "role", "parts", "source_role", "calls", "result")
    steps = {"parts": _each(_by_name(model.SentPart)), "calls": _calls, "result": _result}
    return _with_steps(dict(zip(names, values, strict=True)), steps)


def _parent(values: Sequence[str]) -> Record:
    name, value, why = values
    return {"external_id": {"name": name, "value": value}, "why": why}


def _usage(usage: Record) -> Record:
    return {name: value if name == "computed" else _only(value) for name, value in usage.items()}


def _generation(generation: Record) -> Record:
    return _with_steps({"attempt": 0} | generation, _GENERATION)


_instant = _by_name(model.Instant)
_calls = _each(_by_name(model.CallHeader))
_result = _by_name(model.ResultHeader, {"recorded": _by_name(model.RecordedState)})
_GENERATION: dict[str, Step] = {
    "retry_of": _only,
    "started": _instant,
    "first_token": _instant,
    "ended": _instant,
    "usage": _usage,
    "finish_reason": _only,
    "error": _by_name(model.GenerationError),
    "request": _request,
}
_STEPS: dict[str, Step] = {
    "started": _instant,
    "external_ids": _each(_by_name(model.ExternalId)),
    "parent": _parent,
    "outcome": _by_name(model.Outcome),
    "calls": _calls,
    "result": _result,
    "run": _by_name(model.RecordedRun, {"started": _instant, "ended": _instant}),
    "generation": _generation,
}
