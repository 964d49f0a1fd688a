"""Identical calls made again."""

import pytest

from tests.chain.building import chain_of, codes, inspection_of


def retries(*lines: str) -> list[int | None]:
    return [step.retry_of for step in chain_of(*lines).steps]


CALL, ERROR = 'call: book {"seat": "12A", "day": 3}', "result: Error: no such seat"


def test_each_names_the_first_of_its_run() -> None:
    assert retries(CALL, ERROR, CALL, ERROR, CALL, ERROR) == [None, 1, 1]


def test_the_order_of_arguments_and_white_space_does_not_matter() -> None:
    assert retries(CALL, ERROR, 'call: book { "day":3,"seat":"12A" }', ERROR) == [None, 1]


def test_another_argument_or_type_is_another_call() -> None:
    assert retries(CALL, ERROR, 'call: book {"seat": "12A", "day": "3"}', ERROR) == [None, None]
    assert retries(CALL, ERROR, 'call: hold {"seat": "12A", "day": 3}', ERROR) == [None, None]


def test_the_same_call_that_brings_something_new_is_a_new_request() -> None:
    assert retries("call: tests", "result: 3 pass", "call: tests", "result: 4 pass") == [None, None]
    assert retries("call: state", "result: running", "call: state", "result: running") == [None, 1]


def test_a_broken_call_is_compared_by_its_text() -> None:
    assert retries("call: f {'a'", "say: Hm", "call: f {'a'", "say: Hm", "call: f {'b'") == [None, 1, None]


def test_going_in_circles_is_reported_at_the_second_call_and_later() -> None:
    inspection = inspection_of(CALL, ERROR, CALL, ERROR, CALL, ERROR, "say: I could not book it.")
    repeats = [diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T408"]
    assert [repeat.location.turn for repeat in repeats] == [3, 5]
    assert "for the 3rd time and with the same result" in repeats[1].fault.message


def test_a_repetition_that_works_or_comes_after_other_work_is_no_circle() -> None:
    assert "T408" not in codes(inspection_of(CALL, ERROR, CALL, "result: booked"))
    edit = ('call: edit {"file": "a.py"}', "result: saved")
    assert "T408" not in codes(inspection_of("call: test", "result: Error: 3", *edit, "call: test", "result: Error: 2"))
    assert "T408" in codes(inspection_of("call: test", "result: Error: 3", *edit, "call: test", "result: Error: 3"))


def test_looking_again_after_something_may_have_changed_is_no_loop() -> None:
    look, seen = 'call: list_seats {"flight": "HA12"}', "result: 12A"
    assert "T408" in codes(inspection_of(look, seen, look, seen))
    assert "T408" in codes(inspection_of(look, seen, 'call: get_user {"id": "u1"}', "result: Li", look, seen))
    assert "T408" not in codes(inspection_of(look, seen, 'call: book {"seat": "12A"}', "result: no", look, seen))


def test_the_hint_of_a_repeated_call_fits_its_result() -> None:
    def hint(*lines: str) -> str | None:
        return next(
            diagnostic.fault.hint for diagnostic in inspection_of(*lines).diagnostics if diagnostic.rule.code == "T408"
        )

    assert hint(CALL, ERROR, CALL, ERROR) == "Change the arguments, or stop and say what failed."
    assert hint(CALL, "result: 4", CALL, "result: 4") == "Continue with the existing result."


@pytest.mark.parametrize(("count", "reported"), [(1, 0), (3, 1), (20, 1)])
def test_identical_calls_of_one_turn_are_one_diagnostic_with_their_count(count: int, reported: int) -> None:
    inspection = inspection_of("call: f", *["also: f"] * (count - 1), *["result: 1"] * count)
    repeats = [diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T408"]
    assert len(repeats) == reported
    assert all(f"is called {count} times in this turn" in repeat.fault.message for repeat in repeats)
