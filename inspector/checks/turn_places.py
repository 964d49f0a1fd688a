"""Where a fault of a whole turn is shown: at the first or at the last character that came of it."""

from inspector.diagnostics import Diagnostic, Fault
from inspector.model import Part, Turn
from inspector.rules.rule import Rule
from inspector.text import Range


def at_start(turn: Turn, number: int, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    """The diagnostic at the first character of turn `number` (from 1); at an empty range where it has no text."""
    part = next((part for part in turn.parts if _is_answer(part)), None)
    name = part.name if part is not None else _first_name(turn)
    return Fault(rule, Range(0, 1 if part is not None else 0), message, hint).at(number, name)


def at_end(turn: Turn, number: int, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    """The diagnostic at the last character of turn `number` (from 1); at an empty range where it has no text."""
    part = next((part for part in reversed(turn.parts) if _is_answer(part)), None)
    if part is None:
        return Fault(rule, Range(0, 0), message, hint).at(number, _first_name(turn))
    end = len(part.text)
    return Fault(rule, Range(end - 1, end), message, hint).at(number, part.name)


def _is_answer(part: Part) -> bool:
    """Whether a part holds words of the answer, and no record of the wire or of a further choice."""
    return bool(part.text) and ":" not in part.name.removeprefix("call:")


def _first_name(turn: Turn) -> str:
    return turn.parts[0].name if turn.parts else "text"
