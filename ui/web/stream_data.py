"""The data of the dissector in the browser as JSON: texts, spans, faults, chunk times and the tree of values."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar

from msgspec import Struct

from weaklink.inspector.chain.grouping import causes_of
from weaklink.inspector.chain.steps import Chain, Status
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Json, Part, Role, SpanKind, Trace
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range
from weaklink.ui.views.diagnostic import part_words
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.stream_rows import span_word
from weaklink.ui.views.dissect.timing import STALL_S
from weaklink.ui.views.dissect.tree import MAX_PARSED_CHARS, turn_rows
from weaklink.ui.views.dissect.tree_rows import TreeRow
from weaklink.ui.views.layers import TraceLayers
from weaklink.ui.views.places import StepPlaces
from weaklink.ui.views.status import GLYPHS, call_brief, outcome_words, step_glyph
from weaklink.ui.views.styled_text import visible, visible_line
from weaklink.ui.views.trace import model_of
from weaklink.ui.views.turn import answers, turn_facts
from weaklink.ui.web.pictures import location_object

MAX_STREAM_CHARS = 2_000_000
"""The limit of one page; of a longer trace, the page contains the turns around the selected one."""

_MAX_CHUNKS = 100_000
_ROW_CHARS = 120
_MAX_LAYERED_STEPS = 2_000  # steps for which a key goes from layer to layer
_LONE = re.compile(r"[\ud800-\udfff]")
MAX_VALUE_ROWS = 5_000
EXPANDED_TURNS = 250
"""The number of turns before and after the selected one that are expanded; turns further away have one row each."""

_MAX_SENTENCE_CHARS = 2_000  # characters of one sentence
_MAX_MARKED_LINES = 4
_MAX_MARKED, _MAX_MARK = 600, 80  # characters: about ten rows of a laptop's screen, and one


class TurnWindow(Struct, frozen=True):
    """The turns of a trace that a page contains, `first` to `last`; of the parts in `cuts`, only these characters."""

    first: int
    last: int
    is_whole: bool
    cuts: tuple[tuple[int, str, Range], ...] = ()

    def shown(self, turn: int, part: Part) -> Range:
        """The characters of a part that the page contains."""
        cut = next((range_ for number, name, range_ in self.cuts if (number, name) == (turn, part.name)), None)
        return Range(0, len(part.text)) if cut is None else cut


def window_of(trace: Trace, turn: int, part: str = "text", start: int = 0) -> TurnWindow:
    """The turns around `turn` whose texts together fit into a page.

    If the turn alone is too long, the window has the characters around `start` of `part`, and as much of the turn's
    other parts as fits. At most MAX_STREAM_CHARS.
    """
    sizes = [sum(len(part.text) for part in turn.parts) for turn in trace.turns]
    if not sizes:
        return TurnWindow(1, 0, is_whole=True)
    first = last = min(max(turn, 1), len(sizes)) - 1
    room = MAX_STREAM_CHARS - sizes[first]
    if room < 0:
        return TurnWindow(first + 1, last + 1, is_whole=False, cuts=_cuts(trace, first + 1, part, start))
    while True:
        after = last + 1 < len(sizes) and sizes[last + 1] <= room
        before = first > 0 and sizes[first - 1] <= room
        if after and (not before or last - turn <= turn - first):
            last += 1
            room -= sizes[last]
        elif before:
            first -= 1
            room -= sizes[first]
        else:
            break
    return TurnWindow(first + 1, last + 1, is_whole=first == 0 and last == len(sizes) - 1)


def _cuts(trace: Trace, turn: int, name: str, start: int) -> tuple[tuple[int, str, Range], ...]:
    """The characters around a position, the beginnings of the parts after it, and the ends of the parts before it."""
    parts = trace.turns[turn - 1].parts
    chosen = next((index for index, part in enumerate(parts) if part.name == name), 0)
    others = sum(len(part.text) for index, part in enumerate(parts) if index != chosen)
    shown = {chosen: _around(len(parts[chosen].text), start, MAX_STREAM_CHARS - min(others, MAX_STREAM_CHARS // 4))}
    room = MAX_STREAM_CHARS - len(shown[chosen])
    for index in (*range(chosen + 1, len(parts)), *range(chosen - 1, -1, -1)):
        length = len(parts[index].text)
        fits = min(length, room)
        shown[index] = Range(0, fits) if index > chosen else Range(length - fits, length)
        room -= fits
    return tuple((turn, parts[index].name, range_) for index, range_ in sorted(shown.items()))


def _around(length: int, start: int, most: int) -> Range:
    """At most `most` characters around a position; all positions in half a window give the same range."""
    if length <= most:
        return Range(0, length)
    block = most // 2
    begins = min(max(min(start, length) // block * block - block // 2, 0), length - most)
    return Range(begins, begins + most)


def stream_data(trace: Trace, inspection: Inspection, window: TurnWindow) -> dict[str, Json]:
    """The parts of the window's turns and the rows of steps and faults. Lone surrogates are listed as `odd`.

    `order` lists the names of the parts of each turn with several parts: it decides which of two positions is first.
    """
    inspected = {(part.turn, part.part): part for part in inspection.parts}
    chunks = sum(len(part.chunks.ends) for _, _, part in _parts(trace, window) if part.chunks is not None)
    facts = _Facts(trace, inspection)
    return {
        "parts": [
            {
                "turn": number,
                "role": role.value,
                "part": part.name,
                "title": f"{number} {role.value}{'' if part.name == 'text' else f' · {visible_line(part.name)}'}",
                "facts": facts.of(number),
                **_text(part.text, window.shown(number, part)),
                "spans": _spans(inspected.get((number, part.name)), window.shown(number, part), role),
                **(_arrivals(part) if chunks <= _MAX_CHUNKS else {}),
            }
            for number, role, part in _parts(trace, window)
        ],
        "steps": list(_steps(inspection)),
        "layers": list(_layers(trace, inspection)),
        "faults": fault_data(trace, inspection.diagnostics, inspection.chain),
        "order": {
            str(number): [part.name for part in turn.parts]
            for number, turn in enumerate(trace.turns, 1)
            if len(turn.parts) > 1
        },
        "is_whole": window.is_whole,
        "stall_s": STALL_S,
    }


def run_objects(*pieces: tuple[str, str]) -> list[Json]:
    """Styled text as JSON for the browser, without empty runs."""
    return [[style, words] for style, words in pieces if words]


def _parts(trace: Trace, window: TurnWindow) -> Iterator[tuple[int, Role, Part]]:
    for number in range(window.first, window.last + 1):
        turn = trace.turns[number - 1]
        for part in turn.parts:
            yield number, turn.role, part


class _Facts:
    """The facts about a turn that are shown beside its title."""

    def __init__(self, trace: Trace, inspection: Inspection) -> None:
        self._trace, self._model, self._steps = trace, model_of(trace), StepPlaces(inspection.chain)

    def of(self, number: int) -> str:
        turn = self._trace.turns[number - 1]
        facts = (*answers(turn, number, self._steps), *turn_facts(turn, self._model))
        return " · ".join(map(visible_line, facts))


def _text(text: str, shown: Range) -> dict[str, Json]:
    """The shown characters in a form that a browser accepts: from `from` on, of `length`, beginning in line `line`.

    `odd` are the positions of lone surrogates in the part, each with the text to show for it.
    """
    here = text[shown.start : shown.end]
    odd: list[Json] = [[shown.start + match.start(), visible(match[0])] for match in _LONE.finditer(here)]
    return {
        "text": _LONE.sub("\ufffd", here) if odd else here,
        "odd": odd,
        "from": shown.start,
        "length": len(text),
        "line": text.count("\n", 0, shown.start) + 1,
    }


def _spans(inspected: PartInspection | None, shown: Range, role: Role) -> list[Json]:
    """The top-level spans that tile the shown characters, cut to these; each ends in its word beside the stream."""
    unread: list[Json] = [["text", shown.start, shown.end, shown.start, shown.end, span_word(SpanKind.TEXT, role)]]
    if inspected is None or not inspected.spans:
        return unread

    def within(offset: int) -> int:
        return min(max(offset, shown.start), shown.end)

    return [
        [
            span.kind.value,
            *map(within, (span.range.start, span.range.end, span.inner.start, span.inner.end)),
            span_word(span.kind, role),
        ]
        for span in inspected.spans
        if span.range.start < max(shown.end, shown.start + 1) and span.range.end > shown.start
    ] or unread


def _layers(trace: Trace, inspection: Inspection) -> Iterator[Json]:
    """The locations of the layers of each call and result with several layers, and the sides of other differences."""
    layers = TraceLayers(trace, inspection)
    apart: defaultdict[tuple[int, str], list[Location]] = defaultdict(list)
    for diagnostic in (diagnostic for of_turn in layers.differences.values() for diagnostic in of_turn):
        apart[diagnostic.place_in_turn.turn, diagnostic.place_in_turn.part] += (
            diagnostic.place_in_turn,
            diagnostic.location,
        )
    for step in islice(inspection.chain.steps, _MAX_LAYERED_STEPS):
        locations = layers.of(step).locations
        later = [side for location in locations for side in apart.pop((location.turn, location.part), ())[1::2]]
        yield from _layer_rows(trace, (*locations, *later), step.number)
    for number, sides in enumerate(islice(apart.values(), _MAX_LAYERED_STEPS), 1):
        yield from _layer_rows(trace, sides, -number)


def _layer_rows(trace: Trace, locations: Iterable[Location], group: int) -> Iterator[Json]:
    """The locations of one group, where the stream shows them; none if the group has a single one."""
    shown = list(dict.fromkeys(stream_place(trace, location) for location in locations))
    for location in shown if len(shown) > 1 else ():
        yield {**location_object(location), "step": group}


def _arrivals(part: Part) -> dict[str, Json]:
    chunks = part.chunks
    if chunks is None:
        return {}
    return {
        "ends": list(chunks.ends),
        "times_ms": None if chunks.offsets_s is None else [_milliseconds(at_s) for at_s in chunks.offsets_s],
        "ids": None if chunks.token_ids is None else [_list(ids) for ids in chunks.token_ids],
        "logprobs": None if chunks.logprobs is None else [_list(logs) for logs in chunks.logprobs],
    }


def _milliseconds(at_s: float | None) -> int | None:
    """Whole milliseconds: they are short, with exact differences, and a running trace sends one for each chunk."""
    return None if at_s is None else round(at_s * 1_000)


def _list(values: Sequence[float] | None) -> Json:
    return None if values is None else list(values)


def _steps(inspection: Inspection) -> Iterator[Json]:
    for step in inspection.chain.steps:
        glyph = step_glyph(step)
        location = step.location
        yield {
            **location_object(location),
            "depth": 0,
            "step": step.number,
            "runs": run_objects(
                ("dim", f"{step.number} "),
                (glyph.style.value, f"{glyph.text} "),
                ("key", call_brief(step.call, _ROW_CHARS)),
                ("dim", f"  {visible_line(outcome_words(step))}"),
            ),
        }


def window_notes(window: TurnWindow, trace: Trace) -> Iterable[str]:
    """The notes on a page that does not contain the whole trace."""
    if window.is_whole:
        return
    total = len(trace.turns)
    turns = f"turn {window.first}" if window.first == window.last else f"turns {window.first} to {window.last}"
    yield f"This trace is too long for one page. Shown: {turns} of {total}{''.join(_cut_words(window, trace))}."
    yield "Select a step, value or fault elsewhere, or a row at an edge, to load the characters around it."


def _cut_words(window: TurnWindow, trace: Trace) -> Iterator[str]:
    for turn, name, shown in window.cuts:
        part = trace.turns[turn - 1].part(name)
        if part is not None and len(shown) < len(part.text):
            of = f"{len(part.text):,} characters of {visible_line(name)}"
            yield f"; {f'{shown.start + 1:,} to {shown.end:,}' if shown else 'none'} of the {of}"


def value_rows(dissection: Dissection, window: TurnWindow, turn: int) -> list[Json]:
    """The rows of the window's turns; turns near `turn` are expanded if that is fast. At most `MAX_VALUE_ROWS` rows."""
    rows: list[Json] = []
    first = max(turn - MAX_VALUE_ROWS // 2, window.first)
    waiting = _reversed(turn_rows(dissection, first, window.last))
    room = MAX_PARSED_CHARS
    while waiting:
        row = waiting.pop()
        if len(rows) == MAX_VALUE_ROWS:
            return [*rows, {"depth": 0, "runs": run_objects(("dim", f"… only {MAX_VALUE_ROWS:,} rows are shown"))}]
        rows.append(_row(row))
        if row.grow is not None and row.heavy <= room and abs(_turn(row) - turn) <= EXPANDED_TURNS:
            room -= row.heavy
            waiting += _reversed(row.grow())
    return rows


def _turn(row: TreeRow) -> int:
    """The number of a row's turn, which is the first item of its key."""
    return int(row.key[0])


def _reversed(rows: Iterable[TreeRow]) -> list[TreeRow]:
    return list(reversed(list(rows)))


def _row(row: TreeRow) -> Json:
    location = row.location
    where = {} if location is None else location_object(location)
    named = {} if row.named is None or row.named == location else {"from": row.named.range.start}
    styled = run_objects(*((run.style.value, run.text) for run in row.label))
    path = {"path": row.pointer} if row.pointer else {}
    return {**where, **named, **path, "depth": min(row.depth, 12), "runs": styled}


_Named = TypeVar("_Named", bound=Hashable)


def stream_place(trace: Trace, location: Location) -> Location:
    """Where the stream shows a place: a place in a request or in a tool's run is shown at the start of its turn."""
    if location.is_in_turn or not 0 < location.turn <= len(trace.turns):
        return location
    parts = trace.turns[location.turn - 1].parts
    return Location(location.turn, parts[0].name if parts else "text", Range(0, 0))


def short_mark(trace: Trace, location: Location) -> Location:
    """The characters to mark for a fault: of a range of many lines or characters, its opening brace or first line.

    So its message is at the start of the range, and not below its end some screens further down.
    """
    part = trace.turns[location.turn - 1].part(location.part) if 0 < location.turn <= len(trace.turns) else None
    if part is None:
        return location
    start, last = location.range.start, location.range.end - 1
    if len(location.range) <= _MAX_MARKED and part.text.count("\n", start, last) < _MAX_MARKED_LINES:
        return location
    line_end = part.text.find("\n", start, start + _MAX_MARK)
    end = start + 1 if part.text[start] in "{[\n" else line_end if line_end > start else start + _MAX_MARK
    return Location(location.turn, location.part, Range(start, min(end, location.range.end)))


def fault_data(trace: Trace, diagnostics: Sequence[Diagnostic], chain: Chain) -> dict[str, Json]:
    """The faults in order, as columns: `start` and `end` in code points; `part`, `rule`, `message`, `hint` as indices.

    The indices point into `parts` (turn and name), `rules` (severity, code, name and glyph) and `sentences` (the first
    is empty: no hint). `firsts` are the indices of the listed faults: all, or in a broken trace the first of each
    cause; `more` counts the other faults of that cause. `against` has a row for the other side of each difference
    between layers, by the fault's index.
    """
    is_broken = chain.status is Status.BROKEN
    causes = causes_of(diagnostics) if is_broken else None
    firsts: list[Json] = list(range(len(diagnostics))) if causes is None else list(causes.firsts)
    counts = {} if causes is None else dict(zip(causes.firsts, causes.more, strict=True))
    parts: _UniqueValues[tuple[int, str]] = _UniqueValues()
    rules: _UniqueValues[Rule] = _UniqueValues()
    sentences: _UniqueValues[str] = _UniqueValues()
    sentences.index_of("")
    against: dict[str, Json] = {}
    columns: dict[str, list[Json]] = {name: [] for name in ("part", "start", "end", "rule", "message", "hint", "more")}
    for index, diagnostic in enumerate(diagnostics):
        fault, location, more = diagnostic.fault, stream_place(trace, diagnostic.location), counts.get(index, 0)
        if fault.against is not None:
            against[str(index)] = _against_row(trace, fault.against)
        columns["more"].append(more)
        location = short_mark(trace, location)
        columns["part"].append(parts.index_of((location.turn, location.part)))
        columns["start"].append(location.range.start)
        columns["end"].append(location.range.end)
        columns["rule"].append(rules.index_of(fault.rule))
        columns["message"].append(sentences.index_of(fault.message[:_MAX_SENTENCE_CHARS]))
        columns["hint"].append(sentences.index_of((fault.hint or "")[:_MAX_SENTENCE_CHARS]))
    return {
        **columns,
        "firsts": firsts,
        "against": against,
        "parts": [[turn, part] for turn, part in parts.values],
        "rules": [[rule.severity.value, rule.code, rule.name, GLYPHS[rule.severity]] for rule in rules.values],
        "sentences": [visible_line(sentence) for sentence in sentences.values],
    }


def _against_row(trace: Trace, other_side: Location) -> Json:
    """The row below a fault that links to its other side."""
    text = f"≠ against turn {other_side.turn}, {part_words(other_side.part)}"
    return {**location_object(stream_place(trace, other_side)), "depth": 1, "runs": run_objects(("dim", text))}


class _UniqueValues(Generic[_Named]):
    """Distinct values, in the order of their first occurrence."""

    def __init__(self) -> None:
        self.values: dict[_Named, int] = {}

    def index_of(self, value: _Named) -> int:
        """The index of a value; adds the value if it is new."""
        return self.values.setdefault(value, len(self.values))
