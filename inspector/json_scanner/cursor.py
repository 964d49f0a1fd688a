"""The state of a tolerant JSON parse: the position, the open brackets, and the faults found so far."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from operator import attrgetter

from msgspec import Struct, field, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.json_scanner.values import JsonMember, JsonNode
from weaklink.inspector.rules.json_syntax import INVALID_ESCAPE, MALFORMED_JSON, MISSING_VALUE, SINGLE_QUOTED_JSON
from weaklink.inspector.scanning import QuoteSearch
from weaklink.inspector.text import Range, counted, shown

MAX_FAULTS = 100
"""The maximum number of faults listed for one payload; one more fault then gives the number of the rest."""

_HOPELESS = 10_000
_WHICH = {1: "the string", 2: "both strings"}
_BLANK = re.compile(r"[ \t\n\r]*+")


class _QuotingStyle(Struct):
    """A quoting style used throughout a payload: reported once, at its first string, and repaired at every string."""

    first: Range | None = None
    count: int = 0
    edits: list[Edit] = field(default_factory=list)

    def add(self, string_range: Range, edits: list[Edit]) -> None:
        self.first = self.first or string_range
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


class PayloadFaults(Struct):
    """Collects the faults of one payload; once it is `full`, the expensive checks are skipped."""

    text: str
    _faults: list[Fault] = field(default_factory=list)
    _more: int = 0
    _last: Range = field(default_factory=lambda: Range(0, 0))
    _single: _QuotingStyle = field(default_factory=_QuotingStyle)
    _escaped: _QuotingStyle = field(default_factory=_QuotingStyle)

    @property
    def full(self) -> bool:
        """Whether `MAX_FAULTS` is reached: further faults are only counted."""
        return len(self._faults) >= MAX_FAULTS

    @property
    def hopeless(self) -> bool:
        """Whether there are so many faults that reading stops."""
        return self._more >= _HOPELESS

    def add(self, fault: Fault) -> None:
        """Add a fault."""
        if self.full:
            self._more += 1
            self._last = fault.range
        else:
            self._faults.append(fault)

    def inserts_at(self, position: int) -> bool:
        """Whether one of the last repairs inserts text at this position; a second insertion there would conflict."""
        edits = (edit for fault in self._faults[-4:] if fault.fix for edit in fault.fix.edits[-1:])
        return any(edit.range.start == edit.range.end == position for edit in edits)

    def add_single_quoted(self, string_range: Range, edits: list[Edit]) -> None:
        """Add a single-quoted string and the edits that give it double quotes."""
        self._single.add(string_range, edits)

    def add_escaped_quotes(self, string_range: Range, edits: list[Edit]) -> None:
        """Add a string whose delimiting quotes are escaped with a backslash."""
        self._escaped.add(string_range, edits)

    def forget(self, start: int) -> None:
        """Drop all faults from `start` on: the repair deletes that text."""
        self._faults = [fault for fault in self._faults if fault.range.start < start]
        self._single.forget(start)
        self._escaped.forget(start)

    def finished(self) -> tuple[Fault, ...]:
        """All faults, sorted by position."""
        faults = [*self._faults]
        if self._single.first:
            faults.append(self._single_quoted(self._single.first))
        if self._escaped.first:
            faults.append(self._escaped_quotes(self._escaped.first))
        if self._more:
            least = "at least " if self.hopeless else ""
            message = f"This payload has {least}{counted(self._more, 'fault')} more than the {MAX_FAULTS} listed."
            faults.append(Fault(MALFORMED_JSON, self._last, message))
        return tuple(_merge_repeated(sorted(faults, key=attrgetter("range"))))

    def _single_quoted(self, first: Range) -> Fault:
        count = self._single.count
        quoted = shown(self.text, first.start, first.end)
        rest = f"as {counted(count - 1, 'more string is', 'more strings are')}" if count > 1 else "as in Python"
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
            "Remove one level of backslashes.",
            self._escaped.fix(),
        )


def _merge_repeated(faults: list[Fault]) -> Iterator[Fault]:
    """The faults, where all J101 faults are merged into one, and so are all surplus commas."""
    kinds: dict[str, list[Fault]] = {}
    for fault in faults:
        if kind := _merge_key(fault):
            kinds.setdefault(kind, []).append(fault)
    for fault in faults:
        same = kinds.get(_merge_key(fault), [fault])
        if len(same) < 2:
            yield fault
        elif fault is same[0]:
            yield _merged(same)


def _merge_key(fault: Fault) -> str:
    """The key that faults to be merged share; "" for a fault that is reported separately."""
    if fault.rule is MALFORMED_JSON:
        return fault.rule.code
    return fault.message if fault.rule is MISSING_VALUE and fault.message.startswith("A comma appears") else ""


def _merged(malformed: list[Fault]) -> Fault:
    """The first of several faults of one rule, related to the others, with one repair that joins all of theirs."""
    first, *others = malformed
    message = (
        f"{first.message.removesuffix('.')}, and this payload has {counted(len(others), 'more fault')} of this kind."
    )
    edits = sorted((edit for fault in malformed if fault.fix for edit in fault.fix.edits), key=attrgetter("range"))
    is_safe = all(fault.fix is not None and fault.fix.safe for fault in malformed)
    related = (*first.related, *(Related(fault.range, fault.message) for fault in others))
    return structs.replace(first, message=message, fix=Fix(tuple(edits), is_safe) if edits else None, related=related)


class ValueContext(Enum):
    """The role of the value or key at the cursor; it decides which characters may follow."""

    KEY = auto()
    MEMBER = auto()
    ITEM = auto()
    TUPLE = auto()
    ROOT = auto()


class ExpectedToken(Enum):
    """The token that the innermost open bracket expects next."""

    KEY = auto()
    COLON = auto()
    VALUE = auto()
    COMMA = auto()


class Frame(Struct):
    """One open bracket and its content so far.

    `opener` is its kind (`{` or `[`), `closer` the character that ends it in the text; they disagree if the text uses
    the wrong bracket. `fault` is reported when the bracket closes, which completes its repair. `comma` is the position
    of the last comma if nothing has followed it yet (else -1), `last_end` the end of the last value (or of the opener).
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
        """The range of the last value in this bracket; of the bracket itself while it is empty."""
        if self.members:
            return self.members[-1].value.range
        return self.items[-1].range if self.items else Range(self.start, self.start + 1)

    @property
    def closes_with(self) -> str:
        """The bracket that strict JSON expects at its end."""
        return "}" if self.opener == "{" else "]"

    @property
    def context(self) -> ValueContext:
        """The context of a value in this bracket."""
        if self.opener == "{":
            return ValueContext.MEMBER
        return ValueContext.TUPLE if self.closer == ")" else ValueContext.ITEM


class Truncation(Struct):
    """A string, number or word that the end of the text cuts off.

    `edits` remove what cannot be kept, `tail` is the text to append to make it whole.
    """

    what: str
    range: Range
    edits: list[Edit] = field(default_factory=list)
    tail: str = ""


class JsonCursor(Struct):
    """The `position` in a text that is read up to `end`, and the brackets open there, outermost first."""

    text: str
    position: int
    end: int
    faults: PayloadFaults
    frames: list[Frame] = field(default_factory=list)
    cut: Truncation | None = None
    no_triple: set[str] = field(default_factory=set)
    quotes: QuoteSearch = field(default_factory=QuoteSearch)
    no_end_from: dict[re.Pattern[str], int] = field(default_factory=dict)
    """For each pattern of what may follow a closing quote: the position from which no string has such an end."""

    def peek(self) -> str:
        """The character at the cursor; "" at the end."""
        return self.text[self.position] if self.position < self.end else ""

    def skip_blank(self) -> None:
        """Move over JSON white space."""
        match = _BLANK.match(self.text, self.position, self.end)
        self.position = match.end() if match else self.position

    def expected_closers(self) -> str:
        """The closers of the open brackets, innermost first."""
        return "".join(frame.closer for frame in reversed(self.frames))

    def context(self) -> ValueContext:
        """The context of the next value or key."""
        if not self.frames:
            return ValueContext.ROOT
        frame = self.frames[-1]
        return ValueContext.KEY if frame.next is ExpectedToken.KEY else frame.context
