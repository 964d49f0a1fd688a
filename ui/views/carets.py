"""The carets below places of one row and what is said of them, as compilers do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.diagnostics import Fault
from inspector.rules.rule import Severity
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run, width_of
from ui.views.wording import wrapped


@dataclass(frozen=True, slots=True)
class Under:
    """A place of a row where something is wrong: `cells` of them behind `before`, its faults, what is said of each."""

    before: int
    cells: int
    faults: Sequence[Fault]
    said: Sequence[Sequence[Line]]

    @property
    def style(self) -> Style:
        """That of the worst fault."""
        return style_of(min((fault.rule.severity for fault in self.faults), key=list(Severity).index))


def caret_lines(places: Sequence[Under], room: int) -> Iterator[Line]:
    """Carets under the places of one row, right below it, then what is said of each in at most `room` cells.

    Places that come to the same cells share their carets, also where one of them goes on in other rows.
    Where more than one is spoken of they bear numbers, so that no words part carets from their text; the words of
    one alone follow its carets, beside them where they fit.
    """
    places = _joined(places)
    spoken = [place for place in places if place.said]
    if len(spoken) <= 1:
        yield from _drawn([_Caret(place, "", room) for place in places if not place.said])
        for place in spoken:
            yield from _alone(place, room)
        return
    numbers = {id(place): str(number) for number, place in enumerate(spoken, 1)}
    yield from _drawn([_Caret(place, numbers.get(id(place), ""), room) for place in places])
    for place in spoken:
        lead = f"{numbers[id(place)]} "
        for words in place.said:
            for index, line in enumerate(words):
                begins = Run(" " * len(lead) if index else lead, place.style)
                yield from _wrapped((begins, *line), room, len(lead))


class _Caret:
    """Carets with their number, and the cells that both take: it stands behind, or before where the row ends."""

    def __init__(self, place: Under, label: str, room: int) -> None:
        self.place = place
        self.behind = f" {label}" if label and place.before + place.cells + len(label) < room else ""
        self.ahead = f"{label} " if label and not self.behind and place.before > len(label) else ""
        self.start = place.before - len(self.ahead)
        self.end = place.before + place.cells + len(self.behind)

    def __iter__(self) -> Iterator[Run]:
        style = self.place.style
        yield from (Run(text, style) for text in (self.ahead, "^" * self.place.cells, self.behind) if text)


def _joined(places: Sequence[Under]) -> list[Under]:
    alike: dict[tuple[int, int], list[Under]] = {}
    for place in places:
        alike.setdefault((place.before, place.cells), []).append(place)
    return [
        Under(*cells, [fault for one in some for fault in one.faults], [said for one in some for said in one.said])
        for cells, some in alike.items()
    ]


def _drawn(carets: Sequence[_Caret]) -> Iterator[Line]:
    """The carets in as few lines as hold them all beside each other."""
    lines: list[tuple[int, list[Run]]] = []
    for caret in carets:
        at = next((index for index, (end, _) in enumerate(lines) if end < caret.start or not end), len(lines))
        if at == len(lines):
            lines.append((0, []))
        end, runs = lines[at]
        lines[at] = caret.end, [*runs, Run(" " * (caret.start - end)), *caret]
    yield from (tuple(runs) for _, runs in lines)


def _alone(place: Under, room: int) -> Iterator[Line]:
    carets = (Run(" " * place.before), Run("^" * place.cells, place.style))
    rest = [list(words) for words in place.said]
    if len(rest) == 1 and place.before + place.cells + 1 + width_of(rest[0][0]) <= room:
        yield (*carets, Run(" "), *rest[0].pop(0))
    else:
        yield carets
    for line in (line for words in rest for line in words):
        yield from _wrapped(line, room, 0)


def _wrapped(line: Line, room: int, lead: int) -> Iterator[Line]:
    return wrapped(line, room, indent=lead + (2 if line[0].text.strip() else 8))
