"""Summaries by which an agent replaced the beginning of a session, and what they lost that later calls needed.

A log says it (`Turn.summarises`); recorded requests show it by themselves (`inspector.chain.history`). A value is lost
if a later call has it, it comes from a result that the summary stands for, and neither the summary nor any turn between
the kept ones and the call has it: the model wrote it from what it no longer read, or something else brought it back.

    turn 3   result: {"id": "bk-7741", ...}
    turn 9   summary of turns 1 to 6: "The user booked a berth."
    turn 10  call cancel {"id": "bk-7741"}           lost: bk-7741 of turn 3

At most `_MAX_VALUES` values of a session are searched for: time is linear in its text.
"""

from collections.abc import Callable, Iterator, Sequence

from weaklink.inspector.chain.data_flow import DataFlow, Origin, OriginKind
from weaklink.inspector.chain.steps import Step, quoted
from weaklink.inspector.diagnostics import Diagnostic, Fault, Location
from weaklink.inspector.model import Role, Trace, Turn
from weaklink.inspector.rules.layers import HISTORY_COMPACTED
from weaklink.inspector.text import Range

_MAX_VALUES = 64
_MAX_NAMED = 3
_MIN_CHARS = 4  # shorter values are in every text


def compaction_diagnostics(trace: Trace, steps: Sequence[Step], flow: Callable[[], DataFlow]) -> Iterator[Diagnostic]:
    """One diagnostic at each summary, against the first turn that it stands for, or the first value that is lost."""
    turns = trace.turns
    for number, turn in enumerate(turns, 1):
        last = min(turn.summarises, number - 1)
        if last > 0:
            lost = list(_lost(turns, number, last, steps, flow()))
            yield _diagnostic(turns, number, last, lost)


def _diagnostic(turns: Sequence[Turn], number: int, last: int, lost: Sequence[tuple[Step, Origin]]) -> Diagnostic:
    first = next((index for index, turn in enumerate(turns[:last], 1) if turn.role is not Role.SYSTEM), last)
    what = f"turn {first}" if first == last else f"turns {first} to {last}"
    message = f"The model reads this summary in place of {what} (compacted)"
    against = _start(turns, first)
    if lost:
        against = lost[0][1].location
        named = [
            f"{quoted(origin.text, 40)} of turn {origin.location.turn}, which the call of turn {step.location.turn} has"
            for step, origin in lost[:_MAX_NAMED]
        ]
        more = f", and {len(lost) - _MAX_NAMED} more" if len(lost) > _MAX_NAMED else ""
        message += f"; it lacks {'; '.join(named)}{more}"
    location = _start(turns, number)
    return Fault(HISTORY_COMPACTED, location.range, f"{message}.", against=against).at(location.turn, location.part)


def _start(turns: Sequence[Turn], number: int) -> Location:
    """The first line of a turn."""
    part = next((part for part in turns[number - 1].parts if part.text), None)
    if part is None:
        return Location(number, "text", Range(0, 0))
    end = part.text.find("\n")
    return Location(number, part.name, Range(0, len(part.text) if end < 0 else end))


def _lost(
    turns: Sequence[Turn], number: int, last: int, steps: Sequence[Step], flow: DataFlow
) -> Iterator[tuple[Step, Origin]]:
    """The values of later calls that come from summarised results only, each once, with the first call that has it."""
    by_number = {step.number: step for step in steps}
    seen: set[str] = set()
    for argument in flow.flows:
        step = by_number[argument.step]
        if step.location.turn <= number:
            continue
        for origin in argument.origins:
            is_old = origin.kind is OriginKind.RESULT and origin.location.turn <= last
            if not is_old or len(origin.text) < _MIN_CHARS or origin.text in seen:
                continue
            seen.add(origin.text)
            if len(seen) > _MAX_VALUES:
                return
            between = (part.text for turn in turns[last : step.location.turn - 1] for part in turn.parts)
            if not any(origin.text in text for text in between):
                yield step, origin
