"""Faults and verdicts as plain text for a failing test: the line of the stream with carets under the fault."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from inspector.chain.steps import Chain, Reaction, Step
from inspector.diagnostics import Diagnostic
from inspector.model import Trace
from inspector.text import LineIndex, Range

_BEFORE, _AFTER = 48, 48
_REACTIONS: Mapping[Reaction, str] = MappingProxyType(
    {
        Reaction.REPORTED: "The agent reported it.",
        Reaction.IGNORED: "The agent went on as if nothing had happened.",
        Reaction.CONCEALED: "The agent went on with values that it invented.",
    }
)


def step_words(step: Step, chain: Chain) -> str:
    """What became of a step in a sentence or two: the verdict of the chain where it broke there."""
    broken = chain.broken
    if broken is not None and broken.step == step.number:
        said = [broken.message, _REACTIONS[broken.reaction] if broken.reaction is not None else ""]
        return shown(" ".join(word for word in said if word))
    tool = f"`{step.call.name}`" if step.call.name else "a tool without a name"
    made_good = ", and the agent made it good" if step.recovery is not None else ""
    return shown(f"The call of {tool} in turn {step.location.turn} failed ({step.outcome.value}){made_good}.")


def fault_lines(diagnostic: Diagnostic, trace: Trace) -> Iterator[str]:
    """A diagnostic: its message, its place, the line of the text that it lies in with carets, and the hint."""
    fault, place = diagnostic.fault, diagnostic.location
    part = trace.turns[place.turn - 1].part(place.part) if 0 < place.turn <= len(trace.turns) else None
    lines = LineIndex(part.text if part is not None else "")
    number, column = lines.position(min(place.range.start, len(lines.text)))
    yield f"{fault.rule.severity.value}[{fault.rule.code}] {fault.rule.name}: {shown(fault.message)}"
    gutter = " " * len(str(number))
    yield f"{gutter}--> turn {place.turn}, {shown(place.part)}, line {number} column {column}"
    yield from _excerpt(lines, number, place.range, gutter)
    if fault.hint:
        yield f"{gutter} = help: {shown(fault.hint)}"


def _excerpt(lines: LineIndex, number: int, place: Range, gutter: str) -> Iterator[str]:
    text, line = lines.text, lines.line(number)
    start, end = min(place.start, line.end), max(min(place.end, line.end), min(place.start, line.end))
    window = Range(max(line.start, start - _BEFORE), min(line.end, end, start + _AFTER) + _AFTER)
    window = Range(window.start, min(window.end, line.end))
    head, tail = "…" if window.start > line.start else "", "…" if window.end < line.end else ""
    before = head + shown(text[window.start : start])
    marked = shown(text[start : min(end, window.end)])
    yield f"{number} | {before}{marked}{shown(text[min(end, window.end) : window.end])}{tail}"
    yield f"{gutter} | {' ' * len(before)}{'^' * max(len(marked), 1)}"


def shown(text: str) -> str:
    """A text on one line in which nothing moves a cursor or hides: what cannot be seen becomes an escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
