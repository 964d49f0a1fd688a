"""Reads the single values of Gemma's dicts: delimited strings, numbers, literals, and what stands in their place."""

import re

from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner.findings import PayloadFindings
from inspector.json_scanner.quoting import shown
from inspector.json_scanner.strict import number_value
from inspector.model import Json
from inspector.rules import json_syntax as rules
from inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from inspector.rules.rule import Rule
from inspector.scanning import QuoteSearch, end_of_repeats, repeated
from inspector.text import Range

_SPACE = re.compile(r"[ \t\n\r]*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None, "None": None}
_TWINS = {"True": "true", "False": "false"}
_BARE = re.compile(r"[^,{}\[\]\n<]*+")
_APOSTROPHES = repeated(r"[^'\\\n]++|\\[\s\S]")
_ODD_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_NEXT_KEY = re.compile(r"\s*+[\w.\-]{1,64}\s*+:\s*+")
_SWALLOWED = re.compile(r",\s*+[\w.\-]{1,64}\s*+:\s*+")
_LOOK_BACK = 100
_GOES_ON = re.compile(r"\s*+(?:[,}\]:]|\Z)")


class GemmaValues:
    """The part of a reader that reads values and keeps what it finds: the place in `text` and the faults."""

    def __init__(self, text: str, start: int, delimiter: str) -> None:
        self._text, self._at = text, start
        self._delimiter = delimiter
        self._found = PayloadFindings(text)
        self._quotes = QuoteSearch()
        self._breaks = self._hopeless = 0
        self._is_endless = False
        """Whether no delimiter behind this place ends a string as it should."""
        self._cut_within = ""
        self._closers = ""

    def _scalar(self, key: str) -> tuple[Json, bool]:
        """A value that is no bracket, and whether there is one."""
        start, text = self._at, self._text
        if text.startswith(self._delimiter, start):
            return self._string(), True
        if (number := _NUMBER.match(text, start)) is not None and self._ends_value(number.end()):
            self._at = number.end()
            return number_value(number[0]), True
        if (quoted := self._quoted_end(start)) >= 0 and self._ends_value(quoted):
            return self._quoted(Range(start, quoted)), True
        bare = _BARE.match(text, start)
        word = bare[0].rstrip() if bare is not None else ""
        place = Range(start, start + len(word))
        self._at = place.end
        if word in LITERALS:
            return LITERALS[word], True
        if not word:
            self._no_value(key)
            return None, False
        if word in _TWINS:
            twin = _TWINS[word]
            fix = Fix((Edit(place, twin),), safe=True)
            message = f"`{word}` is Python's spelling; this format writes `{twin}`."
            self._flag(rules.PYTHON_LITERAL, place, message, f"Write `{twin}`.", fix)
            return word == "True", True
        if _ODD_NUMBER.fullmatch(word):
            return self._odd_number(word, place), True
        delimited = f"{self._delimiter}{word}{self._delimiter}"
        message = f"The value {shown(word)} stands without `{self._delimiter}` around it."
        fix = Fix((Edit(place, delimited),), safe=False)
        self._flag(rules.UNQUOTED_WORD, place, message, f"Write {shown(delimited)} if it is meant as text.", fix)
        return word, True

    def _odd_number(self, word: str, place: Range) -> Json:
        """A number that JSON would write in another way."""
        whole, point, fraction = word.lstrip("+-").partition(".")
        spelling = "-" * word.startswith("-") + (whole.lstrip("0") or "0") + (point + fraction if fraction else "")
        fix = Fix((Edit(place, spelling),), safe=False)
        message = f"The number {shown(word)} is not written as JSON writes numbers."
        self._flag(rules.INVALID_NUMBER, place, message, f"Write `{spelling}`.", fix)
        return number_value(spelling)

    def _quoted_end(self, start: int) -> int:
        """Where a string between plain quotes that begins at `start` ends; -1 where there is none."""
        text, quote = self._text, self._text[start : start + 1]
        if quote == '"':
            return self._quotes.find(text, quote, start + 1, len(text)) + 1 or -1
        if quote != "'":
            return -1
        last = end_of_repeats(_APOSTROPHES, text, start + 1, len(text))
        return last + 1 if text.startswith(quote, last) else -1

    def _quoted(self, place: Range) -> str:
        """A string between plain quotes."""
        quoted = place.of(self._text)
        value = quoted[1:-1]
        self._at = place.end
        delimited = f"{self._delimiter}{value}{self._delimiter}"
        message = f"{shown(quoted)} stands in plain quotes, which are data here; expected `{self._delimiter}`."
        fix = Fix((Edit(place, delimited),), safe=True)
        self._flag(rules.MALFORMED_JSON, place, message, f"Write {shown(delimited)}.", fix)
        return value

    def _string(self) -> str:
        """The string at the place, which moves behind it."""
        text, delimiter = self._text, self._delimiter
        start, first = self._at, self._at + len(delimiter)
        at, inner = text.find(delimiter, first), list[int]()
        while at >= 0 and not self._is_endless and not self._ends_string(at + len(delimiter)):
            comma = text.rfind(",", max(first, at - _LOOK_BACK), at)
            if comma >= 0 and _SWALLOWED.fullmatch(text, comma, at):
                return self._without_end(start, first, comma)
            inner.append(at)
            at = text.find(delimiter, at + len(delimiter))
        if at < 0 and inner:
            self._is_endless = True
            at, inner = inner[0], []
        for place in inner:
            message = (
                f"`{delimiter}` stands inside a string, as nothing of the dict follows it; many readers stop here."
            )
            self._found.add(Fault(MARKER_INSIDE_ARGUMENT, Range(place, place + len(delimiter)), message))
        if at < 0:
            self._cut_within = f"the string {shown(text, start, len(text))}"
            self._closers = delimiter
            self._at = len(text)
            return text[first:]
        self._at = at + len(delimiter)
        return text[first:at]

    def _ends_string(self, behind: int) -> bool:
        """Whether the dict can go on behind a delimiter, if only a comma was forgotten."""
        if _GOES_ON.match(self._text, behind) is not None:
            return True
        key = _NEXT_KEY.match(self._text, behind)
        return key is not None and self._text.startswith(self._delimiter, key.end())

    def _without_end(self, start: int, first: int, comma: int) -> str:
        """A string without its closing delimiter: the next member stands within it."""
        self._at = comma
        fix = Fix((Edit(Range(comma, comma), self._delimiter),), safe=False)
        message = f"The string {shown(self._text, start, comma)} has no `{self._delimiter}` at its end."
        self._flag(rules.MISSING_QUOTE, Range(comma - 1, comma), message, f"Put `{self._delimiter}` there.", fix)
        return self._text[first:comma]

    def _no_value(self, key: str) -> None:
        character = self._skip()
        if not character:
            self._cut_within = f"the value of {shown(key)}"
            self._hopeless += 1
            return
        message = f"{shown(character)} stands where the value of {shown(key)} was expected."
        self._flag(rules.MISSING_VALUE, Range(self._at, self._at + 1), message)
        if character not in ",}]":
            self._at += 1

    def _skip(self) -> str:
        match = _SPACE.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _ends_value(self, at: int) -> bool:
        match = _SPACE.match(self._text, at)
        following = self._text[match.end() : match.end() + 1] if match is not None else ""
        return not following or following in ",}]" or (match is not None and match.end() > at) or following == "<"

    def _flag(self, rule: Rule, place: Range, message: str, hint: str | None = None, fix: Fix | None = None) -> None:
        self._found.add(Fault(rule, place, message, hint, fix))
        self._breaks += 1
        self._hopeless += fix is None
