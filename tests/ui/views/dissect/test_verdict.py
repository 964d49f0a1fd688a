"""The verdict on a trace: where it lands, and that a wide trace is not gone through for it."""

import pytest

from tests.counted_columns import counted
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.ui.views.diagnostic import BreakFacts
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.side import initial_position, verdict

GOOD = '<tool_call>\n{"name": "f%d", "arguments": {}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name": "f%d", "arguments": {,}}\n</tool_call>'
RESULT = '<tool_response>\n{"content": "%s"}\n</tool_response>'


def read(*turns: tuple[Role, str]) -> tuple[Trace, Inspection]:
    trace = Trace(tuple(Turn(role, (Part("text", text),)) for role, text in turns))
    return trace, inspect_trace(trace, format="hermes")


def said(trace: Trace, inspection: Inspection) -> list[object]:
    lines = verdict(Dissection(trace, inspection), 80)
    return [(lines.line(index, 80), lines.location(index)) for index in range(lines.count)]


def wide(kind: str) -> tuple[Trace, Inspection]:
    """Broken calls, each made again well but for those in the middle, in many turns or in few."""
    tries = [(BROKEN % number, RESULT % "no JSON") for number in range(400)]
    again = [(GOOD % number, RESULT % number) for number in range(400) if number // 10 != 20]
    last = (Role.ASSISTANT, "Some failed, sorry.")
    if kind == "spans":
        rounds = [tuple(map("\nwords\n".join, zip(*variants, strict=True))) for variants in (tries, again)]
    else:
        rounds = [*tries, *again]
    return read(*(turn for call, result in rounds for turn in ((Role.ASSISTANT, call), (Role.TOOL, result))), last)


@pytest.mark.parametrize("kind", ["spans", "turns"])
def test_of_a_wide_trace_the_verdict_looks_at_little_once_its_gist_is_gathered(kind: str) -> None:
    trace, inspection = wide(kind)
    in_columns, inspected, looks = counted(trace, inspection)
    dissection = Dissection(in_columns, inspected)
    _ = dissection.steps
    dissection.gist.gather()
    gathered = looks.count
    shown = verdict(dissection, 80)
    assert [(shown.line(index, 80), shown.location(index)) for index in range(shown.count)] == said(trace, inspection)
    assert looks.count - gathered < 500


def test_the_landing_is_the_fault_of_the_broken_step_itself() -> None:
    both, once = f"{BROKEN % 1}\n{BROKEN % 2}", (Role.TOOL, RESULT % "1")
    inspection = read((Role.ASSISTANT, both), (Role.TOOL, "no JSON"), (Role.ASSISTANT, GOOD % 1), once)[1]
    initial = initial_position(inspection)
    assert inspection.chain.broken is not None
    assert initial is not None
    broken = inspection.chain.steps[inspection.chain.broken.step - 1]
    assert inspection.chain.broken.step == 2
    assert broken.location.range.covers(initial.range)


def test_without_a_break_the_landing_is_the_first_error_else_the_first_fault() -> None:
    trace, inspection = read(
        (Role.ASSISTANT, f"<think>{GOOD % 1}"), (Role.TOOL, RESULT % "1"), (Role.ASSISTANT, "Done.</think>")
    )
    whole, gist = list(inspection.diagnostics), BreakFacts(trace, inspection)
    severities = [diagnostic.rule.severity.value for diagnostic in whole]
    assert inspection.chain.broken is None
    first = severities.index("error") if "error" in severities else 0
    assert initial_position(inspection) == initial_position(inspection, gist) == whole[first].location
    assert sum(gist.severities.values()) == len(whole)


def test_a_trace_without_faults_has_no_landing() -> None:
    trace, inspection = read((Role.ASSISTANT, "Done."))
    assert initial_position(inspection) is initial_position(inspection, BreakFacts(trace, inspection)) is None
