"""Traces in groups, their breaks counted, and groups compared."""

import pytest

from tests.chain.building import inspection_of, trace_of
from weaklink.inspector.chain.metrics import added, tallies_of
from weaklink.inspector.chain.metrics_figures import TraceFigures, figures_of
from weaklink.inspector.chain.metrics_groups import (
    Aspect,
    FigureGroups,
    FigureSlices,
    GroupFigures,
    GroupKey,
    Slice,
    TraceKeys,
    compared_groups,
)

GOOD = ("user: Go.", "call a: one {}", "result a: 1", "call b: two {}", "result b: 2", "say: Done.")
BROKEN = ("user: Go.", "call a: one {}", "result a: 1", "call b: two {,}", "user: And?", "say: No.")
HERE, THERE = TraceKeys(model="a", day="2026-11-21"), TraceKeys(model="b")


def figures(*lines: str) -> TraceFigures:
    inspection = inspection_of(*lines)
    return figures_of(trace_of(*lines), inspection.chain, inspection.diagnostics)


def grouped(*by: GroupKey) -> list[GroupFigures]:
    groups = FigureGroups(by)
    for keys, lines in ((HERE, GOOD), (HERE, BROKEN), (THERE, GOOD)):
        groups.add(keys, figures(*lines))
    return groups.all()


def test_a_trace_stands_in_the_group_of_each_of_its_keys() -> None:
    assert [(group.keys, group.traces) for group in grouped(GroupKey.MODEL)] == [(("a",), 2), (("b",), 1)]
    assert [(group.keys, group.traces) for group in grouped(GroupKey.DAY, GroupKey.MODEL)] == [
        (("2026-11-21", "a"), 2),
        (("", "b"), 1),
    ]


def test_without_keys_all_traces_are_one_group() -> None:
    (whole,) = grouped()
    assert (whole.keys, whole.traces, whole.tally("broken").hits) == ((), 3, 1)
    assert FigureGroups().all() == []


def test_a_tools_group_counts_its_own_calls_and_breaks_alone() -> None:
    group_of_one, group_of_two = sorted(grouped(GroupKey.TOOL), key=lambda group: group.keys)
    assert [(group.traces, group.tally("broken").hits) for group in (group_of_one, group_of_two)] == [(3, 0), (3, 1)]
    assert (group_of_two.tally("well_formed").hits, group_of_two.tally("well_formed").trials) == (2, 3)
    assert group_of_two.tally("multi_step_success").trials == 0


def test_a_code_groups_the_traces_that_it_was_found_in() -> None:
    by_code = {group.keys[0]: group for group in grouped(GroupKey.CODE)}
    assert {code: group.traces for code, group in by_code.items() if code.startswith("J1")} == {"J126": 1}


def test_breaks_are_told_by_step_code_and_tool() -> None:
    for aspect, value in (
        (Aspect.STEP, "2"),
        (Aspect.CODE, "J126"),
        (Aspect.TOOL, "two"),
        (Aspect.OUTCOME, "malformed"),
    ):
        slices = FigureSlices(aspect, [GroupKey.MODEL])
        slices.add(HERE, figures(*BROKEN))
        slices.add(THERE, figures(*GOOD))
        assert slices.all() == [Slice(("a",), value, 1)], aspect


def test_a_break_without_a_result_is_counted_by_its_rule() -> None:
    slices = FigureSlices(Aspect.CODE)
    slices.add(HERE, figures("user: Go.", "call a: one {}", "user: And?", "say: No."))
    assert [part.value for part in slices.all()] == ["T404"]


def test_what_cannot_be_grouped_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="both tool and code"):
        FigureGroups([GroupKey.TOOL, GroupKey.CODE])
    with pytest.raises(ValueError, match="duplicate key"):
        FigureGroups([GroupKey.DAY, GroupKey.DAY])
    with pytest.raises(ValueError, match="aspect"):
        FigureSlices(Aspect.STEP, [GroupKey.CODE])


def of_model(name: str, *, good: int, broken: int) -> GroupFigures:
    numbers = [figures(*GOOD).numbers()] * good + [figures(*BROKEN).numbers()] * broken
    return GroupFigures((name,), added(map(tallies_of, numbers)))


def test_groups_are_held_against_one_of_them_with_all_comparisons_corrected_together() -> None:
    base, other, alike = (
        of_model("a", good=40, broken=4),
        of_model("b", good=6, broken=30),
        of_model("c", good=36, broken=4),
    )
    comparisons = compared_groups([base, other, alike], base)
    assert {comparison.group.keys for comparison in comparisons} == {("b",), ("c",)}
    broken = {comparison.group.keys[0]: comparison for comparison in comparisons if comparison.measure.name == "broken"}
    assert broken["b"].is_more_than_noise
    assert not broken["c"].is_more_than_noise
    raw = sorted(comparison.difference.p for comparison in comparisons if comparison.difference is not None)
    smallest = min(comparison.adjusted_p for comparison in comparisons if comparison.adjusted_p is not None)
    assert smallest == pytest.approx(raw[0] * len(raw), rel=1e-9)


def test_too_few_traces_are_compared_without_a_verdict() -> None:
    base, few = of_model("a", good=40, broken=4), of_model("b", good=1, broken=3)
    (broken,) = (comparison for comparison in compared_groups([base, few], base) if comparison.measure.name == "broken")
    assert (broken.difference, broken.adjusted_p, broken.is_more_than_noise) == (None, None, False)
