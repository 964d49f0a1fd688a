"""Dates of an answer, and whether other texts support them.

A claim is a date with a year, month and day (`2025-06-03`, `2025年6月3日`), or with a month's name in English
(`June 3`, `3rd of June 2025`) or in another language that writes the day before it (`3. Juni`, `3 de junio de 2025`).
It is supported by the same day in any notation, also `20250603`, `03/06/2025` in both orders and a Unix time; by a day
that differs by a number of the evidence (`in 5 days`); and, if the evidence has a word such as "tomorrow" or "next", by
a day within a fortnight. Where the evidence has no date at all, the number of the day supports it.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, date, datetime
from functools import cached_property

from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_NAMES = (
    *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug"),
    *("september sept sep", "october oct", "november nov", "december dec"),
)
MONTHS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
"""The number of each month by its English name or abbreviation, in lower case."""
_OTHER_NAMES = (  # German, French, Spanish, Portuguese, Italian, Dutch; without `mars`, which is also a planet
    *("januar jänner janvier enero janeiro gennaio januari", "februar février febrero fevereiro febbraio februari"),
    *("märz marzo março maart", "avril abril aprile", "mai mayo maio maggio mei", "juni juin junio junho giugno"),
    *("juli juillet julio julho luglio", "août agosto augustus", "septembre septiembre setembro settembre"),
    *("oktober octobre octubre outubro ottobre", "novembre noviembre novembro"),
    "dezember décembre diciembre dezembro dicembre",
)
_OTHER_MONTHS = {name: number for number, names in enumerate(_OTHER_NAMES, 1) for name in names.split()}
_ALL_MONTHS = {**_OTHER_MONTHS, **MONTHS}

_ANY_MONTH = rf"(?P<month>{'|'.join(sorted(_ALL_MONTHS, key=len, reverse=True))})\b\.?"
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_PATTERNS = (  # the first one needs no month's name
    lazy_pattern(r"(?<![\w-])(?P<year>[12]\d{3})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)"),
    lazy_pattern(rf"(?i)\b{_MONTH} {_DAY}\b(?:,? (?P<year>[12]\d{{3}})\b)?"),
    lazy_pattern(rf"(?i)\b{_DAY}\.?(?: of| de)? {_ANY_MONTH}(?:(?:,| de| del)? (?P<year>[12]\d{{3}})\b)?"),
    lazy_pattern(r"(?:(?P<year>[12]\d{3})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})日"),
)
_BEGINNINGS = ("月", *dict.fromkeys(name[:3] for name in _ALL_MONTHS))
_COMPACT = lazy_pattern(r"(?<!\d)([12]\d{3})([01]\d)([0-3]\d)(?!\d)")
_SLASHED = lazy_pattern(r"(?<![\d/])(\d{1,2})([/.-])(\d{1,2})\2((?:[12]\d)?\d{2})(?![\d/])")
_UNIX_TIME = lazy_pattern(r"(?<![\d.])1\d{9}(?:\d{3})?(?!\d)")
_RELATIVE = lazy_pattern(
    r"(?i)\b(?:to(?:day|morrow|night)|yesterday|next|last|(?:sun|mon|tues|wednes|thurs|fri|satur)days?|weeks?|weekend)\b"
)
"""A word whose date depends on today: `tomorrow`, `next`, `Monday`, `weekend`."""
_NEAR_DAYS = 14
_MAX_DATES = 60
_SECONDS_DIGITS = 10


class WrittenDate(Struct, frozen=True):
    """A day of a month; `year` is None if it is not written."""

    year: int | None
    month: int
    day: int

    def is_same(self, other: "WrittenDate") -> bool:
        """Whether both may be the same day."""
        is_same_year = self.year is None or other.year is None or self.year == other.year
        return is_same_year and (self.month, self.day) == (other.month, other.day)

    def days_from(self, other: "WrittenDate") -> int:
        """The days between both; a missing year is that of the other, or 2024, a leap year."""
        return abs(_day(self, other.year).toordinal() - _day(other, self.year).toordinal())


def dates_in(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[Range, WrittenDate]]:
    """The dates of a text in the notations of a claim; by notation, then in order."""
    folded = text.casefold()
    has_month = any(beginning in folded for beginning in _BEGINNINGS)
    for pattern in _PATTERNS if has_month else _PATTERNS[:1]:
        for match in pattern.finditer(text, start, len(text) if end is None else end):
            written = _written(match)
            if written is not None:
                yield Range(*match.span()), written


def is_lower_english(written: str) -> bool:
    """Whether a written date has a month's English name in lower case, which may be a word (`may`)."""
    words = [word for word in written.split() if word.strip(".,").isalpha()]
    return written == written.lower() and any(word.strip(".,") in MONTHS for word in words)


class DateEvidence:
    """The dates of some texts, parsed when the first claim is compared."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    def supports(self, claim: WrittenDate, numbers: Collection[float]) -> bool:
        """Whether a text has the day, or it follows from the dates and these numbers of the texts."""
        if not self._dates:
            return claim.day in numbers
        if any(claim.is_same(date) for date in self._dates):
            return True
        distances = {claim.days_from(date) for date in self._dates}
        return any(days in numbers for days in distances) or (min(distances) <= _NEAR_DAYS and self._is_relative)

    @cached_property
    def _dates(self) -> list[WrittenDate]:
        return [date for text in self._texts for date in _all_dates(text)][:_MAX_DATES]

    @cached_property
    def _is_relative(self) -> bool:
        return any(_RELATIVE.search(text) for text in self._texts)


def _all_dates(text: str) -> Iterator[WrittenDate]:
    yield from (written for _, written in dates_in(text))
    for year, month, day in _COMPACT.findall(text):
        yield from _valid(year, month, day)
    for first, _, second, year in _SLASHED.findall(text):
        full_year = year if len(year) > 2 else f"20{year}"
        yield from _valid(full_year, first, second)
        yield from _valid(full_year, second, first)
    for number in _UNIX_TIME.findall(text):
        moment = datetime.fromtimestamp(int(number[:_SECONDS_DIGITS]), UTC)
        yield WrittenDate(moment.year, moment.month, moment.day)


def _written(match: re.Match[str]) -> WrittenDate | None:
    month = match["month"]
    number = int(month) if month.isdigit() else _ALL_MONTHS.get(month.casefold())  # `re` takes ı for i without case
    return next(_valid(match["year"], number, match["day"]), None) if number is not None else None


def _valid(year: str | None, month: str | int, day: str | int) -> Iterator[WrittenDate]:
    written = WrittenDate(int(year) if year else None, int(month), int(day))
    try:
        date(written.year or 2024, written.month, written.day)
    except ValueError:
        return
    yield written


def _day(written: WrittenDate, other_year: int | None) -> date:
    year = written.year or other_year or 2024
    is_leap_day = (written.month, written.day) == (2, 29)
    return date(year, written.month, 28 if is_leap_day and year % 4 else written.day)
