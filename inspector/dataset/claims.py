"""Finds what an answer claims without evidence: a number that no text gives, or an action that no call did."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice

from msgspec import Struct

from inspector.dataset.context_values import ContextValues, FoldedText, fold_text
from inspector.scanning import lazy_pattern

_NUMBER = lazy_pattern(r"(?<![\w.#/-])[-−]?\d+(?:[,_\u202f']\d{3}(?!\d))*(?:\.\d+)?(?![\w/-])")
_LIST_ITEM = lazy_pattern(r"^\s*(?:[-*+]\s*)?\d{1,3}[.)]\s", re.MULTILINE)
_CODE = lazy_pattern(r"```.*?(?:```|$)", re.DOTALL)
_ACTION = lazy_pattern(
    r"\b(?:I(?:['’]ve| have)?(?: (?:just|now|already|successfully))?|(?:has|have) been(?: successfully)?|"
    r"(?:is|are) now) (?P<verb>sent|e-?mailed|booked|reserved|scheduled|created|added|deleted|removed|cancell?ed|"
    r"updated|ordered|purchased|paid|transferred|refunded|uploaded|posted|submitted|saved|set up|turned o(?:n|ff)|"
    r"moved|renamed|notified|shared|published|deployed|installed|restarted|converted|translated into the file)\b",
    re.IGNORECASE,
)
_MOST_VALUES = 60
_MOST_NUMBERS = 200


class Claim(Struct, frozen=True):
    """What an answer claims: its characters, and what kind of thing that is, for a message."""

    text: str
    what: str


def unsupported_claim(answer: str, context: ContextValues, made: Iterable[str], *, has_acted: bool) -> Claim | None:
    """The first claim of an answer without evidence; None where there is none.

    A number of one digit is no claim. Evidence are the numbers of the context and of `made`, the arguments of the calls
    made; also rounded, in other units of ten, as a percentage, and their counts, sums, differences, products and
    quotients of two. An action that the agent says it did needs a call that was ok (`has_acted`).
    """
    words = _CODE.sub(" ", answer)
    action = _ACTION.search(words)
    if action is not None and not has_acted:
        return Claim(action[0], "an action that is done")
    texts = (*context.texts, *map(fold_text, made))
    known = frozenset(number for text in texts for number in text.numbers)
    derived: frozenset[float] | None = None
    for said in islice(_numbers(words), _MOST_NUMBERS):
        value = float(said.replace("−", "-").translate(_SEPARATORS))
        digits = len(said.partition(".")[2])
        if _is_known(value, digits, known) or _is_in_words(said, texts):
            continue
        derived = _derived(known, texts) if derived is None else derived
        if not _is_known(value, digits, derived):
            return Claim(said, "a value that must be looked up")
    return None


_SEPARATORS = str.maketrans("", "", ",_\u202f'")


def _numbers(words: str) -> Iterator[str]:
    items = {place.start() for place in _LIST_ITEM.finditer(words)}
    for found in _NUMBER.finditer(words):
        said = found[0]
        line = words.rfind("\n", 0, found.start()) + 1
        is_item = line in items and not words[line : found.start()].strip(" \t-*+")
        if not is_item and len(said.strip("-−")) > 1:
            yield said


def _is_known(value: float, digits: int, known: frozenset[float]) -> bool:
    if value in known or -value in known:
        return True
    unit = 10.0**-digits
    if any(abs(one - value) <= unit / 2 * (1 + 1e-9) for one in known):
        return True
    if value == 0 or digits:
        return any(abs(one * 100 - value) <= unit / 2 or abs(one / 100 - value) <= unit / 2 for one in known)
    rounded = next(10.0**power for power in range(16, -1, -1) if value % 10.0**power == 0)
    return any(
        abs(one * scale - value) <= rounded / 2 * (rounded > 1) or abs(one * scale - value) <= 0.5
        for one in known
        for scale in (1, 100)
    )


def _is_in_words(said: str, texts: Sequence[FoldedText]) -> bool:
    """Whether the digits stand in a text as a word of their own, as in an id or a date."""
    plain = said.strip("-−")
    return any(plain in text.words for text in texts)


def _derived(known: frozenset[float], texts: Sequence[FoldedText]) -> frozenset[float]:
    """What can be computed from the numbers: of two of them, of all together, and counts."""
    values = sorted(known, key=abs, reverse=True)[:_MOST_VALUES]
    found = {float(count) for count in range(len(values) + 1)}
    found.add(sum(values))
    if values:
        found.add(sum(values) / len(values))
    for one, other in combinations(values, 2):
        found.update((one + other, one - other, other - one, one * other))
        if other:
            found.add(one / other)
            found.add((one - other) / other * 100)
        if one:
            found.add(other / one)
    found.update(float(text.line.count(" ")) for text in texts)
    return frozenset(found)
