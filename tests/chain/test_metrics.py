"""The figures of single traces, and what measures make of many."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.metrics import BY_NAME, MEASURES, Estimate, Tally, added, difference, estimate, tallies_of
from weaklink.inspector.chain.metrics_figures import SchemaViolationCount, TraceFigures, figures_of
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Generation,
    Instant,
    InstantSource,
    Json,
    Outcome,
    Part,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)

CITY: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = (ToolDefinition("get_weather", "The weather", CITY), ToolDefinition("get_time", "The time"))
TOLD = '<tools>\n[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"]}}]\n</tools>'


def offered(trace: Trace, tools: tuple[ToolDefinition, ...] = TOOLS) -> Trace:
    """The trace, its assistant turns asked for with these tools."""
    turns = (
        replace(turn, generation=replace(turn.generation or Generation(), tools=tools))
        if turn.role is Role.ASSISTANT
        else turn
        for turn in trace.turns
    )
    return replace(trace, turns=tuple(turns))


def figures(trace: Trace) -> TraceFigures:
    inspection = inspect_trace(trace, format="hermes")
    definitions = [(part.turn, tool) for part in inspection.parts for tool in part.definitions]
    return figures_of(trace, inspection.chain, inspection.diagnostics, definitions)


def estimated(name: str, traces: Iterable[TraceFigures]) -> Estimate:
    tallies = added(tallies_of(trace_figures.numbers()) for trace_figures in traces)
    return estimate(BY_NAME[name], tallies.get(name, Tally()))


def test_calls_are_counted_by_what_became_of_them() -> None:
    trace_figures = figures(
        offered(
            trace_of(
                "user: What is the weather?",
                'call a: get_weather {"city": "Oslo"}',
                'also b: get_weather {"city": 5}',
                'also c: get_weather {"city": "Rome",}',
                'also d: get_time {"zone": "UTC"}',
                "result a: 4 degrees",
                "result b: Error: no such city",
                "result c: Error: invalid arguments",
                "result d!: no clock",
                "say: It is 4 degrees in Oslo.",
            )
        )
    )
    counts = trace_figures.calls
    assert (counts.calls, counts.well_formed, counts.checked, counts.compliant) == (4, 3, 3, 1)
    assert (counts.answered, counts.error_results) == (4, 1)
    assert counts.failed == 3
    assert (trace_figures.calling_turns, trace_figures.parallel_turns) == (1, 1)
    assert trace_figures.tools["get_time"].checked == 0, "a tool without a schema breaks none"
    assert trace_figures.violations == (SchemaViolationCount("get_weather", "/city", "S202", 1),)
    assert sum(tool_counts.calls for tool_counts in trace_figures.tools.values()) == counts.calls


def test_a_call_that_was_not_checked_neither_keeps_nor_breaks_its_schema() -> None:
    half = r'{"city": "\ud800"}'
    trace_figures = figures(offered(trace_of("user: Weather?", f"call a: get_weather {half}", "result a: ok")))
    assert (trace_figures.calls.calls, trace_figures.calls.checked, trace_figures.calls.compliant) == (1, 0, 0)
    assert trace_figures.codes["S210"] == 1


def test_a_schema_that_the_system_prompt_tells_is_known_to_the_turns_after_it() -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>'
    turns = (
        Turn(Role.ASSISTANT, (Part("text", call),)),
        Turn(Role.SYSTEM, (Part("text", TOLD),)),
        Turn(Role.ASSISTANT, (Part("text", call),)),
    )
    trace_figures = figures(Trace(turns))
    assert (trace_figures.calls.calls, trace_figures.calls.checked, trace_figures.calls.compliant) == (2, 1, 0)
    assert trace_figures.violations == (SchemaViolationCount("get_weather", "", "S201", 1),)


def test_places_in_lists_are_one_place() -> None:
    days: Json = {"type": "object", "properties": {"days": {"type": "array", "items": {"type": "integer"}}}}
    trace_figures = figures(
        offered(
            trace_of("user: Plan.", 'call a: plan {"days": ["x", 2, "y"]}', "result a: ok"),
            (ToolDefinition("plan", "Plans", days),),
        )
    )
    assert trace_figures.violations == (SchemaViolationCount("plan", "/days/*", "S202", 2),)


@pytest.mark.parametrize(
    ("reward", "succeeds"), [(None, 1), (1.0, 1), (0.0, 0)], ids=["unsaid", "counted a success", "counted a failure"]
)
def test_two_calls_that_went_well_are_a_success_unless_the_source_denies_it(
    reward: float | None, succeeds: int
) -> None:
    outcome = None if reward is None else Outcome(reward=reward)
    lines = ("user: Go.", "call a: one {}", "result a: 1", "call b: two {}", "result b: 2", "say: Done.")
    numbers = figures(trace_of(*lines, outcome=outcome)).numbers()
    assert (numbers["is_multi_step"], numbers["is_multi_step_success"]) == (1, succeeds)
    assert numbers["is_judged"] == (reward is not None)


def test_one_call_is_no_chain_of_several() -> None:
    numbers = figures(trace_of("user: Go.", "call a: one {}", "result a: 1", "say: Done.")).numbers()
    assert (numbers["is_multi_step"], numbers["is_multi_step_success"]) == (0, 0)


def timed(ended: Instant | None, next_started: Instant | None) -> Trace:
    trace = trace_of("user: Go.", "call a: one {}", "result a: 1", "say: Done.", last=Generation(started=next_started))
    first = replace(trace.turns[1], generation=Generation(ended=ended))
    return replace(trace, turns=(trace.turns[0], first, *trace.turns[2:]))


def test_a_tools_latency_is_from_the_end_of_its_call_to_the_next_request() -> None:
    counts = figures(timed(Instant(100.0), Instant(100.25))).calls
    assert (counts.timed, counts.latency_ms) == (1, 250)


@pytest.mark.parametrize(
    ("ended", "following"),
    [
        (None, Instant(5.0)),
        (Instant(5.0), None),
        (Instant(5.0), Instant(4.0)),
        (Instant(5.0, InstantSource.DERIVED), Instant(6.0)),
    ],
    ids=["no end", "no next request", "times that run backwards", "a time that was made up"],
)
def test_a_latency_that_was_not_recorded_is_not_counted(ended: Instant | None, following: Instant | None) -> None:
    assert figures(timed(ended, following)).calls.timed == 0


def test_what_was_never_tried_has_no_value() -> None:
    talk = figures(trace_of("user: Hello.", "say: Hello."))
    for name in ("schema_compliance", "error_recovery", "multi_step_success", "well_formed", "tool_selection"):
        assert estimated(name, [talk] * 9).value is None, name


def test_over_too_few_traces_a_value_has_no_interval() -> None:
    trace_figures = figures(trace_of("user: Go.", "call a: one {}", "result a: 1", "say: Done."))
    assert estimated("well_formed", [trace_figures] * 4).interval is None
    assert estimated("well_formed", [trace_figures] * 4).value == 1.0
    assert estimated("well_formed", [trace_figures] * 5).interval is not None


def test_shares_stay_within_nothing_and_all() -> None:
    good = figures(trace_of("user: Go.", "call a: one {}", "result a: 1", "say: Done."))
    bad = figures(trace_of("user: Go.", "call a: one {,}", "also b: one {}", "say: Done."))
    for measure in MEASURES:
        share = estimated(measure.name, [good, bad] * 5)
        if share.interval is not None and measure.name not in ("calls_per_turn", "calls_per_trace", "latency_ms"):
            assert share.value is not None
            assert 0 <= share.interval.low <= share.value <= share.interval.high <= 1, measure.name


def test_a_difference_over_too_few_traces_is_not_judged() -> None:
    measure = BY_NAME["broken"]
    many, few = Tally(9, 3, 9, 3, 3, 9), Tally(4, 3, 4, 3, 3, 4)
    assert difference(measure, many, few) is None
    assert difference(measure, many, many) is not None


def test_the_numbers_of_a_tool_say_whether_the_chain_broke_at_it() -> None:
    trace_figures = figures(
        trace_of("user: Go.", "call a: one {}", "result a: 1", "call b: two {,}", "user: And?", "say: No.")
    )
    assert trace_figures.status is Status.BROKEN
    assert [trace_figures.numbers_of(tool)["is_broken"] for tool in ("one", "two")] == [0, 1]


def test_measures_bear_names_of_their_own() -> None:
    assert len({measure.name for measure in MEASURES}) == len({measure.title for measure in MEASURES}) == len(MEASURES)
