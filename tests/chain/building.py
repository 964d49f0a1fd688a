"""A trace in a few lines, one a turn, as a reader would tell it.

user: What is the weather in Oslo?
call a1: get_weather {"city": "Oslo"}     a new assistant turn with one call; `call:` where it bears no id
also a2: get_weather {"city": "Bergen"}   one more call in the same turn
result a1: 4 degrees                      `result:` where it bears no id, `result a1!:` where a flag says error
say: It is 4 degrees.
"""

import re
from collections.abc import Sequence

from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Generation, Outcome, Part, ResultHeader, Role, Trace, Turn

_LINE = re.compile(r"(user|say|call|also|result)(?: ([\w-]+))?(!?): ?(.*)", re.DOTALL)


def trace_of(*lines: str, outcome: Outcome | None = None, last: Generation | None = None) -> Trace:
    """The trace that these lines tell; `last` are the facts of its last assistant turn."""
    turns: list[Turn] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        assert match is not None, line
        kind, call_id, flag, rest = match[1], match[2], bool(match[3]), match[4]
        if kind == "also":
            turns[-1] = _with_call(turns[-1], call_id, rest)
        elif kind == "call":
            turns.append(_with_call(Turn(Role.ASSISTANT, ()), call_id, rest))
        elif kind == "result":
            header = ResultHeader(call_id, None, True if flag else None)
            turns.append(Turn(Role.TOOL, (Part("text", rest),), result=header))
        else:
            turns.append(Turn(Role.USER if kind == "user" else Role.ASSISTANT, (Part("text", rest),)))
    if last is not None:
        last_answer = max(index for index, turn in enumerate(turns) if turn.role is Role.ASSISTANT)
        turns[last_answer] = Turn(
            turns[last_answer].role, turns[last_answer].parts, calls=turns[last_answer].calls, generation=last
        )
    return Trace(tuple(turns), outcome=outcome)


def inspection_of(*lines: str, outcome: Outcome | None = None, last: Generation | None = None) -> Inspection:
    return inspect_trace(trace_of(*lines, outcome=outcome, last=last), format="hermes")


def chain_of(*lines: str, outcome: Outcome | None = None, last: Generation | None = None) -> Chain:
    return inspection_of(*lines, outcome=outcome, last=last).chain


def outcomes(chain: Chain) -> list[str]:
    return [step.outcome.value for step in chain.steps]


def codes(inspection: Inspection) -> Sequence[str]:
    return [diagnostic.rule.code for diagnostic in inspection.diagnostics]


def _with_call(turn: Turn, call_id: str | None, said: str) -> Turn:
    name, _, arguments = said.partition(" ")
    part = f"call:{len(turn.calls)}"
    header = CallHeader(part, name or None, call_id)
    return Turn(turn.role, (*turn.parts, Part(part, arguments or "{}")), calls=(*turn.calls, header))
