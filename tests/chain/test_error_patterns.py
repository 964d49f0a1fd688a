"""A user's own signs of a failed result."""

import pytest

from tests.chain.building import trace_of
from weaklink.inspector.errors import InvalidPatternError, WeaklinkError
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace

CALL = 'call: book {"seat": "12A"}'


def inspected(result: str, *patterns: str, call: str = CALL) -> Inspection:
    trace = trace_of("user: Book 12A.", call, f"result: {result}", "say: Booked.")
    return inspect_trace(trace, format="hermes", error_patterns=patterns)


def test_a_result_that_a_pattern_matches_is_an_error_by_its_words() -> None:
    result = "Thank you.\n  Status: NO-GO, seat taken\nGoodbye."
    assert inspected(result).chain.steps[0].outcome == "ok"
    inspection = inspected(result, r"unlikely", r"\bNO-GO\b")
    step = inspection.chain.steps[0]
    assert (step.outcome, step.certainty, step.error) == ("error-result", "textual", "Status: NO-GO, seat taken")
    assert inspection.chain.broken is not None
    assert "with an error (`Status: NO-GO, seat taken`)" in inspection.chain.broken.message
    words_range = next(diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T406").range
    assert words_range.of(result) == "Status: NO-GO, seat taken"


def test_a_surer_sign_goes_before_a_pattern_and_a_pattern_before_a_promise_of_success() -> None:
    step = inspected('{"error": "taken", "code": "NO-GO"}', "NO-GO").chain.steps[0]
    assert (step.certainty, step.error) == ("structured", "taken")
    assert inspected('{"success": true, "note": "NO-GO"}', "NO-GO").chain.steps[0].outcome == "error-result"


def test_what_a_command_is_let_off_for_a_pattern_may_still_forbid() -> None:
    read = 'call: bash {"command": "cat log.txt"}'
    log = "x\n" * 200 + "Traceback (most recent call last):\nValueError: no"
    assert inspected(log, call=read).chain.steps[0].outcome == "ok"
    assert inspected(log, "^ValueError", call=read).chain.steps[0].outcome == "ok"  # `^` is the text's beginning
    assert inspected(log, "(?m)^ValueError", call=read).chain.steps[0].error == "ValueError: no"


@pytest.mark.parametrize(("before", "is_found"), [(65_000, True), (70_000, False)])
def test_both_ends_of_a_long_result_are_searched_and_its_middle_is_not(before: int, is_found: bool) -> None:
    result = "x" * before + "NO-GO" + "y" * (200_000 - before)
    assert (inspected(result, "NO-GO").chain.steps[0].error is not None) == is_found
    assert (inspected(result[::-1], "OG-ON").chain.steps[0].error is not None) == is_found


def test_the_words_are_one_line_of_bounded_length() -> None:
    error = inspected("x" * 50_000 + "NO-GO" + "x" * 50_000, "NO-GO").chain.steps[0].error
    assert error is not None
    assert "NO-GO" in error
    assert len(error) <= 400


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("(", "is not a valid regular expression"), ("x*", "every result would be an error"), ("", "empty")],
)
def test_a_pattern_that_cannot_serve_is_the_callers_mistake(pattern: str, why: str) -> None:
    with pytest.raises(InvalidPatternError, match=why) as raised:
        inspected("fine", pattern)
    assert isinstance(raised.value, WeaklinkError)
