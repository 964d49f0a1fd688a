"""Thousands of short cases in a few tests: pytest spends three milliseconds on each test, and most such cases one."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def in_shares(
    cases: Iterable[Case], count: int = 24
) -> Callable[[Callable[[Case], None]], Callable[[list[Case]], None]]:
    """Make a check of one case a test of every share of them: each case is checked, and each that fails is shown."""
    every = list(cases)
    shares = [every[number::count] for number in range(min(count, len(every)))]

    def over(check: Callable[[Case], None]) -> Callable[[list[Case]], None]:
        @pytest.mark.parametrize("share", shares, ids=range(1, len(shares) + 1))
        def checked(share: list[Case]) -> None:
            failed = [error for case in share for error in _failure(check, case)]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(share)} cases", failed)

        checked.__name__, checked.__module__, checked.__doc__ = check.__name__, check.__module__, check.__doc__
        return checked

    return over


def _failure(check: Callable[[Case], None], case: Case) -> list[Exception]:
    try:
        check(case)
    except Exception as error:  # noqa: BLE001  # whatever a case raises fails it, and the next one is checked too
        error.add_note(f"case: {case!r}")
        return [error]
    return []
