"""D710: numbers, dates and names in answers that no earlier text contains, and actions that no call did.

The evidence is the text of results, user turns, system turns and arguments. A number is supported if a number of the
evidence equals it after rounding, as a percentage, in another common unit, or as the sum, difference, product, mean or
share of such numbers, or if it is the number of elements of a list. A date with a month is supported by the same day in
any notation (`inspector.dataset.lint.dates`); other dates and times are split into their numbers. A name is a run of
two or more capitalised words within a sentence, one behind a title, an address, or an identifier with digits; it is
supported if one of its words is in the evidence, except for kinds of things (`hotel`). Only answers after a result that
is not an error are checked, because any other answer may use the model's own knowledge. Headings are no claims.

A claim without evidence may still be true: general knowledge, a translated name, a computed value. So it is an info. A
claim contradicts a result, and the message names that result, if it has a number, a date, a time, an identifier or an
address where the results have few others of that kind, of the same order of magnitude, which the answer does not state
(`24 °C` after `17 °C`), and it is neither a conversion nor a combination of the numbers that the results and the user
wrote. A single capitalised word is a claim only in place of a name that a result has and the answer does not state
(`Madrid` after `Porto`). In German, which capitalises every noun, no name is a claim.

An action that the answer claims ("I have sent the email") in a sample that offers tools and has no call is an info.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from weaklink.inspector.dataset.claims import announced_action, claimed_action
from weaklink.inspector.dataset.lint.dates import MONTHS, DateEvidence, dates_in, is_lower_english
from weaklink.inspector.dataset.lint.quantities import changed_quantities, may_have_quantities
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import Role, Span, SpanKind
from weaklink.inspector.rules.training import ANSWER_WITHOUT_EVIDENCE
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # Chinese, Japanese and Korean have no blank at a number
_NUMBER = lazy_pattern(
    rf"""
      (?<![.,/\#-]) (?<!{_LETTER}) [-+−]? \d+ (?: [., '’]\d{{3}} )* (?: [.,]\d+ )? (?!{_LETTER})
    | (?<!\.) (?<!{_LETTER}) \d+ (?: [.,]\d+ )*
    """,
    re.VERBOSE,
)
"""A number with its sign: `-1,234.5`, `12 000`; behind `#` or `/`, or before a letter, its digits: `5` of `5kg`."""
_GROUPED_BY_COMMAS = lazy_pattern(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?")
_GROUPED_BY_POINTS = lazy_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d*)?")
_DIGITS = lazy_pattern(r"\d+(?:[.,]\d+)*")
_LIST_MARK = lazy_pattern(r"^[ \t>*-]*(?:\*\*)?(?:step |#+ *)?\d+[.):]", re.IGNORECASE | re.MULTILINE)
_CODE = lazy_pattern(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CLOCK = lazy_pattern(r"(?:\b|(?<=\dT))(\d{1,2}):(\d{2})(?::\d{2})?\b")
_NAME = lazy_pattern(
    r"""
    (?<! [.!?:][ ] ) (?<! [\n*\#"“(_\w-] ) \b               # not at the beginning of a sentence
    ( [A-Z][a-zà-ž]+ (?: [ ] (?:of[ ]|de[ ]|van[ ]|von[ ])? [A-Z][a-zà-ž]+ )+ ) \b
    (?! [:*\w] )
    """,
    re.VERBOSE,
)
_IDENTIFIER = lazy_pattern(
    r"\b(?=[A-Z])(?:"  # most words end here
    r"[A-Z0-9]+[-_][A-Z0-9_-]*\d[A-Z0-9_-]*\b"  # A-55812
    r"|[A-Z]{1,3}\d{3,6}\b)"  # SK803
)
_TITLED = lazy_pattern(r"\b(?:Dr|Prof|Mr|Mrs|Ms)\. (?:[A-Z][a-zà-ž]+[ -])?[A-Z][a-zà-ž]+\b")
_MAY_BE_TITLED = lazy_pattern(r"\b(?:Dr|Prof|Mrs?|Ms)\. ")
_CAPITALISED = lazy_pattern(r"(?<=[a-z,;] )[A-ZÀ-Þ][a-zà-ž]{2,}\b(?!['’:]| [A-ZÀ-Þ])")
_RESULT_NAME = lazy_pattern(
    r"\"(?:\w*name|city|country|state|region|capital|location|place|town|title|author|director|artist|company|airline|"
    r'brand|hotel|restaurant|team|winner|owner|contact|destination|origin)"\s*:\s*"([A-ZÀ-Þ][a-zà-ž]{2,})"'
)
"""A member of a result under a key such as `city` or `first_name`, whose value is one capitalised word (group 1)."""
_GERMAN = lazy_pattern(  # it capitalises every noun
    r"\b(?:[Dd]er|[Dd]ie|[Dd]as|und|ist|sind|wird|nicht|[Ee]in|[Ee]ine|Sie|ich|vom|zum|zur|für|mit|beträgt)\b"
)
_NO_NAMES = frozenset(
    (
        *("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "celsius", "fahrenheit"),
        *("kelvin", "euro", "euros", "english", *MONTHS),
    )
)
_KINDS_OF_THINGS = frozenset(
    (
        *("hotel", "restaurant", "museum", "airport", "station", "street", "road", "avenue", "square", "park"),
        *("university", "college", "school", "hospital", "bank", "café", "cafe", "theater", "theatre", "stadium"),
        *("tower", "bridge", "beach", "island", "lake", "river", "mountain", "airlines", "company", "team", "city"),
    )
)
_ADDRESS = lazy_pattern(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w|https?://[^\s<>()\[\]\"'`]+")
_DIGIT = lazy_pattern(r"\d")
_MAY_BE_CLOCK = lazy_pattern(r"\d:\d")
_MAY_BE_ADDRESS = lazy_pattern(r"@|https?:")
_MAY_BE_NAME = lazy_pattern(r"[a-zà-ž] (?:of |de |van |von )?[A-Z]")
_DATE = "date"
_CLAIMS = (
    (_ADDRESS, "address", _MAY_BE_ADDRESS),
    (_IDENTIFIER, "identifier", _DIGIT),
    (_CLOCK, "time", _MAY_BE_CLOCK),
    (_NUMBER, "number", _DIGIT),
    (_TITLED, "name", _MAY_BE_TITLED),
    (_NAME, "name", _MAY_BE_NAME),
)
"""The patterns of claims, each with a quick pattern that matches every text with such a claim."""
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)

_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBER_WORDS = {**{word: number for number, word in enumerate(_WORDS)}, **_TENS, "hundred": 100, "dozen": 12}
_WORD = lazy_pattern(r"[^\W\d_]+")
# Words of durations and of differences between time zones.
_MAY_SHIFT = lazy_pattern(
    r"""
      \d[ ]?h\b | \bhours?\b | \bhrs?\b | \bmin(?:ute)?s?\b | durat | offset | time_?\s?zone
    | (?:utc|gmt)\s?[+−-] | ahead | behind | later | earlier
    | stunde | minut | heure | hora | \bore\b | \buur | 小时 | 小時 | 时 | 時 | 分 | час | мин | 시간 | 분
    """,
    re.VERBOSE,
)
_SCALES = (
    1.0,
    100.0,
    1e3,
    1e4,
    1e8,
    1e6,
    1e9,
    1e12,
    60.0,
    3600.0,
    24.0,
    86400.0,
    7.0,
    12.0,
    1024.0,
    1048576.0,
    1073741824.0,
)
_LENGTHS = (1.609344, 3.6, 2.236936, 2.54, 0.3048, 0.453592, 3.28084, 2.20462, 1.94384)
_MAX_NUMBERS = 60
_HALF_DAY = 720
_MAX_PLAIN_COUNT = 3
_MAX_ANSWERS = 32  # each reads the texts before it
_MAX_FINDINGS = 5
_MAX_VALUES = 4  # of one kind in the results: among more, which one a claim replaces is unclear
_MAGNITUDE = 5.0
_CONVERTED = 0.01  # a value in another unit is not rounded by more
_HEADING = lazy_pattern(
    r"""^[ \t]*(?:
        \#{1,6}[ ].*                            # Markdown's `## Weather`
        | (?:[-*\d.]+[ \t]+)?\*\*[^*\n]+\*\*:?  # a line in bold
        | [^.!?\n]{1,80}:                       # a line that ends with a colon
    )[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_NO_ACCESS = lazy_pattern(
    r"""
      \bas[ ]an[ ]AI\b [^.!?\n]{0,80}
    | \b(?:I|we)[ ](?:do[ ]not|don['’]t)[ ](?:currently[ ])?have[ ](?:[\w-]+[ ]){0,3}
      (?:access|the[ ](?:ability|capability))\b [^.!?\n]{0,60}
    | \bI(?:[ ]am|['’]m)[ ](?:unable|not[ ]able)[ ]to[ ](?:access|browse|look[ ]up|retrieve|check)\b [^.!?\n]{0,60}
    | \bno[ ]tengo[ ]acceso\b [^.!?\n]{0,60}                                # Spanish
    | \bnão[ ]tenho[ ]acesso\b [^.!?\n]{0,60}                               # Portuguese
    | \bnon[ ]ho[ ]accesso\b [^.!?\n]{0,60}                                 # Italian
    | \bje[ ]n['’]ai[ ]pas[ ]accès\b [^.!?\n]{0,60}                         # French
    | \bich[ ]habe[ ](?:leider[ ])?keinen[ ]Zugriff\b [^.!?\n]{0,60}        # German
    | 我(?:无法|不能)(?:访问|查询|获取) | 我没有权限                        # Chinese
    | у[ ]меня[ ]нет[ ]доступа\b [^.!?\n]{0,60}                             # Russian
    | アクセスできません                                                    # Japanese
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""An answer that says it has no access to data or tools, in nine languages."""


def unsupported_answers(sample: Sample) -> Iterator[Diagnostic]:
    """D710 for each number and name without evidence, or against a result, at most five in an answer.

    The answers are the final one, and the last ones that directly follow a result.
    """
    if not _has_result(sample):
        return
    turns = sample.trace.turns
    after_results = [
        number
        for number in range(2, len(turns))
        if turns[number - 1].role is Role.ASSISTANT and turns[number - 2].role is Role.TOOL
    ]
    for number in (*after_results[-_MAX_ANSWERS:], len(turns)):
        answer = _answer(sample, number)
        if answer is not None:
            yield from islice(_unsupported(sample, *answer), _MAX_FINDINGS)


def _unsupported(sample: Sample, turn: int, text: str, spans: Sequence[Span]) -> Iterator[Diagnostic]:
    claims = list(_claims(text, spans))
    names = list(_single_names(text, spans))
    texts = tuple(_evidence_texts(sample, turn))
    if may_have_quantities(text):
        results = [result.content for part in sample.inspection.parts if part.turn < turn for result in part.results]
        yield from changed_quantities(turn, text, results, texts)
    if not claims and not names:
        return
    evidence = _Evidence(texts)
    stated = _Stated(sample, turn, [(claim_range.of(text), kind) for claim_range, kind in claims])
    yield from _without_evidence(turn, text, claims, evidence, stated)
    yield from _in_place_of(turn, text, names, evidence, stated)


def unmade_actions(sample: Sample) -> Iterator[Diagnostic]:
    """D710: the final answer says that the agent acted or will act, and a sample with tools has no call."""
    if not sample.offered.tools or len(sample.inspection.chain.steps):
        return
    answer = _final_answer(sample)
    action = claimed_action(answer[1]) or announced_action(answer[1]) if answer is not None else None
    if answer is not None and action is not None:
        turn, text, _ = answer
        start = text.find(action)
        message = f"The answer says `{action}`, but the sample has no call."
        fault_range = Range(start, start + len(action)) if start >= 0 else Range(0, len(text))
        yield Fault(ANSWER_WITHOUT_EVIDENCE, fault_range, message).at(turn, "text")


def denied_access(sample: Sample) -> Iterator[Diagnostic]:
    """D710: the final answer says that the model has no access to what a result of the sample has brought."""
    answer = _final_answer(sample)
    match = _NO_ACCESS.search(answer[1]) if answer is not None else None
    if answer is None or match is None:
        return
    steps = sample.inspection.chain.steps
    if steps and all(step.is_good and step.result is not None for step in steps):
        message = f"The answer says `{match[0]}`, but every call of the sample brought a result."
        yield Fault(ANSWER_WITHOUT_EVIDENCE, Range(*match.span()), message).at(answer[0], "text")


def _without_evidence(
    turn: int, text: str, claims: Iterable[tuple[Range, str]], evidence: "_Evidence", stated: "_Stated"
) -> Iterator[Diagnostic]:
    for claim_range, kind in claims:
        claim = claim_range.of(text)
        instead = stated.contradicted(claim, kind, evidence)
        if instead is not None:
            message = f"The answer states the {kind} `{claim}`; the result has `{instead}`, which it does not state."
            yield Fault(ANSWER_WITHOUT_EVIDENCE, claim_range, message).at(turn, "text")
        elif not evidence.supports(claim, kind):
            message = f"The {kind} `{claim}` of the answer is in no result and in no earlier message."
            yield Fault(ANSWER_WITHOUT_EVIDENCE, claim_range, message).at(turn, "text")


def _single_names(text: str, spans: Iterable[Span]) -> Iterator[Range]:
    """The capitalised words within the sentences of an answer, unless its language capitalises nouns."""
    if _GERMAN.search(text):
        return
    for span in spans:
        for match in _CAPITALISED.finditer(text, span.inner.start, span.inner.end):
            if match[0].casefold() not in _NO_NAMES:
                yield Range(*match.span())


def _in_place_of(
    turn: int, text: str, names: Iterable[Range], evidence: "_Evidence", stated: "_Stated"
) -> Iterator[Diagnostic]:
    """The words that no text has, if a result has a name that the answer does not state."""
    for name_range in names:
        instead = stated.unstated_name(text) if not evidence.has_literally(name_range.of(text)) else None
        if instead is not None:
            name = name_range.of(text)
            message = f"The name `{name}` is in no result; a result has `{instead}`, which the answer does not state."
            yield Fault(ANSWER_WITHOUT_EVIDENCE, name_range, message).at(turn, "text")


def _final_answer(sample: Sample) -> tuple[int, str, Sequence[Span]] | None:
    return _answer(sample, len(sample.trace.turns))


def _answer(sample: Sample, number: int) -> tuple[int, str, Sequence[Span]] | None:
    """Turn `number` (from 1) with its text and the spans of plain text; None if it is no assistant's or has calls."""
    turn = sample.trace.turns[number - 1] if number else None
    part = turn.part("text") if turn is not None and turn.role is Role.ASSISTANT else None
    inspected = next((part for part in sample.inspection.parts if (part.turn, part.part) == (number, "text")), None)
    if part is None or inspected is None or inspected.calls:
        return None
    return number, part.text, [span for span in inspected.spans if span.kind is SpanKind.TEXT]


def _has_result(sample: Sample) -> bool:
    return any(
        step.result is not None and step.result.content.strip() and step.error is None
        for step in sample.inspection.chain.steps
    )


def _claims(text: str, spans: Iterable[Span]) -> Iterator[tuple[Range, str]]:
    """The numbers and names in the text of an answer, except in code, headings and the numbers of list items."""
    claims = [(pattern, kind) for pattern, kind, quick in _CLAIMS if quick.search(text)]
    if claims and claims[-1][1] == "name" and _GERMAN.search(text):
        claims.pop()
    for span in spans if claims else ():
        hidden = [
            match.span()
            for pattern in (_CODE, _LIST_MARK, _HEADING)
            for match in pattern.finditer(text, span.inner.start)
        ]
        taken: list[tuple[int, int]] = []
        for dated in _date_claims(text, span):
            if not any(start < dated.end and dated.start < end for start, end in hidden):
                taken.append((dated.start, dated.end))
                yield dated, _DATE
        for pattern, kind in claims:
            for match in pattern.finditer(text, span.inner.start, span.inner.end):
                bounds = match.span()
                if not any(start < bounds[1] and bounds[0] < end for start, end in (*hidden, *taken)):
                    taken.append(bounds)
                    yield Range(*bounds), kind


def _date_claims(text: str, span: Span) -> Iterator[Range]:
    """The dates in a span; a month's name in lower case is a word (`may`)."""
    for date_range, _ in dates_in(text, span.inner.start, span.inner.end) if _DIGIT.search(text) else ():
        if not is_lower_english(date_range.of(text)):
            yield date_range


def _evidence_texts(sample: Sample, until: int) -> Iterator[str]:
    """Every text before the answer except the model's own text."""
    yield from (result.content for part in sample.inspection.parts if part.turn < until for result in part.results)
    yield from (
        call.raw_arguments
        for part in sample.inspection.parts
        if part.turn < until and part.part == "text" and sample.trace.turns[part.turn - 1].role is Role.ASSISTANT
        for call in part.calls
    )
    for turn in sample.trace.turns[: until - 1]:
        is_answer = turn.role is Role.ASSISTANT
        yield from (part.text for part in turn.parts if not is_answer or part.name.startswith("call:"))
    yield from (tool.raw for tool in sample.offered.tools)


class _Stated:
    """What the results and the user wrote, and which of the results' values the answer does not state."""

    def __init__(self, sample: Sample, until: int, claims: Sequence[tuple[str, str]]) -> None:
        parts = [part for part in sample.inspection.parts if part.turn < until]
        self._results = [result.content for part in parts for result in part.results]
        self._users = sample.texts(Role.USER)
        self._claims = claims

    def contradicted(self, claim: str, kind: str, evidence: "_Evidence") -> str | None:
        """The value of a result that the answer does not state, and in whose place it has this one; or None."""
        if kind == "name" or evidence.has_literally(claim):
            return None
        values = self._of_kind(kind)
        if not 0 < len(values) <= _MAX_VALUES:
            return None
        left = [value for value in values if not self._is_stated(value, kind)]
        if kind != "number":
            return left[0] if left and not evidence.supports(claim, kind) else None
        number = _number(claim)
        if number is None or number <= _MAX_PLAIN_COUNT or self._is_computed(number, _tolerance(claim.strip("+-−"))):
            return None
        return next((candidate for candidate in left if _is_of_magnitude(number, _number(candidate))), None)

    def unstated_name(self, answer: str) -> str | None:
        """The first name of a result, a value under a key such as `city`, that the answer does not state."""
        names = (match[1] for text in self._results for match in _RESULT_NAME.finditer(text))
        return next((name for name in names if name not in answer), None)

    def _of_kind(self, kind: str) -> list[str]:
        if kind == _DATE:
            return list(
                dict.fromkeys(date_range.of(text) for text in self._results for date_range, _ in dates_in(text))
            )
        pattern = next(pattern for pattern, name, _ in _CLAIMS if name == kind)
        texts = map(_without_dates, self._results) if kind == "number" else self._results
        matches = (match[0] for text in texts for match in islice(pattern.finditer(text), _MAX_VALUES + 1))
        return list(dict.fromkeys(matches))

    def _is_stated(self, value: str, kind: str) -> bool:
        if kind == _DATE:
            return any(claim_kind == _DATE and _is_same_date(value, claim) for claim, claim_kind in self._claims)
        if kind != "number":
            return any(value.casefold() == claim.casefold() for claim, _ in self._claims)
        number = _number(value)
        claimed = (claim for claim, claim_kind in self._claims if claim_kind == "number")
        numbers = ((_number(claim), _tolerance(claim.strip("+-−"))) for claim in claimed)
        if number is None:
            return True
        stated = [(other, near) for other, near in numbers if other is not None]
        return any(
            abs(other - number) <= near or _is_near(other, number, min(near, other * _CONVERTED))
            for other, near in stated
        )

    def _is_computed(self, number: float, tolerance: float) -> bool:
        near = tolerance + 1e-9 * number
        results, users = (_written(texts) for texts in (self._results, self._users))
        if any(_is_near(number, result, near) for result in results) or any(
            abs(number - user) <= near for user in users
        ):
            return True
        undated = (*_written([*map(_without_dates, self._results)]), *_written([*map(_without_dates, self._users)]))
        if any(_is_combined(number, first, other, near) for first in undated for other in undated):
            return True
        few = (*results, *users)  # days and hours between dates
        return any(
            abs(number - abs(first + sign * other)) <= near for first in few for other in few for sign in (-1, 1)
        )


def _without_dates(text: str) -> str:
    """A text with blanks in place of its dates, times and identifiers, whose digits are no numbers of their own."""
    for date_range, _ in list(dates_in(text)):
        text = f"{text[: date_range.start]}{' ' * len(date_range)}{text[date_range.end :]}"
    return _IDENTIFIER.sub(" ", _CLOCK.sub(" ", text))


def _is_same_date(text: str, other: str) -> bool:
    return any(date.is_same(another) for _, date in dates_in(text) for _, another in dates_in(other))


def _written(texts: Sequence[str]) -> list[float]:
    """The first numbers that are written in some texts."""
    matches = (match[0] for text in texts for match in _DIGITS.finditer(text))
    return [value for text in islice(matches, _MAX_NUMBERS) for value in _values(text)]


def _number(text: str) -> float | None:
    value = next(_values(text), None)
    return abs(value) if value is not None else None


def _is_of_magnitude(number: float, other: float | None) -> bool:
    return other is not None and other > 0 and 1 / _MAGNITUDE < number / other < _MAGNITUDE


class _Evidence:
    """The words and numbers of some texts. Numbers are parsed only when the literal text of a claim is not found."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._folded = "\n".join(texts).casefold()

    @cached_property
    def _times(self) -> frozenset[int]:
        clocks = (clock for text in self._texts for clock in _CLOCK.findall(text))
        return frozenset((int(hours) * 60 + int(minutes)) % _HALF_DAY for hours, minutes in clocks)

    @cached_property
    def _gaps(self) -> frozenset[float]:
        """The minutes by which a time may differ from one of the evidence: an offset, or a number if it has a unit."""
        if _MAY_SHIFT.search(self._folded) is None:
            return frozenset(self._times)
        return frozenset(minutes for number in self._numbers for minutes in (number, number * 60)) | self._times

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return frozenset(number for text in self._texts for number in _numbers_of(text))

    @cached_property
    def _dates(self) -> DateEvidence:
        return DateEvidence(self._texts)

    @cached_property
    def _few(self) -> list[float]:
        return sorted(self._numbers, key=lambda number: (len(repr(number)), number))[:_MAX_NUMBERS]

    @cached_property
    def _sums(self) -> frozenset[float]:
        return frozenset(round(total, 6) for total in _totals(self._texts))

    def has_literally(self, claim: str) -> bool:
        """Whether the claim is in the evidence as it is written."""
        return claim.strip("+-−").casefold() in self._folded

    def supports(self, claim: str, kind: str) -> bool:
        """Whether a number, time, name, address or identifier is in the evidence, or can be derived from it."""
        if kind == "time":
            return self.has_time(claim)
        if kind == _DATE:
            return any(self._dates.supports(written, self._numbers) for _, written in dates_in(claim))
        return self.has_number(claim) if kind == "number" else self.has_name(claim)

    def has_time(self, claim: str) -> bool:
        """Whether a time of day, in 12 or 24 hours, is in the evidence, or differs by a duration from one that is."""
        hours, minutes = (int(piece) for piece in claim.split(":")[:2])
        value = (hours * 60 + minutes) % _HALF_DAY
        if claim in self._folded or value in self._times:
            return True
        if minutes == 0 and float(hours) in self._numbers:
            return True
        gaps = {(value - time_) % _HALF_DAY for time_ in self._times} | {
            (time_ - value) % _HALF_DAY for time_ in self._times
        }
        return not gaps.isdisjoint(self._gaps)

    def has_number(self, claim: str) -> bool:
        """Whether one interpretation of the number is supported."""
        bare = claim.strip("+-−")
        if bare in self._folded:
            return True
        return any(self._supports(abs(value), _tolerance(bare)) for value in _values(bare))

    def _supports(self, value: float, tolerance: float) -> bool:
        if value <= _MAX_PLAIN_COUNT and value == int(value):
            return True
        near = tolerance + 1e-9 * abs(value)
        if any(_is_near(value, number, near) for number in self._numbers | self._sums):
            return True
        few = self._few
        return any(_is_combined(value, first, other, near) for first in few for other in few)

    def has_name(self, claim: str) -> bool:
        """Whether the name, or a word of it with more than three letters that is no kind of thing, is in the evidence.

        Of a name behind a title, the last word must be.
        """
        folded = claim.casefold()
        if folded in self._folded or folded.rstrip("/.") in self._folded:
            return True
        words = [word for word in _WORD.findall(folded) if len(word) > 3 or ". " in claim]
        words = words[-1:] if ". " in claim else [word for word in words if word not in _KINDS_OF_THINGS] or words
        return any(word in self._folded for word in words) and " " in claim


def _numbers_of(text: str) -> Iterator[float]:
    for match in _DIGITS.finditer(text):
        yield from _values(match[0])
        yield from (float(piece) for piece in re.split("[.,]", match[0]) if len(piece) <= 15)
    yield from (number for word in _WORD.findall(text.casefold()) if (number := _NUMBER_WORDS.get(word)))
    yield from _lengths(text)
    for hours, minutes in _CLOCK.findall(text):
        yield int(hours) % 12 or 12.0
        yield float(int(hours) * 60 + int(minutes))


def _is_near(value: float, other: float, near: float) -> bool:
    other = abs(other)
    if abs(value - other) <= near:
        return True
    for scale in (*_SCALES, *_LENGTHS):
        if abs(value - other * scale) <= near or abs(value - other / scale) <= near:
            return True
    return abs(value - abs(other * 9 / 5 + 32)) <= near or abs(value - abs((other - 32) * 5 / 9)) <= near


def _is_combined(value: float, first: float, other: float, near: float) -> bool:
    results = [first + other, abs(first - other), first * other, (first + other) / 2, first * other / 100]
    if other:
        results += [first / other, 100 * first / other, 100 * abs(first - other) / abs(other)]
        results += [first * (1 + other / 100), first * (1 - other / 100)]
    return any(abs(value - abs(result)) <= near for result in results)


def _values(text: str) -> Iterator[float]:
    """The values that a number may have: comma and point may each be the decimal mark or a separator.

    A separator has three digits behind it (two in India, but for the last): `3.4` is not 34.
    """
    bare = re.sub(r"[\s'’]", "", text.strip("+-−"))
    candidates = [bare] if "," not in bare else []
    if _GROUPED_BY_COMMAS.fullmatch(bare):
        candidates.append(bare.replace(",", ""))
    if _GROUPED_BY_POINTS.fullmatch(bare):
        candidates.append(bare.replace(".", "").replace(",", "."))
    if bare.count(",") == 1 and "." not in bare:
        candidates.append(bare.replace(",", "."))
    for candidate in dict.fromkeys(candidates):
        try:
            value = float(candidate)
        except ValueError:
            continue
        if math.isfinite(value):
            yield value


def _tolerance(text: str) -> float:
    """Half a unit of the last digit."""
    _, point, decimals = text.replace(",", ".").rpartition(".")
    if point and len(decimals) != 3:
        return 0.5 * float(10 ** -min(len(decimals), 12))
    zeros = len(text) - len(text.rstrip("0"))
    return 0.5 * float(10 ** min(zeros, 6)) if zeros >= 2 else 0.5


def _lengths(text: str) -> Iterator[float]:
    """The number of elements of each list and object in a JSON text; the number of lines of any other text."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        yield float(text.count("\n") + 1)
        return
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, list | dict):
            yield float(len(current))
            pending += current.values() if isinstance(current, dict) else current


def _totals(texts: Sequence[str]) -> Iterator[float]:
    """Sum and mean of the numbers under one key of a list of objects, and of lists of numbers."""
    for text in texts:
        try:
            pending: list[Any] = [json.loads(text)]
        except (ValueError, RecursionError):
            continue
        while pending:
            current = pending.pop()
            if isinstance(current, list):
                yield from _totals_of(current)
            if isinstance(current, list | dict):
                pending += current.values() if isinstance(current, dict) else current


def _totals_of(values: list[Any]) -> Iterator[float]:
    columns: dict[str, list[float]] = {}
    for value in values:
        for key, cell in value.items() if isinstance(value, dict) else [("", value)]:
            if isinstance(cell, int | float) and not isinstance(cell, bool) and abs(cell) < 1e15:
                columns.setdefault(key, []).append(float(cell))
    for numbers in columns.values():
        yield sum(numbers)
        yield sum(numbers) / len(numbers)
