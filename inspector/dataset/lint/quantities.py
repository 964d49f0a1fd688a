"""D710 for quantities: a result's number with another unit or currency, and a count in words that is too large.

A unit is compared only if a result names one for its numbers in a member of its own (`"currency": "DKK"`), the answer
has the result's number with another unit of the same dimension, and that unit is in no earlier text and the result's
not in the answer: a converted value is another number. A count is compared only if everything before the answer has one
count of that noun (`for 3 hours`, `"hours": 3`), and the answer states a larger one in words (`five hours`) and not
that one; fewer may be a part of them.
"""

import re
from collections.abc import Iterator, Sequence

from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.rules.training import ANSWER_WITHOUT_EVIDENCE
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_DIMENSIONS = (
    "eur usd gbp jpy cny inr chf sek nok dkk pln czk huf cad aud nzd brl mxn zar try krw sgd hkd thb aed ils rub",
    "ng µg mg g kg t lb oz",
    "mm cm m km mi ft yd",
    "ml cl dl l gal",
    "ng/ml mg/l g/l mg/dl g/dl ng/dl µmol/l mmol/l mol/l",
    "m/s km/h mph kn",
    "c f k celsius fahrenheit kelvin",
    "w kw mw wh kwh mwh",
    "pa hpa kpa mbar bar psi",
    "b kb mb gb tb kib mib gib tib",
)
_DIMENSION_OF = {unit: number for number, units in enumerate(_DIMENSIONS) for unit in units.split()}
_SAME = {"€": "eur", "£": "gbp", "μg": "µg", "lbs": "lb", "µg/l": "ng/ml", "μg/l": "ng/ml", "mcg": "µg"}
_UNIT_MEMBER = lazy_pattern(r'"(?:\w*_)?(?:currency|units?)"\s*:\s*"([^"\\]{1,12})"')
_WITH_UNIT = lazy_pattern(r"(?<![\w.,])(\d+(?:[.,]\d+)*) ?(°?[A-Za-zµμ]{1,10}(?:/[A-Za-z]{1,3})?|€|£)(?![\w/])")
_COUNTS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_COUNTED = lazy_pattern(rf"\b({'|'.join(_COUNTS)}) ([a-z]{{3,20}})\b", re.IGNORECASE)


def may_have_quantities(text: str) -> bool:
    """Whether an answer has a number with a unit, or a count in words."""
    return _WITH_UNIT.search(text) is not None or _COUNTED.search(text) is not None


def changed_quantities(turn: int, text: str, results: Sequence[str], evidence: Sequence[str]) -> Iterator[Diagnostic]:
    """The faults of an answer in turn `turn`; `evidence` are all texts before it, with the results."""
    before = "\n".join(evidence).casefold()
    yield from (fault.at(turn, "text") for fault in _changed_units(text, results, before))
    yield from (count.at(turn, "text") for count in _larger_counts(text, before))


def _changed_units(text: str, results: Sequence[str], before: str) -> Iterator[Fault]:
    named = {match[1]: result for result in results for match in _UNIT_MEMBER.finditer(result)}
    if len(named) != 1:
        return
    ((unit, result),) = named.items()
    own = _unit(unit)
    if own not in _DIMENSION_OF or unit.casefold() in text.casefold():
        return
    for match in _WITH_UNIT.finditer(text):
        other = _unit(match[2])
        is_same_dimension = _DIMENSION_OF.get(other) == _DIMENSION_OF[own]
        if is_same_dimension and other != own and not _is_word(match[2], before) and _is_word(match[1], result):
            message = f"The answer states `{match[0]}`; the result has the unit `{unit}` for this number."
            yield Fault(ANSWER_WITHOUT_EVIDENCE, Range(*match.span()), message)


def _unit(written: str) -> str:
    unit = written.removeprefix("°").casefold()
    unit = _SAME.get(unit, unit)
    return unit[0] if unit in ("celsius", "fahrenheit", "kelvin") else unit


def _is_word(word: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word.casefold())}(?![^\W_])", text.casefold()) is not None


def _larger_counts(text: str, before: str) -> Iterator[Fault]:
    for match in _COUNTED.finditer(text):
        count, noun = _COUNTS[match[1].lower()], match[2].lower()
        known = _counts_of(noun, before)
        if len(known) != 1 or count <= min(known) or known & _counts_of(noun, text.casefold()):
            continue
        message = f"The answer states `{match[0]}`; what precedes it has {min(known)}."
        yield Fault(ANSWER_WITHOUT_EVIDENCE, Range(*match.span()), message)


def _counts_of(noun: str, text: str) -> set[int]:
    """The numbers before a noun, in digits or words, and those of a member with its name."""
    written = re.findall(rf"\b(\d{{1,4}}|{'|'.join(_COUNTS)})[ -]{re.escape(noun)}\b", text)
    members = re.findall(rf'"{re.escape(noun)}"\s*:\s*(\d{{1,4}})\b(?!\.\d)', text)
    return {_COUNTS.get(word) or int(word) for word in (*written, *members)}
