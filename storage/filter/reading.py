"""Parses one term of a filter: a word, a phrase, or a key with its value, number, time span or date."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from weaklink.inspector.chain.steps import Status, VerdictCertainty
from weaklink.inspector.model import Liveness, SpanKind, TaskOutcome
from weaklink.inspector.rules import layers
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.reasoning import CONTEXT_NEARLY_FULL
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.storage.derived_rows import path_of
from weaklink.storage.filter.terms import (
    ALIASES,
    KEYS,
    AnyTerm,
    ArgumentTerm,
    ComparisonOperator,
    Field,
    FilterError,
    FilterKey,
    NumberTerm,
    PhraseTerm,
    Term,
    TimeTerm,
    nearest,
    one_of,
)
from weaklink.storage.filter.wildcards import matching_values

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
COUNTS = {"k": 1e3, "m": 1e6}
_COMPARISON = lazy_pattern(r"[<>]=?|!?=|")
_NUMBER = lazy_pattern(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_MAX_NUMBER_CHARS = 18
_AGO = lazy_pattern(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>[a-z]+)(?:[ -]ago)?", re.IGNORECASE)
_DAYS_AGO = {"today": 0, "yesterday": 1}

UNITS: Mapping[FilterKey, dict[str, float]] = {
    **dict.fromkeys((FilterKey.DURATION, FilterKey.FIRST_TOKEN, FilterKey.GAP), SECONDS),
    **dict.fromkeys((FilterKey.TOKENS, FilterKey.ERRORS, FilterKey.WARNINGS, FilterKey.TURNS, FilterKey.CALLS), COUNTS),
    FilterKey.STEP: {},
    FilterKey.REWARD: {},
    FilterKey.ID: {},
}
"""Numeric keys, each with the units that may follow a number."""

_KEY = lazy_pattern(r"(?P<key>[A-Za-z_][\w.]*):")
_PIECE = lazy_pattern(  # one of the values between commas
    r"""
      "(?P<quoted>(?:[^"\\]|\\.)*)"(?=,|$)       # "New York", with \" and \\ in it
    | (?P<bare>[^",]*(?:"[^"]*")?[^",]*)         # Oslo, or with quotes inside: args="a, b"
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = lazy_pattern(r"\\(.)", re.DOTALL)
_CODE = lazy_pattern(r"[A-Za-z][0-9]*")
_PATH = lazy_pattern(r'(?:\["(?:[^"\\]|\\.)*"\]|[^"=!~<>,])+', re.DOTALL)
_IN_BRACKETS = lazy_pattern(r'\[("(?:[^"\\]|\\.)*")\]', re.DOTALL)
_SIGN = lazy_pattern(r"!=|[<>]=?|[=~]")


def comparison_in(text: str) -> tuple[ComparisonOperator, str]:
    """The comparison operator at the beginning of a value, `=` if there is none, and the rest."""
    match = _COMPARISON.match(text)
    sign = match[0] if match else ""
    return ComparisonOperator(sign or "="), text[len(sign) :]


def number_in(text: str, position: int, units: dict[str, float]) -> float:
    """The number in a text, in the base unit; FilterError if there is none."""
    match = _NUMBER.match(text)
    if match is None or len(match[0]) > _MAX_NUMBER_CHARS:
        example = "2s" if units is SECONDS else "4k" if units is COUNTS else "3"
        other = f", not `{text[:40]}`" if text else ", but there is none"
        raise FilterError(f"expected a number, such as `{example}` or `>{example}`{other}", position)
    unit = text[match.end() :].strip()
    if unit and unit.lower() not in units:
        expected = f"use one of {', '.join(units)}" if units else "this key has no units"
        raise FilterError(f"unknown unit `{unit[:40]}`; {expected}", position + match.end())
    return float(match[0]) * (units[unit.lower()] if unit else 1.0)


def moment_in(key: FilterKey, text: str, position: int) -> TimeTerm:
    """The moment in a text, in UTC if it has no time zone; FilterError if there is none."""
    word = text.strip().lower()
    if word in _DAYS_AGO:
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return TimeTerm(key, (midnight - timedelta(days=_DAYS_AGO[word])).timestamp())
    ago = _AGO.fullmatch(word)
    if ago is not None:
        if ago["unit"] not in SECONDS:
            raise FilterError(
                f"unknown unit `{ago['unit'][:40]}`; use one of {', '.join(SECONDS)}",
                position + ago.start("unit"),
            )
        return TimeTerm(key, float(ago["number"]) * SECONDS[ago["unit"]], is_ago=True)
    try:
        moment = datetime.fromisoformat(text.strip())
        return TimeTerm(key, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        examples = "`2026-11-01`, `2026-11-01T09:30` (UTC), `2h`, `3d`, `today` or `yesterday`"
        raise FilterError(f"expected a time, such as {examples}, not `{text[:40]}`", position) from None


_LAYER_CODES: Mapping[str, tuple[str, ...]] = {
    word: tuple(rule.code for rule in RULES if word in (rule.layer, rule.owner))
    for word in ("parsed", "executed", "read", "server", "agent")
}
_CONTEXT_CODES: Mapping[str, tuple[str, ...]] = {
    "truncated": (layers.RESULT_TRUNCATED_BEFORE_READ.code,),
    "changed": (layers.RESULT_CHANGED_BEFORE_READ.code, layers.ARGUMENTS_CHANGED_BEFORE_READ.code),
    "rewritten": (layers.HISTORY_REWRITTEN.code,),
    "compacted": (layers.HISTORY_COMPACTED.code,),
    "reasoning": (layers.REASONING_DROPPED_FROM_HISTORY.code, layers.REQUIRED_REASONING_DROPPED.code),
    "tools": (layers.TOOLS_CHANGED.code,),
    "cache": (layers.CACHE_PREFIX_BROKEN.code,),
    "full": (CONTEXT_NEARLY_FULL.code,),
}
_IS_SHARE = lazy_pattern(r"[<>=!]|[0-9.]+\s*%")
_SHARE = lazy_pattern(r"(?P<sign>[<>]=?)\s*(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%")
_CODES_OF = {FilterKey.LAYER: _LAYER_CODES, FilterKey.CONTEXT: _CONTEXT_CODES}
"""Keys that are shorthands for codes, each with the codes of its values."""

WORDS_OF: Mapping[FilterKey, tuple[str, ...]] = {
    FilterKey.STATUS: tuple(word.value for word in (*Status, *Liveness)),
    FilterKey.CERTAINTY: tuple(certainty.value for certainty in VerdictCertainty),
    FilterKey.KIND: tuple(kind.value for kind in SpanKind),
    FilterKey.SEVERITY: tuple(severity.value for severity in Severity),
    FilterKey.REASONING: ("on", "off", "mixed"),
    FilterKey.OUTCOME: tuple(outcome.value for outcome in TaskOutcome),
    FilterKey.FORKS: ("yes", "no"),
    FilterKey.MARKED: ("yes", "no"),
    FilterKey.LAYER: tuple(_LAYER_CODES),
    FilterKey.CONTEXT: tuple(_CONTEXT_CODES),
}
"""Keys with a fixed set of values, each with its values."""

_MAY_BE_EMPTY = (
    FilterKey.ARG,
    FilterKey.MODEL,
    FilterKey.FORMAT,
    FilterKey.SOURCE,
    FilterKey.PROJECT,
    FilterKey.PROMPT,
    FilterKey.TOOL,
    FilterKey.BREAK_TOOL,
)
"""Keys that accept `""`, which means an unknown value."""

_NAMES = {rule.name: rule.code for rule in RULES}


class FilterValue(Struct, frozen=True):
    """One of the values of a key, and its position in the filter."""

    text: str
    position: int
    is_quoted: bool = False


def read_word(text: str) -> PhraseTerm:
    """A bare word; a star at its end makes it a prefix."""
    return PhraseTerm(text.rstrip("*"), prefix=True) if text.endswith("*") else PhraseTerm(text)


def read_phrase(text: str) -> PhraseTerm:
    """A phrase in its quotes."""
    return PhraseTerm(_ESCAPE.sub(r"\1", text[1:-1]))


def read_field(text: str, position: int) -> Term:
    """A key with its value; FilterError at the wrong character. `position` is the position of the key."""
    match = _KEY.match(text)
    assert match is not None  # the lexer's FIELD begins like this
    key = _key(match["key"], position)
    rest, start = text[match.end() :], position + match.end()
    if not rest:
        raise FilterError(f"`{key.value}:` requires a value{_example(key)}", start)
    if key is FilterKey.ARG:
        return _argument(rest, start)
    return _either([_value(key, piece) for piece in _pieces(key, rest, start)])


def _key(word: str, position: int) -> FilterKey:
    lower = word.lower()
    if lower in ALIASES:
        return ALIASES[lower]
    try:
        return FilterKey(lower)
    except ValueError:
        close = nearest(lower, (*KEYS, *ALIASES))
        hint = f"did you mean `{close}:`?" if close else f"the keys are {', '.join(KEYS)}."
        raise FilterError(f"unknown key `{word}`; {hint} Put text to search for in quotes.", position) from None


def _example(key: FilterKey) -> str:
    if key in WORDS_OF:
        return f": {one_of(WORDS_OF[key])}"
    if key is FilterKey.ARG:
        return ", like `$.city=Oslo` or `city~osl`"
    return ", like `>2s`" if UNITS.get(key) is SECONDS else ", like `>4`" if key in UNITS else ""


def _pieces(key: FilterKey, text: str, position: int) -> Iterator[FilterValue]:
    """The comma-separated values in a text."""
    offset = 0
    while True:
        match = _PIECE.match(text, offset)
        assert match is not None  # a bare piece may be empty
        quoted = match["quoted"]
        value = match["bare"] if quoted is None else _ESCAPE.sub(r"\1", quoted)
        if not value and (quoted is None or key not in _MAY_BE_EMPTY):
            raise FilterError(f"`{key.value}:` requires a value", position + offset)
        yield FilterValue(value, position + offset, quoted is not None)
        offset = match.end()
        if offset >= len(text):
            return
        if text[offset] != ",":
            raise FilterError('unclosed quote, or quote inside a word; write `key:"two words"`', position + offset)
        offset += 1


def _value(key: FilterKey, piece: FilterValue) -> Term:
    if key in (FilterKey.SINCE, FilterKey.BEFORE):
        return moment_in(key, piece.text, piece.position)
    if key in UNITS:
        comparison, rest = comparison_in(piece.text)
        start = piece.position + len(piece.text) - len(rest) + piece.is_quoted
        if key is FilterKey.REWARD:
            return NumberTerm(key, comparison, _signed(rest, start))
        return NumberTerm(key, comparison, number_in(rest, start, UNITS[key]))
    if key is FilterKey.CONTEXT and _IS_SHARE.match(piece.text):
        return _share(piece)
    if key in _CODES_OF:
        value = _known(key, piece)
        words = matching_values(_CODES_OF[key], [value])
        codes = [code for word in words for code in _CODES_OF[key][word]]
        if not codes:
            raise FilterError(f"no {key.value} matches `{value[:40]}`", piece.position)
        return Field(FilterKey.CODE, tuple(dict.fromkeys(codes)))
    if key is FilterKey.BREAK:
        code = _NAMES.get(piece.text.lower())
        return Field(key, (piece.text,) if code is None else (code, piece.text))
    return Field(key, (_known(key, piece),))


def _share(piece: FilterValue) -> Term:
    """A term for the largest share of its context window that a turn used."""
    match = _SHARE.fullmatch(piece.text)
    if match is None:
        raise FilterError(f"expected a share, such as `>50%` or `<10%`, not `{piece.text[:40]}`", piece.position)
    return NumberTerm(FilterKey.CONTEXT, ComparisonOperator(match["sign"]), float(match["number"]) / 100)


def _known(key: FilterKey, piece: FilterValue) -> str:
    """The value, which must be one of the key's known values, if it has any."""
    value = piece.text
    if key is FilterKey.CODE:
        return _code(piece)
    if key not in WORDS_OF or "*" in value or value.lower() in WORDS_OF[key]:
        return value
    close = nearest(value, WORDS_OF[key])
    hint = f"; did you mean `{close}`?" if close else ""
    known = ", ".join(WORDS_OF[key])
    raise FilterError(f"{key.value} must be one of {known}, not `{value[:40]}`{hint}", piece.position)


def _code(piece: FilterValue) -> str:
    """The code, its beginning, or the code of the rule with this name."""
    value = piece.text
    if value.lower() in _NAMES:
        return _NAMES[value.lower()]
    if "*" in value or _CODE.fullmatch(value):
        return value
    close = nearest(value, _NAMES)
    hint = f"did you mean `{close}`?" if close else "`weaklink rules` lists them."
    raise FilterError(f"unknown rule `{value[:40]}`; a code looks like `J104` or `J1`; {hint}", piece.position)


def _argument(text: str, position: int) -> Term:
    match = _PATH.match(text)
    if match is None:
        raise FilterError("`arg:` requires a path or a name, such as `$.city=Oslo` or `city=Oslo`", position)
    path, end = _plain(match[0], position), match.end()
    if end == len(text):
        return ArgumentTerm(path)
    sign = _SIGN.match(text, end)
    if sign is None:
        raise FilterError("expected one of =, !=, ~, >, >=, < and <= after the path", position + end)
    comparison, end = ComparisonOperator(sign[0]), sign.end()
    pieces = list(_pieces(FilterKey.ARG, text[end:], position + end))
    if comparison in (ComparisonOperator.EQUAL, ComparisonOperator.OTHER, ComparisonOperator.HOLDS):
        return ArgumentTerm(path, comparison, tuple(piece.text for piece in pieces))
    return _either([ArgumentTerm(path, comparison, number=_signed(piece.text, piece.position)) for piece in pieces])


def _plain(path: str, position: int) -> str:
    """A path as it is stored: `$["city"]` becomes `$.city`."""
    try:
        return _IN_BRACKETS.sub(lambda match: path_of(str(json.loads(match[1], strict=False))), path)
    except ValueError as error:
        raise FilterError("the key in brackets is not a JSON string", position) from error


def _signed(text: str, position: int) -> float:
    number = number_in(text.removeprefix("-"), position + text.startswith("-"), {})
    return -number if text.startswith("-") else number


def _either(terms: list[Term]) -> Term:
    """An `or` of these terms; fields (all of one key) become one field."""
    if len(terms) == 1:
        return terms[0]
    fields = [term for term in terms if isinstance(term, Field)]
    if len(fields) == len(terms):
        return Field(fields[0].key, tuple(value for field in fields for value in field.values))
    return AnyTerm(tuple(terms))
