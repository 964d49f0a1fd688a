"""Where a tolerant reading stands: the place in the text, the brackets open around it, and what was found so far."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from inspector.diagnostics import Edit, Fault
from inspector.json_scanner.findings import PayloadFindings
from inspector.json_scanner.values import JsonNode, Member
from inspector.scanning import QuoteSearch
from inspector.text import Range

_BLANK = re.compile(r"[ \t\n\r]*+")


class ValueContext(Enum):
    """What a value or key at the cursor belongs to; it decides which characters may follow it."""

    KEY = auto()
    MEMBER = auto()
    ITEM = auto()
    TUPLE = auto()
    ROOT = auto()


class Next(Enum):
    """What the innermost open bracket waits for."""

    KEY = auto()
    COLON = auto()
    VALUE = auto()
    COMMA = auto()


@dataclass(slots=True)
class Frame:
    """One open bracket and what has been read of it.

    `opener` says what it is (`{` or `[`), `closer` which character ends it in the text; they disagree where the text
    uses the wrong bracket. `fault` waits for the closer to complete its repair. `comma` is where the last comma
    stands if nothing followed it yet, `last_end` where the last value (or the opener) ended.
    """

    opener: str
    closer: str
    start: int
    next: Next
    last_end: int
    members: list[Member] = field(default_factory=list)
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


@dataclass(slots=True)
class Truncation:
    """A string, number or word that the end of the text cuts: what must go or come to make it whole."""

    what: str
    range: Range
    edits: list[Edit] = field(default_factory=list)
    tail: str = ""


@dataclass(slots=True)
class Cursor:
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
        return ValueContext.KEY if frame.next is Next.KEY else frame.place
