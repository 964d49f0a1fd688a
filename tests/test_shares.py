"""Shares of cases: each case is checked once, and each that fails is reported."""

import pytest

from tests.shares import in_shares


def test_every_case_is_checked_and_every_failure_names_its_case() -> None:
    seen: list[int] = []

    @in_shares(range(10), 3)
    def check(case: int) -> None:
        seen.append(case)
        assert case % 4

    shares = check.pytestmark[0].args[1]  # type: ignore[attr-defined]  # as pytest marks a function
    failed = []
    for share in shares:
        try:
            check(share)
        except ExceptionGroup as group:
            failed += [note for error in group.exceptions for note in error.__notes__]
    assert sorted(seen) == list(range(10))
    assert sorted(failed) == ["case: 0", "case: 4", "case: 8"]


def test_a_failure_that_is_no_assertion_fails_its_share() -> None:
    @in_shares(["a", "1"], 1)
    def check(case: str) -> None:
        int(case)

    with pytest.raises(ExceptionGroup, match="1 of 2 cases"):
        check(["a", "1"])
