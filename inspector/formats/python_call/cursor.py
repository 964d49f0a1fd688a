"""The place in a Python payload that a reader has reached, and what it has found wrong so far."""

from dataclasses import dataclass, field

from inspector.diagnostics import Fault
from inspector.json_scanner.findings import PayloadFindings
from inspector.scanning import end_of_repeats, repeated
from inspector.text import Range

_SPACE_BEGINS = frozenset(" \t\n\r\f\\#")
_SPACE = repeated(r"[ \t\n\r\f]++|\\\r?\n|(?<=[\s,(\[{])#[^\n]*+")


@dataclass(frozen=True, slots=True)
class CursorMark:
    """A place in the text, and how many faults were found before it."""

    at: int
    breaks: int
    hopeless: int


@dataclass(slots=True)
class PythonCursor:
    """`at` is the next character of `text`, which begins at `base` in the whole text.

    `namespace` is what the dialect puts before a tool's name, and inside `print(...)`; "" where it does not.
    `breaks` counts the faults that make a call invalid, `hopeless` those of them without an honest repair.
    `is_cut` says that the text ended too early: within `within`; `closers` would end what is open, unless it is not
    `closable`, since a value is missing.
    """

    text: str
    at: int = 0
    base: int = 0
    namespace: str = ""
    takes_json: bool = True
    """Whether JSON's `true`, `false` and `null` are literals here, as Python's own are."""
    found: PayloadFindings = field(init=False)
    breaks: int = 0
    hopeless: int = 0
    is_cut: bool = False
    within: str = ""
    closers: str = ""
    closable: bool = True
    endless: set[str] = field(default_factory=set)
    """The quotes that no further string of this payload ends with."""
    unclosed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of quotes the last stretch, up to a line's end, in which a string was not closed."""

    def __post_init__(self) -> None:
        self.found = PayloadFindings(self.text)

    def skip(self) -> str:
        """Go over white space and comments; the character there, "" at the end."""
        character = self.text[self.at : self.at + 1]
        if character not in _SPACE_BEGINS:
            return character
        self.at = end_of_repeats(_SPACE, self.text, self.at, len(self.text))
        return self.text[self.at : self.at + 1]

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    def flag(self, fault: Fault, *, readable: bool = False) -> None:
        """A fault that makes the call invalid; without a fix it also cannot be read, unless it is `readable`."""
        self.found.add(fault)
        self.breaks += 1
        self.hopeless += fault.fix is None and not readable

    def remark(self, fault: Fault) -> None:
        """A fault that leaves the call valid."""
        self.found.add(fault)

    def mark(self) -> CursorMark:
        """This place, to come back to."""
        return CursorMark(self.at, self.breaks, self.hopeless)

    def undo(self, mark: CursorMark) -> None:
        """Forget what was found since `mark`: a greater fault takes all of it in. The place stays."""
        self.found.forget(mark.at)
        self.breaks, self.hopeless = mark.breaks, mark.hopeless

    def cut(self, within: str, closer: str = "", *, closable: bool = True) -> None:
        """The text ends here, within something that `closer` would end."""
        self.is_cut = True
        self.within = self.within or within
        self.closers += closer
        self.closable = self.closable and closable

    def place(self, start: int, end: int) -> Range:
        """A place in this text as one in the whole text."""
        return Range(start + self.base, end + self.base)

    def since(self, start: int) -> Range:
        """From `start` up to here."""
        return Range(start, self.at)
