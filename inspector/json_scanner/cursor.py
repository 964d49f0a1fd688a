"""The state of a tolerant JSON parse: the position, the open brackets, and the faults found so far."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from operator import attrgetter

from msgspec import Struct, field, structs

from inspector.diagnostics import Edit, Fault, Fix, Related
from inspector.json_scanner.values import JsonMember, JsonNode
from inspector.rules.json_syntax import INVALID_ESCAPE, MALFORMED_JSON, MISSING_VALUE, SINGLE_QUOTED_JSON
from inspector.scanning import QuoteSearch
from inspector.text import Range, counted, shown

MAX_FAULTS = 100
"""How many faults one payload may report before a last one says how many more there are."""

_HOPELESS = 10_000
_WHICH = {1: "the string", 2: "both strings"}
_BLANK = re.compile(r"[ \t\n\r]*+")


class _Dialect(Struct):
    """A way of quoting that a whole payload follows: reported once, where it first stands, and mended everywhere."""

    first: Range | None = None
    count: int = 0
    edits: list[Edit] = field(default_factory=list)

    def add(self, place: Range, edits: list[Edit]) -> None:
        self.first = self.first or place
        self.count += 1
        self.edits += edits

    def forget(self, start: int) -> None:
        if not self.edits or self.edits[-1].range.start < start:
            return
        while self.edits and self.edits[-1].range.start >= start:
            self.edits.pop()
        self.count -= 1
        if not self.edits:
            self.first = None

    def fix(self) -> Fix:
        return Fix(tuple(self.edits), safe=True)


class PayloadFindings(Struct):
    """The faults of one payload as they are found; `full` says that looking closely is no longer worth it."""

    text: str
    _faults: list[Fault] = field(default_factory=list)
    _more: int = 0
    _last: Range = field(default_factory=lambda: Range(0, 0))
    _single: _Dialect = field(default_factory=_Dialect)
    _escaped: _Dialect = field(default_factory=_Dialect)

    @property
    def full(self) -> bool:
        """Whether the bound is reached: further faults are only counted."""
        return len(self._faults) >= MAX_FAULTS

    @property
    def hopeless(self) -> bool:
        """Whether there are so many faults that reading on helps nobody."""
        return self._more >= _HOPELESS

    def add(self, fault: Fault) -> None:
        """One fault more."""
        if self.full:
            self._more += 1
            self._last = fault.range
        else:
            self._faults.append(fault)

    def inserts_at(self, at: int) -> bool:
        """Whether one of the last repairs puts something in at a place, so that another would meet it there."""
        edits = (edit for fault in self._faults[-4:] if fault.fix for edit in fault.fix.edits[-1:])
        return any(edit.range.start == edit.range.end == at for edit in edits)

    def add_single_quoted(self, place: Range, edits: list[Edit]) -> None:
        """One single-quoted string more, and the edits that give it double quotes."""
        self._single.add(place, edits)

    def add_escaped_quotes(self, place: Range, edits: list[Edit]) -> None:
        """One string more whose quotes bear a backslash although they stand outside any string."""
        self._escaped.add(place, edits)

    def forget(self, start: int) -> None:
        """Drop all that was found from `start` on: it lies in a piece that the repair takes away whole."""
        self._faults = [fault for fault in self._faults if fault.range.start < start]
        self._single.forget(start)
        self._escaped.forget(start)

    def finished(self) -> tuple[Fault, ...]:
        """All faults, sorted by place."""
        faults = [*self._faults]
        if self._single.first:
            faults.append(self._single_quoted(self._single.first))
        if self._escaped.first:
            faults.append(self._escaped_quotes(self._escaped.first))
        if self._more:
            least = "at least " if self.hopeless else ""
            message = f"This payload has {least}{counted(self._more, 'fault')} more than the {MAX_FAULTS} listed."
            faults.append(Fault(MALFORMED_JSON, self._last, message))
        return tuple(_with_kinds_once(sorted(faults, key=attrgetter("range"))))

    def _single_quoted(self, first: Range) -> Fault:
        count = self._single.count
        quoted = shown(self.text, first.start, first.end)
        rest = f"as {counted(count - 1, 'further string is', 'further strings are')}" if count > 1 else "as in Python"
        return Fault(
            SINGLE_QUOTED_JSON,
            first,
            f"{quoted} is quoted with apostrophes, {rest}; JSON expects double quotes.",
            f"Write double quotes around {_WHICH.get(count, f'all {count} strings')}.",
            self._single.fix(),
        )

    def _escaped_quotes(self, first: Range) -> Fault:
        count = self._escaped.count
        rest = f" ({counted(count, 'string')} in this payload)" if count > 1 else ""
        return Fault(
            INVALID_ESCAPE,
            first,
            f"The quotes of {shown(self.text, first.start, first.end)} have a backslash although they delimit a string"
            f"{rest}: the JSON was escaped once too often.",
            "Take one level of backslashes away.",
            self._escaped.fix(),
        )


def _with_kinds_once(faults: list[Fault]) -> Iterator[Fault]:
    """The faults, in which all of J101 are one, and so are commas too many: each is reported once for a payload."""
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        if kind := _kind_once(fault):
            kinds.setdefault(kind, []).append(fault)
    for fault in faults:
        same = kinds.get(_kind_once(fault), [fault])
        if len(same) < 2:
            yield fault
        elif fault is same[0]:
            yield _merged(same)


def _kind_once(fault: Fault) -> str:
    """What faults have in common that are reported once for a payload; "" for one that stands for itself."""
    if fault.rule is MALFORMED_JSON:
        return fault.rule.code
    return fault.message if fault.rule is MISSING_VALUE and fault.message.startswith("A comma appears") else ""


def _merged(malformed: list[Fault]) -> Fault:
    """The first of several faults of one rule, with the places of the others, and one repair of all that have one."""
    first, *others = malformed
    message = (
        f"{first.message.removesuffix('.')}, and this payload has {counted(len(others), 'more fault')} of this kind."
    )
    edits = sorted((edit for fault in malformed if fault.fix for edit in fault.fix.edits), key=attrgetter("range"))
    is_safe = all(fault.fix is not None and fault.fix.safe for fault in malformed)
    related = (*first.related, *(Related(fault.range, fault.message) for fault in others))
    return structs.replace(first, message=message, fix=Fix(tuple(edits), is_safe) if edits else None, related=related)


class ValueContext(Enum):
    """What a value or key at the cursor belongs to; it decides which characters may follow it."""

    KEY = auto()
    MEMBER = auto()
    ITEM = auto()
    TUPLE = auto()
    ROOT = auto()


class ExpectedToken(Enum):
    """What the innermost open bracket waits for."""

    KEY = auto()
    COLON = auto()
    VALUE = auto()
    COMMA = auto()


class Frame(Struct):
    """One open bracket and what has been read of it.

    `opener` says what it is (`{` or `[`), `closer` which character ends it in the text; they disagree where the text
    uses the wrong bracket. `fault` waits for the closer to complete its repair. `comma` is where the last comma
    stands if nothing followed it yet, `last_end` where the last value (or the opener) ended.
    """

    opener: str
    closer: str
    start: int
    next: ExpectedToken
    last_end: int
    members: list[JsonMember] = field(default_factory=list)
    items: list[JsonNode] = field(default_factory=list)
    key: str = ""
    key_range: Range = field(default_factory=lambda: Range(0, 0))
    comma: int = -1
    fault: Fault | None = None
    doubled: bool = False

    @property
    def last(self) -> Range:
        """The last value in this bracket; the bracket itself while it is empty."""
        if self.members:
            return self.members[-1].value.range
        return self.items[-1].range if self.items else Range(self.start, self.start + 1)

    @property
    def closes_with(self) -> str:
        """The bracket that strict JSON expects at its end."""
        return "}" if self.opener == "{" else "]"

    @property
    def place(self) -> ValueContext:
        """What a value in this bracket is."""
        if self.opener == "{":
            return ValueContext.MEMBER
        return ValueContext.TUPLE if self.closer == ")" else ValueContext.ITEM


class Truncation(Struct):
    """A string, number or word that the end of the text cuts: what must go or come to make it whole."""

    what: str
    range: Range
    edits: list[Edit] = field(default_factory=list)
    tail: str = ""


class JsonCursor(Struct):
    """The place `at` in a text that is read up to `end`, and the brackets open there, outermost first."""

    text: str
    at: int
    end: int
    found: PayloadFindings
    frames: list[Frame] = field(default_factory=list)
    cut: Truncation | None = None
    no_triple: set[str] = field(default_factory=set)
    quotes: QuoteSearch = field(default_factory=QuoteSearch)
    endless: dict[re.Pattern[str], int] = field(default_factory=dict)
    """From where on no string ends before what the pattern finds."""

    def peek(self) -> str:
        """The character at the cursor, or nothing at the end."""
        return self.text[self.at] if self.at < self.end else ""

    def skip_blank(self) -> None:
        """Move over white space, as JSON knows it."""
        match = _BLANK.match(self.text, self.at, self.end)
        self.at = match.end() if match else self.at

    def awaited(self) -> str:
        """The brackets that the open ones wait for, innermost first."""
        return "".join(frame.closer for frame in reversed(self.frames))

    def place(self) -> ValueContext:
        """What the next value belongs to."""
        if not self.frames:
            return ValueContext.ROOT
        frame = self.frames[-1]
        return ValueContext.KEY if frame.next is ExpectedToken.KEY else frame.place
