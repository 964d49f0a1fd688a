"""Inspecting a session of four times the calls takes about four times the work, whatever becomes of the calls."""

import json
from collections.abc import Callable

import pytest

from tests.work import functions_run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Generation,
    Part,
    Provenance,
    RecordedRun,
    ResultHeader,
    Role,
    Trace,
    Turn,
)

_CALLS = 100
_TIMES = 4
_MOST = 6.0  # quadratic work would be 16 times as much


def _answered(number: int, result: str, *, ran: str | None = None, is_error: bool | None = None) -> list[Turn]:
    """A call, and its result as the model read it; `ran` is the tool's own."""
    command = f'{{"command": "ls /srv/harbour_{number}"}}'
    header = CallHeader("call:0", "Bash", f"c{number}")
    run = None if ran is None else RecordedRun("claude-code", "Bash", header.id, command, ran)
    return [
        Turn(Role.ASSISTANT, (Part("call:0", command),), calls=(header,), generation=Generation()),
        Turn(Role.TOOL, (Part("text", result),), result=ResultHeader(header.id, "Bash", is_error=is_error), run=run),
    ]


def _denied(number: int) -> list[Turn]:
    return _answered(number, f"Permission denied: /srv/harbour_{number}", is_error=True)


def _changed(number: int) -> list[Turn]:
    return _answered(number, f"tide {number} at noon", ran=f"tide {number} at noon, then ebb until evening")


def _corrected(number: int) -> list[Turn]:
    return [*_denied(number), Turn(Role.USER, (Part("text", f"No, look at harbour_{number + 1}, please."),))]


def _run(number: int, command: str, result: str, *, is_error: bool = False) -> list[Turn]:
    header = CallHeader("call:0", "Bash", f"r{number}")
    part = Part("call:0", json.dumps({"command": command}))
    return [
        Turn(Role.ASSISTANT, (part,), calls=(header,), generation=Generation()),
        Turn(Role.TOOL, (Part("text", result),), result=ResultHeader(header.id, "Bash", is_error=is_error or None)),
    ]


def _fetched(number: int) -> list[Turn]:
    url = f"https://tides.example.org/{number}"
    failed = _run(2 * number, f"curl -sf {url}/now", f"Exit code 22\ncurl: (22) {url}/now error: 404", is_error=True)
    return [*failed, *_run(2 * number + 1, f"curl -sf {url}/list", f"all of {url}/list and {url}/old")]


def _refused(number: int) -> list[Turn]:
    zone = f"harbour{number}"
    failed = _run(2 * number, f"tides --high --at {zone}", f"Exit code 1\nerror: unknown option {zone}", is_error=True)
    wish = Turn(Role.USER, (Part("text", f"And {zone}?"),))
    return [wish, *failed, *_run(2 * number + 1, f"tides --high --at z{number}", f"harbour: z{number}")]


def _session(turns_of: Callable[[int], list[Turn]], calls: int) -> Trace:
    turns = [turn for number in range(calls) for turn in turns_of(number)]
    begins = Turn(Role.USER, (Part("text", "When is high tide in each harbour?"),))
    ends = Turn(Role.ASSISTANT, (Part("text", "I could not see 17 of them."),), generation=Generation())
    return Trace(turns=(begins, *turns, ends), provenance=Provenance(source="claude-code", record="line 1"))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("turns_of", [_denied, _changed, _corrected, _fetched, _refused])
def test_work_grows_with_the_calls(turns_of: Callable[[int], list[Turn]]) -> None:
    short, long = (_session(turns_of, calls) for calls in (_CALLS, _TIMES * _CALLS))
    inspect_trace(_session(turns_of, 2))  # what is made once
    work = functions_run(lambda: inspect_trace(short))
    assert functions_run(lambda: inspect_trace(long)) <= _MOST * work
