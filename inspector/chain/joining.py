"""Joins two traces of one session: adds the runs that the second source recorded to the results of the first.

Calls are aligned by id, then by name and arguments, then by name in their order; those of different ids only within
one response. If the two sources disagree, that is a difference between layers. The texts of the first trace are not
changed.
"""

from collections.abc import Iterator

from msgspec import Struct, structs

from weaklink.inspector.chain.layers import same_arguments
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import RecordedRun, Role, Trace, Turn

JOINED = "joined:"
"""Prefix of the source of a run that came from another trace; the source in that trace follows."""

_MIN_ID_CHARS = 8  # code points: shorter ids of calls and responses, such as `call_1`, are those of many sessions


class NotOneSessionError(WeaklinkError):
    """Two traces share no id of a session, a call or a response."""


class JoinedTrace(Struct, frozen=True):
    """The first trace with the second's runs, their number, and the number of calls for which the second had none."""

    trace: Trace
    runs: int
    left_out: int
    shared: str


class _AnsweredCall(Struct, frozen=True):
    """A call with the index of its result's turn; `arguments` is the exact text, `response` the id of the answer."""

    id: str | None
    name: str
    arguments: str
    response: str
    result: int

    def may_be(self, other: "_AnsweredCall") -> bool:
        """Whether both may be the same call: same name, and no different ids unless both are from one response."""
        is_one_response = len(self.response) >= _MIN_ID_CHARS and self.response == other.response
        return self.name == other.name and (is_one_response or not (self.id and other.id))


def join_traces(first: Trace, second: Trace) -> JoinedTrace:
    """The first trace with the runs of tools, or the other versions of calls and results, that the second has.

    Raises NotOneSessionError if the two share no id.
    """
    calls, others = list(_answered(first)), list(_answered(second))
    shared = _shared_id(first, second, calls, others)
    turns = list(first.turns)
    runs = 0
    pairs = _aligned(calls, others)
    for call, other in pairs:
        if turns[call.result].run is None:
            turns[call.result] = structs.replace(turns[call.result], run=_run_of(second.turns[other.result], other))
            runs += 1
    return JoinedTrace(structs.replace(first, turns=tuple(turns)), runs, len(calls) - len(pairs), shared)


def without_joined(trace: Trace) -> Trace:
    """The trace without the runs of other traces; the same object if it has none."""
    if not any(_is_joined(turn) for turn in trace.turns):
        return trace
    return structs.replace(
        trace, turns=tuple(structs.replace(turn, run=None) if _is_joined(turn) else turn for turn in trace.turns)
    )


def _is_joined(turn: Turn) -> bool:
    return turn.run is not None and turn.run.source.startswith(JOINED)


def _shared_id(first: Trace, second: Trace, calls: list[_AnsweredCall], others: list[_AnsweredCall]) -> str:
    ids = {external_id.value for external_id in first.external_ids} & {
        external_id.value for external_id in second.external_ids
    }
    ids = ids or _long({call.id for call in calls} & {call.id for call in others})
    ids = ids or _long(_responses(first) & _responses(second))
    if not ids:
        raise NotOneSessionError("cannot join the two traces: they share no session, response or call id")
    return min(ids)


def _responses(trace: Trace) -> set[str | None]:
    return {turn.generation.response_id for turn in trace.turns if turn.generation is not None}


def _long(ids: set[str | None]) -> set[str]:
    """The ids that are too long to be reused in several sessions."""
    return {id_ for id_ in ids if id_ is not None and len(id_) >= _MIN_ID_CHARS}


def _answered(trace: Trace) -> Iterator[_AnsweredCall]:
    """The calls of a trace that have a result in a turn of its own, in order."""
    open_: list[tuple[str | None, str, str, str]] = []
    for index, turn in enumerate(trace.turns):
        if turn.role is Role.ASSISTANT:
            texts = {part.name: part.text for part in turn.parts}
            response = turn.generation.response_id if turn.generation is not None else ""
            open_ += [(call.id, call.name or "", texts.get(call.part, ""), response) for call in turn.calls]
        elif turn.role is Role.TOOL and open_:
            id_ = turn.result.call_id if turn.result is not None else None
            position = next((number for number, call in enumerate(open_) if id_ is not None and call[0] == id_), None)
            if position is None and id_ is None:
                position = 0
            if position is not None:
                yield _AnsweredCall(*open_.pop(position), index)


def _aligned(calls: list[_AnsweredCall], others: list[_AnsweredCall]) -> list[tuple[_AnsweredCall, _AnsweredCall]]:
    pairs: dict[int, _AnsweredCall] = {}
    left = list(others)
    by_id = {other.id: other for other in others if other.id}
    for index, call in enumerate(calls):
        match = by_id.pop(call.id, None) if call.id else None
        if match is not None:
            left.remove(match)
            pairs[index] = match
    for is_exact in (True, False):
        for index, call in enumerate(calls):
            if index in pairs:
                continue
            same = (candidate for candidate in left if call.may_be(candidate))
            match = next(
                (
                    candidate
                    for candidate in same
                    if not is_exact or same_arguments(candidate.arguments, call.arguments)
                ),
                None,
            )
            if match is not None:
                left.remove(match)
                pairs[index] = match
    return [(calls[index], other) for index, other in sorted(pairs.items())]


def _run_of(other: Turn, call: _AnsweredCall) -> RecordedRun:
    """The second trace's record of a run; its call and result if it has no such record."""
    if other.run is not None:
        return structs.replace(other.run, source=f"{JOINED}{other.run.source}")
    text = other.part("text")
    result = text.text if text is not None else None
    failed = other.result.is_error if other.result is not None else None
    return RecordedRun(f"{JOINED}log", call.name, call.id, call.arguments or None, result, failed)
