"""The diagnostics of a trace by place and severity, each made when somebody looks."""

from collections.abc import Callable, Mapping

from inspector.diagnostics import Diagnostic
from inspector.model.columns import Column, Entries
from inspector.rules.rule import Severity
from ui.views.places import NO_PART, Places

_SEVERITIES = tuple(Severity)
_CODES: Mapping[Severity, int] = {severity: code for code, severity in enumerate(_SEVERITIES)}


class FaultIndex:
    """Where each diagnostic stands and how grave it is, made of one walk over them; `number` names parts by number."""

    def __init__(self, diagnostics: Entries[Diagnostic], number: Callable[[int, str], int]) -> None:
        self.diagnostics, self.places = diagnostics, Places(by_end=True)
        codes = bytearray()
        for one in diagnostics:
            at = one.location
            self.places.add(at.turn, number(at.turn, at.part), at.range.start, at.range.end)
            codes.append(_CODES[one.rule.severity])
        self.places.settle()
        indices = self.places.indices
        self._codes = bytes(codes if isinstance(indices, range) else map(codes.__getitem__, indices))

    @property
    def severities(self) -> Mapping[Severity, int]:
        """How many diagnostics there are of each severity."""
        return {severity: self._codes.count(code) for severity, code in _CODES.items()}

    def worst(self, positions: range) -> Severity | None:
        """The gravest severity among some places; None among none."""
        codes = self._codes
        return next(
            (one for one, code in _CODES.items() if codes.find(code, positions.start, positions.stop) >= 0), None
        )

    def severity(self, position: int) -> Severity:
        """How grave the diagnostic at a place is."""
        return _SEVERITIES[self._codes[position]]

    def of_part(self, turn: int, part: int) -> "Faults":
        """The diagnostics of a part by place; those of a turn that lie in none of its parts for `NO_PART`."""
        return Faults(self, self.places.of_part(turn, part))

    def of_turn(self, turn: int) -> "Faults":
        """The diagnostics of a turn by place, first those that lie in none of its parts."""
        return Faults(self, self.places.of_turn(turn))


class Faults(Column[Diagnostic]):
    """Diagnostics that stand beside each other, by place."""

    __slots__ = ("_index", "_positions")

    def __init__(self, index: FaultIndex, positions: range) -> None:
        self._index, self._positions = index, positions

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def worst(self) -> Severity | None:
        """The gravest severity among them; None where there are none."""
        return self._index.worst(self._positions)

    def begun(self, start: int, end: int) -> "Faults":
        """Those that begin from `start` on and before `end`, of diagnostics in one part."""
        return Faults(self._index, self._index.places.begun(self._positions, start, end))

    def smallest_at(self, offset: int) -> Diagnostic | None:
        """The smallest that holds a character, of diagnostics in one part; None where none does."""
        places = self._index.places
        held = min(places.holding(self._positions, offset), key=places.length, default=None)
        return None if held is None else self._index.diagnostics[places.indices[held]]

    def _at(self, index: int) -> Diagnostic:
        return self._index.diagnostics[self._index.places.indices[self._positions[index]]]


NO_FAULTS = Faults(FaultIndex((), lambda _, __: NO_PART), range(0))
"""Where nothing is wrong."""
