"""A break always has a rule and a reason: one diagnostic of that rule, at or beside the call or its result."""

import contextlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given

from tests.chain.known_chains import Story, stories
from tests.chain.telling import told
from tests.examples import in_the_gate
from tests.mutations import mutated_texts
from tests.strategies import traces
from weaklink.inspector.chain.steps import StepOutcome
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Json, Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.ui.views.trace_summary import break_words

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for path in [*(ROOT / "sample_traces").iterdir(), *(ROOT / "tests" / "cases" / "importers").glob("*/*")]
    if path.suffix not in (".expected", ".md", ".py") and path.is_file()
)
FAMILIES: dict[StepOutcome, str | tuple[str, ...]] = {
    StepOutcome.MALFORMED: ("J", "F"),
    StepOutcome.UNKNOWN_TOOL: "T401",
    StepOutcome.INVALID: "S2",
    StepOutcome.ERROR_RESULT: "T406",
    StepOutcome.UNANSWERED: ("T404", "L801"),  # no result, or the server left the call in the content
}


def check(inspection: Inspection) -> StepOutcome | None:
    """The outcome of the broken step, whose break names a rule that was reported in the same turn or for its result."""
    broken = inspection.chain.broken
    if broken is None:
        return None
    step = inspection.chain.steps[broken.step - 1]
    places = {location.turn for location in (step.location, step.result_location) if location is not None}
    reported = {diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.location.turn in places}
    assert broken.code.startswith(FAMILIES[broken.outcome])
    assert broken.code in reported
    assert broken.message.strip()
    assert find_rule(broken.code).name in "".join(run.text for run in break_words(broken))
    return broken.outcome


def test_every_failing_outcome_has_a_family_of_rules() -> None:
    assert set(FAMILIES) == {outcome for outcome in StepOutcome if outcome.failed}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_breaks_of_recorded_traces(path: Path) -> None:
    with contextlib.suppress(UnreadableFileError):
        for record in read_source(path).records:
            if isinstance(record, Trace):
                check(inspect_trace(record))


@in_the_gate(20)
@given(story=stories())
def test_breaks_of_made_up_chains(story: Story) -> None:
    check(inspect_trace(told(story)))


@in_the_gate(20)
@given(trace=traces())
def test_breaks_of_made_up_traces(trace: Trace) -> None:
    check(inspect_trace(trace, format="hermes"))


SCHEMA: Json = {"type": "object", "required": ["city"]}
TOOLS = (ToolDefinition("get_time", "", SCHEMA, "", None),)


def conversations(seed: int, count: int) -> Iterable[tuple[Trace, str]]:
    """Conversations in which the model says a damaged text, and goes on; the request offers a tool."""
    for mutated in mutated_texts(seed, count):
        said = Turn(Role.ASSISTANT, (Part("text", mutated.text),), generation=Generation(tools=TOOLS))
        result = Turn(Role.TOOL, (Part("text", "Error: no such thing"),))
        end = Turn(Role.ASSISTANT, (Part("text", "Well."),))
        yield Trace((Turn(Role.USER, (Part("text", "Go."),)), said, result, end)), mutated.format


def test_breaks_of_damaged_calls() -> None:
    met = Counter(check(inspect_trace(trace, format=name)) for trace, name in conversations(1, 500))
    assert {StepOutcome.MALFORMED, StepOutcome.UNKNOWN_TOOL, StepOutcome.INVALID} <= set(met)
