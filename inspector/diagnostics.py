"""Faults and diagnostics: what is wrong, where exactly, why, and the smallest repair."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from weaklink.inspector.json_text import Json
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range

SENT_PART, RUN_RESULT, RUN_ARGUMENTS = "sent:", "run:result", "run:arguments"
"""Part names outside of a turn's texts: the prefix for a request's messages, and the two texts of a tool's run."""
_OUTSIDE_TURNS = (SENT_PART, RUN_RESULT, RUN_ARGUMENTS)


class Edit(Struct, frozen=True, array_like=True):
    """One replacement: the text in `range` becomes `text` (an empty range inserts, an empty text deletes)."""

    range: Range
    text: str


class Fix(Struct, frozen=True, array_like=True):
    """A repair as edits that do not overlap, in the order of the text.

    `safe` is true if the repair keeps the only meaning the text can have; any other fix is a suggestion.
    No fix is ever applied silently.
    """

    edits: tuple[Edit, ...]
    safe: bool

    def moved(self, distance: int) -> "Fix":
        """The same repair of a text that begins `distance` code points later."""
        return Fix(tuple(Edit(edit.range.moved(distance), edit.text) for edit in self.edits), self.safe)


class AttemptedCall(Struct, frozen=True, array_like=True):
    """A call that the model tried to make in a shape that its format does not parse.

    `name` is the tool's name. `arguments` are the parsed arguments, None if they could not be read (`recovered` is
    then False); `raw_arguments` is their exact text. `range` covers the call's own characters. `is_step` is true if
    the model meant to make the call, and false for a draft in reasoning.
    """

    name: str
    arguments: Json
    raw_arguments: str
    range: Range
    recovered: bool
    is_step: bool = True

    def __hash__(self) -> int:  # the arguments may be an object, which has no hash
        return hash((self.name, self.raw_arguments, self.range))

    def moved(self, distance: int) -> "AttemptedCall":
        """The same call in a text that begins `distance` code points later."""
        return structs.replace(self, range=self.range.moved(distance))


class Fault(Struct, frozen=True, array_like=True):
    """One fault in one text, before it is known which turn and part that text belongs to.

    `message` states this case in one sentence and quotes the stream in backticks; `hint` describes the smallest
    repair in words, or is None if no advice would be honest; `path` is a JSON Pointer into the arguments, or None.
    `call` is the call that the model tried to make here in a shape that its format does not parse. `against` is the
    earlier side of a difference between two layers; the fault itself is at the later side. The part of either side may
    be `run:result`, `run:arguments`, or `sent:N:PART` for message N (from 1) of the request that the turn answers.
    """

    rule: Rule
    range: Range
    message: str
    hint: str | None = None
    fix: Fix | None = None
    path: str | None = None
    related: tuple["Related", ...] = ()
    call: AttemptedCall | None = None
    against: "Location | None" = None

    def moved(self, distance: int) -> "Fault":
        """The same fault in a text that begins `distance` code points later."""
        if not distance:
            return self
        return structs.replace(
            self,
            range=self.range.moved(distance),
            fix=self.fix.moved(distance) if self.fix else None,
            related=tuple(Related(r.range.moved(distance), r.message) for r in self.related),
            call=self.call.moved(distance) if self.call else None,
        )

    def at(self, turn: int, part: str) -> "Diagnostic":
        """This fault as a diagnostic: `turn` counts from 1, `part` is the name of the turn's part that contains it."""
        return Diagnostic(Location(turn, part, self.range), self)


class Related(Struct, frozen=True, array_like=True):
    """Another range in the same text that helps to understand a fault, and the reason."""

    range: Range
    message: str


class Location(Struct, frozen=True, array_like=True, order=True):
    """A range within one part of one turn; `turn` counts from 1."""

    turn: int
    part: str
    range: Range

    @property
    def is_in_turn(self) -> bool:
        """Whether the part is one of the turn's own texts, and not of its request or of a tool's run."""
        return not self.part.startswith(_OUTSIDE_TURNS)


class Diagnostic(Struct, frozen=True, array_like=True):
    """One reported fault: the fault and its location in the trace."""

    location: Location
    fault: Fault

    @property
    def rule(self) -> Rule:
        """The rule that the fault breaks."""
        return self.fault.rule

    @property
    def range(self) -> Range:
        """The fault's range within its part."""
        return self.fault.range

    @property
    def place_in_turn(self) -> Location:
        """Its location, or the other side's if its own is not in a turn's texts but in a request or a tool's run."""
        other = self.fault.against
        return other if other is not None and not self.location.is_in_turn else self.location


def apply_fixes(text: str, faults: Iterable[Fault], *, only_safe: bool = True) -> str:
    """`text` with the fixes applied; a fix is skipped as a whole if an edit of it overlaps one chosen earlier."""
    fixable = (fault for fault in faults if fault.fix is not None and (fault.fix.safe or not only_safe))
    return edited(
        text, (edit for fault in without_clashes(fixable) if fault.fix is not None for edit in fault.fix.edits)
    )


def without_clashes(faults: Iterable[Fault]) -> list[Fault]:
    """The faults whose fixes can be applied together, in text order: no edit overlaps one of an earlier fault."""
    chosen: list[Fault] = []
    taken: list[Edit] = []
    for fault in sorted(faults, key=lambda fault: fault.range):
        edits = fault.fix.edits if fault.fix is not None else ()
        if edits and not any(clashes(edit, taken) for edit in edits):
            chosen.append(fault)
            for edit in edits:
                insort(taken, edit, key=edit_range)
    return chosen


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with the edits applied, which must not overlap."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=edit_range):
        pieces += (text[position : edit.range.start], edit.text)
        position = edit.range.end
    return "".join([*pieces, text[position:]])


def edit_range(edit: Edit) -> Range:
    """The range that an edit replaces: the key by which edits are sorted."""
    return edit.range


def clashes(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Whether an edit has the same range as one of `taken`, or overlaps one; `taken` is sorted by range."""
    index = bisect_left(taken, edit.range, key=edit_range)
    neighbours = taken[max(index - 1, 0) : index + 1]
    return any(edit.range == other.range or edit.range.overlaps(other.range) for other in neighbours)
