"""Metrics as lines: what they say, that they fit, and that no name in them is obeyed by a terminal."""

import re

import pytest

from weaklink.inspector.chain.metrics import BY_NAME, FEWEST, added, estimate, tallies_of
from weaklink.inspector.chain.metrics_figures import TRACE_NUMBERS
from weaklink.inspector.chain.metrics_groups import GroupFigures, GroupKey, Slice, compared_groups
from weaklink.inspector.checks.schema_complexity import SchemaComplexity
from weaklink.storage.statistics import Prompt, Violations
from weaklink.ui.cli.stats import statistics_object
from weaklink.ui.views.stats import Statistics, statistics_lines
from weaklink.ui.views.styled_text import cell_width, plain
from weaklink.ui.views.triage import bar, page_difference_text, page_value_text, percent

HOSTILE = "mo\x1b[31mdel\u202e\n\x00 " + "長" * 90


def group(*keys: str, traces: int, broken: int, calls: int = 2) -> GroupFigures:
    """So many traces of so many calls each, the first of them broken at one."""
    sums = []
    for number in range(traces):
        is_broken = number < broken
        counts = dict.fromkeys(TRACE_NUMBERS, 0) | {
            "calls": calls,
            "well_formed": calls - is_broken,
            "checked": calls,
            "compliant": calls - is_broken,
            "answered": calls,
            "failed": int(is_broken),
            "calling_turns": calls,
            "is_broken": int(is_broken),
            "is_ok": int(not is_broken),
            "is_multi_step": int(calls > 1),
            "is_multi_step_success": int(calls > 1 and not is_broken),
        }
        sums.append(tallies_of(counts))
    return GroupFigures(keys, added(sums))


def shown(statistics: Statistics, width: int = 80, *, full: bool = False) -> str:
    lines = [plain(line) for line in statistics_lines(statistics, width=width, full=full)]
    assert max(map(cell_width, lines)) <= width
    return "\n".join(lines)


def whole(**others: object) -> Statistics:
    return Statistics(group(traces=412, broken=96), **others)  # type: ignore[arg-type]  # what each test adds


def by_model(*groups: GroupFigures, compares: bool = False) -> Statistics:
    comparisons = compared_groups(groups, groups[0]) if compares else []
    return whole(
        by=(GroupKey.MODEL,),
        groups=groups,
        comparisons=comparisons,
        baseline=groups[0] if compares else None,
    )


def test_the_first_sentence_says_how_many_broke_and_by_what() -> None:
    steps = [Slice((), "1", 20), Slice((), "3", 70), Slice((), "12", 6)]
    codes = [Slice((), "J104", 60), Slice((), "error-result", 36)]
    said = shown(whole(steps=steps, codes=codes), 160).splitlines()[0]
    assert said == (
        "412 traces, 96 broken (23 %, 19–28). Most breaks: J104 trailing-comma (60 of 96), at step 3 (70 of 96)."
    )


def test_every_measure_has_its_value_its_interval_and_its_counts() -> None:
    text = shown(whole())
    assert re.search(r"broken +0\.23 \(0\.19–0\.28\) +412 +412  █", text)
    assert re.search(r"schema compliance +0\.88 \(0\.86–0\.90\) +824 +412", text)
    assert re.search(r"calls per turn +1\.00 \(all equal\)", text)


def test_measures_that_no_trace_has_are_left_out() -> None:
    text = shown(whole())
    assert "schema compliance" in text
    assert "tool selection" not in text
    assert "source's success" not in text


def test_far_steps_stand_together() -> None:
    steps = [Slice((), str(step), 1) for step in (1, 2, 10, 11, 20, 21, 100, 101, 5000)]
    text = shown(whole(steps=steps, codes=[Slice((), "J104", 9)]))
    for name, traces in (("10", 1), ("11–20", 2), ("21–50", 1), ("51–100", 1), ("101 or later", 2)):
        assert re.search(rf"^{name} +{traces} ", text, re.MULTILINE), name


def test_first_faults_add_up_to_all() -> None:
    codes = [Slice((), f"J1{number:02}", 20 - number) for number in range(1, 12)]
    text = shown(whole(codes=codes, steps=[Slice((), "1", 154)]))
    assert "J102 truncated-json" in text
    assert re.search(r"^3 others +\d+ +\d+ % +100 %", text, re.MULTILINE)


def test_groups_with_too_few_traces_say_so() -> None:
    text = shown(by_model(group("hermes-4", traces=60, broken=20), group("qwen3", traces=4, broken=1)), 160)
    assert re.search(r"hermes-4 +60 +██ +0\.33 \(0\.23–0\.46\)", text)
    assert re.search(r"qwen3 +4 .*0\.25 \(too few\)", text)


def test_many_small_groups_are_counted_and_shown_in_full() -> None:
    result = by_model(*(group(f"model-{number:03}", traces=2, broken=0) for number in range(100)))
    short, full = shown(result), shown(result, full=True)
    assert "model-011" in short
    assert "model-012" not in short
    assert "and 88 smaller groups, which --full shows" in short
    assert "model-099" in full
    assert "parallel turns" in full


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_nothing_of_a_hostile_trace_is_obeyed_and_every_line_fits(width: int) -> None:
    result = whole(
        by=(GroupKey.MODEL, GroupKey.PROMPT),
        groups=[group(HOSTILE, "0123456789ab", traces=9, broken=3), group("", "", traces=7, broken=0)],
        prompts={"0123456789ab": Prompt(HOSTILE, 3)},
        violations=[Violations(HOSTILE, "/" + HOSTILE, "S202", 3, 2)],
        steps=[Slice((), "1", 3)],
        codes=[Slice((), HOSTILE, 3)],
        aborts=[Slice((), HOSTILE, 3)],
    )
    for text in (shown(result, width), shown(result, width, full=True)):
        assert not set(text) & {"\x1b", "\u202e", "\x00"}
        assert "␛" in text


def test_a_clear_difference_is_more_than_noise_and_a_small_one_is_not() -> None:
    clear = by_model(
        group("a", traces=200, broken=20),
        group("b", traces=150, broken=90),
        group("c", traces=100, broken=9),
        compares=True,
    )
    text = shown(clear, 160)
    assert "more than noise (Holm-corrected, at 5 %); the clearest: " in text
    assert re.search(r"model b +broken +\+0\.50 \(\+0\.41 to \+0\.58\) +<0\.001 +more than noise", text)
    assert re.search(r"model c +broken +−0\.01 \(.*\) +1\.00 +may be noise", text)


def test_no_difference_is_said_too() -> None:
    alike = by_model(group("a", traces=50, broken=5), group("b", traces=50, broken=6), compares=True)
    assert "is more than noise" in shown(alike, 160).splitlines()[1]
    assert shown(alike, 160).splitlines()[1].startswith("None of ")


def test_groups_too_small_to_compare_say_so() -> None:
    few = by_model(group("a", traces=4, broken=1), group("b", traces=3, broken=2), compares=True)
    assert "one side has fewer than 5 traces" in shown(few, 160)


def test_groups_that_share_traces_are_not_taken_for_independent() -> None:
    result = whole(
        by=(GroupKey.TOOL,),
        groups=(groups := [group("a", traces=9, broken=1), group("b", traces=9, broken=8)]),
        comparisons=compared_groups(groups, groups[0]),
        baseline=groups[0],
    )
    assert "treat p as a hint" in shown(result, 160)


def test_compliance_is_told_by_the_depth_of_schemas() -> None:
    groups = [group("flat", traces=9, broken=0), group("deep", traces=9, broken=8), group("told", traces=9, broken=0)]
    schemas = {"flat": SchemaComplexity(2, 3), "deep": SchemaComplexity(4, 9, 2, 1)}
    text = shown(whole(by=(GroupKey.TOOL,), groups=groups, schemas=schemas), 100)
    assert re.search(r"^ +2 +1 +0 +18 +1\.00 \(0\.70–1\.00\)", text, re.MULTILINE)
    assert re.search(r"^ +4 +1 +1 +18 +0\.56 \(", text, re.MULTILINE)
    assert re.search(r"^deep +4 +9 +2 +1 +0\.56 \(", text, re.MULTILINE)
    assert text.index("deep   ", text.index("most complex")) < text.index("flat ", text.index("most complex"))


def test_json_has_every_key_for_traces_and_for_none() -> None:
    result = by_model(group("", traces=9, broken=1), group("b", traces=9, broken=8), compares=True)
    full, empty = statistics_object(result), statistics_object(Statistics(None))
    assert full.keys() == empty.keys()
    assert empty["traces"] == 0
    groups = full["groups"]
    assert isinstance(groups, list)
    assert isinstance(groups[0], dict)
    assert groups[0]["keys"] == {"model": None}


def test_a_bar_is_drawn_to_the_eighth_and_never_empty_for_something() -> None:
    assert [bar(share, 4) for share in (0, 0.001, 0.5, 0.53125, 1, 7)] == ["", "▏", "██", "██▏", "████", "████"]


def test_a_share_near_nothing_is_not_rounded_to_it() -> None:
    assert [percent(share) for share in (0, 0.001, 0.23, 0.999, 1)] == ["0", "0.1", "23", "99.9", "100"]


def test_pages_write_shares_in_per_cent_and_of_few_traces_how_many_they_are() -> None:
    broken, calls = BY_NAME["broken"], BY_NAME["calls_per_trace"]
    many, few = group("m", traces=40, broken=10), group("m", traces=3, broken=2)
    assert page_value_text(estimate(broken, many.tally("broken")), FEWEST) == "25 % (14–40)"
    assert page_value_text(estimate(broken, few.tally("broken")), FEWEST) == "67 % (2 of 3)"
    assert page_value_text(estimate(calls, few.tally("calls_per_trace")), FEWEST).startswith("2.00 (")
    assert page_value_text(estimate(BY_NAME["error_recovery"], GroupFigures((), {}).tally("x")), FEWEST) == "-"
    assert (page_difference_text(broken, -0.1234), page_difference_text(calls, 0.5)) == ("−12.3", "+0.50")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_bar_is_on_the_line_of_its_number(width: int) -> None:
    slices = (Slice((), "J106", 9), Slice((), "T406", 9), Slice((), "S201", 1))
    shown = [plain(line) for line in statistics_lines(whole(codes=slices, steps=[Slice((), "1", 19)]), width=width)]
    assert max(map(cell_width, shown)) <= width
    assert not [line for line in shown if line.strip() and not line.strip(" █▏▎▍▌▋▊▉")]
