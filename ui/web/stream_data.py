"""The data of the dissector in the browser as JSON: texts, spans, faults, chunk times and the tree of values."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inspector.chain.grouping import causes_of
from inspector.chain.steps import Chain, Status
from inspector.diagnostics import Diagnostic
from inspector.inspection import Inspection, PartInspection
from inspector.model import Json, Part, Trace
from inspector.rules.rule import Rule
from inspector.text import Range
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.lanes import STALL_S
from ui.views.dissect.tree import HEAVY, turn_rows
from ui.views.dissect.tree_rows import TreeRow
from ui.views.places import StepPlaces
from ui.views.status import call_brief, outcome_words, step_glyph
from ui.views.styled_text import GLYPHS, visible, visible_line
from ui.views.trace import model_of
from ui.views.turn import answers, turn_facts

MOST_CHARACTERS = 2_000_000
"""What one page is given; of a longer trace it is the turns around the one that is looked at."""

_MOST_CHUNKS = 100_000
_IN_ROW = 120
_LONE = re.compile(r"[\ud800-\udfff]")
MOST_ROWS = 5_000
EXPANDED_TURNS = 250
"""So many turns before and behind the one that is looked at are expanded; turns further off are a row each."""

_LONGEST = 2_000  # characters of one sentence


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Which turns of a trace a page holds, from the first to the last, and whether a text of them is cut."""

    first: int
    last: int
    is_whole: bool


def window_of(trace: Trace, turn: int) -> TurnWindow:
    """The turns around `turn` whose texts together fit into a page, at least that one."""
    sizes = [sum(len(part.text) for part in one.parts) for one in trace.turns]
    if not sizes:
        return TurnWindow(1, 0, is_whole=True)
    first = last = min(max(turn, 1), len(sizes)) - 1
    room = MOST_CHARACTERS - sizes[first]
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
    return TurnWindow(first + 1, last + 1, is_whole=first == 0 and last == len(sizes) - 1 and room >= 0)


def stream_data(trace: Trace, inspection: Inspection, window: TurnWindow) -> dict[str, Json]:
    """The parts of the window's turns and the rows of steps and faults. Lone surrogates are told apart as `odd`."""
    found = {(part.turn, part.part): part for part in inspection.parts}
    chunks = sum(len(part.chunks.ends) for _, _, part in _parts(trace, window) if part.chunks is not None)
    facts = _Facts(trace, inspection)
    return {
        "parts": [
            {
                "turn": number,
                "role": role,
                "part": part.name,
                "title": f"{number} {role}{'' if part.name == 'text' else f' · {visible_line(part.name)}'}",
                "facts": facts.of(number),
                **_text(part.text[:MOST_CHARACTERS]),
                "spans": _spans(found.get((number, part.name)), part.text[:MOST_CHARACTERS]),
                **(_arrivals(part) if chunks <= _MOST_CHUNKS else {}),
            }
            for number, role, part in _parts(trace, window)
        ],
        "steps": list(_steps(inspection)),
        "faults": fault_data(inspection.diagnostics, inspection.chain),
        "stall_s": STALL_S,
    }


def location_object(turn: int, part: str, where: Range) -> dict[str, Json]:
    """A location as the browser takes it: code points of one part."""
    return {"turn": turn, "part": part, "start": where.start, "end": where.end}


def run_objects(*pieces: tuple[str, str]) -> list[Json]:
    """Styled words as the browser takes them."""
    return [[style, words] for style, words in pieces if words]


def _parts(trace: Trace, window: TurnWindow) -> Iterator[tuple[int, str, Part]]:
    for number in range(window.first, window.last + 1):
        turn = trace.turns[number - 1]
        for part in turn.parts:
            yield number, turn.role.value, part


class _Facts:
    """What is said of a turn beside its text."""

    def __init__(self, trace: Trace, inspection: Inspection) -> None:
        self._trace, self._model, self._steps = trace, model_of(trace), StepPlaces(inspection.chain)

    def of(self, number: int) -> str:
        turn = self._trace.turns[number - 1]
        said = (*answers(turn, number, self._steps), *turn_facts(turn, self._model))
        return " · ".join(map(visible_line, said))


def _text(text: str) -> dict[str, Json]:
    """The text as a browser can take it; `odd` are the places of lone surrogates, with what to show for them."""
    odd: list[Json] = [[found.start(), visible(found[0])] for found in _LONE.finditer(text)]
    return {"text": _LONE.sub("\ufffd", text) if odd else text, "odd": odd}


def _spans(inspected: PartInspection | None, text: str) -> list[Json]:
    """The top-level spans that tile the text, those within it."""
    if inspected is None or not inspected.spans:
        return [["text", 0, len(text), 0, len(text), ""]]
    return [
        [
            span.kind.value,
            span.range.start,
            min(span.range.end, len(text)),
            min(span.inner.start, len(text)),
            min(span.inner.end, len(text)),
            span.label if span.label != span.kind.value else "",
        ]
        for span in inspected.spans
        if span.range.start < max(len(text), 1)
    ]


def _arrivals(part: Part) -> dict[str, Json]:
    chunks = part.chunks
    if chunks is None:
        return {}
    return {
        "ends": list(chunks.ends),
        "times": None if chunks.offsets_s is None else list(chunks.offsets_s),
        "ids": None if chunks.token_ids is None else [_list(ids) for ids in chunks.token_ids],
        "logprobs": None if chunks.logprobs is None else [_list(logs) for logs in chunks.logprobs],
    }


def _list(values: Sequence[float] | None) -> Json:
    return None if values is None else list(values)


def _steps(inspection: Inspection) -> Iterator[Json]:
    for step in inspection.chain.steps:
        glyph = step_glyph(step)
        at = step.location
        yield {
            **location_object(at.turn, at.part, at.range),
            "depth": 0,
            "step": step.number,
            "runs": run_objects(
                ("dim", f"{step.number} "),
                (glyph.style.value, f"{glyph.text} "),
                ("key", call_brief(step.call, _IN_ROW)),
                ("dim", f"  {visible_line(outcome_words(step))}"),
            ),
        }


def turns_shown(window: TurnWindow, total: int) -> Iterable[str]:
    """What a page that does not hold the whole trace says of itself."""
    if not window.is_whole:
        yield (
            f"The texts of this trace do not fit into one page: turns {window.first} to {window.last} of {total} are "
            "here. Another step brings its own turns."
        )


def value_rows(dissection: Dissection, window: TurnWindow, turn: int) -> list[Json]:
    """The rows of the window's turns, near `turn` expanded where that is quickly read; at most `MOST_ROWS` of them."""
    rows: list[Json] = []
    at = max(turn - MOST_ROWS // 2, window.first)
    waiting = _reversed(turn_rows(dissection, at, window.last))
    room = HEAVY
    while waiting:
        row = waiting.pop()
        if len(rows) == MOST_ROWS:
            return [*rows, {"depth": 0, "runs": run_objects(("dim", f"… {MOST_ROWS:,} rows are shown"))}]
        rows.append(_row(row))
        if row.grow is not None and row.heavy <= room and abs(_turn(row) - turn) <= EXPANDED_TURNS:
            room -= row.heavy
            waiting += _reversed(row.grow())
    return rows


def _turn(row: TreeRow) -> int:
    """The first word of a row's key is the number of its turn."""
    return int(row.key[0])


def _reversed(rows: Iterable[TreeRow]) -> list[TreeRow]:
    return list(reversed(list(rows)))


def _row(row: TreeRow) -> Json:
    at = row.location
    where = {} if at is None else location_object(at.turn, at.part, at.range)
    named = {} if row.named is None or row.named == at else {"from": row.named.range.start}
    styled = run_objects(*((run.style.value, run.text) for run in row.label))
    return {**where, **named, "depth": min(row.depth, 12), "runs": styled}


_Named = TypeVar("_Named", bound=Hashable)


def fault_data(diagnostics: Sequence[Diagnostic], chain: Chain) -> dict[str, Json]:
    """The faults in their order: `start` and `end` in code points; `part`, `rule`, `message` and `hint` are indices.

    They point into `parts` (turn and name), `rules` (severity, code, name and glyph) and `sentences`, the first of
    which is empty and stands for no hint. `firsts` are the indices of the faults that are listed: on a broken trace the
    first of each cause; `more` counts the others.
    """
    is_broken = chain.status is Status.BROKEN
    causes = causes_of(diagnostics) if is_broken else None
    firsts: list[Json] = list(range(len(diagnostics))) if causes is None else list(causes.firsts)
    counts = {} if causes is None else dict(zip(causes.firsts, causes.more, strict=True))
    parts: _UniqueValues[tuple[int, str]] = _UniqueValues()
    rules: _UniqueValues[Rule] = _UniqueValues()
    sentences: _UniqueValues[str] = _UniqueValues()
    sentences.index_of("")
    columns: dict[str, list[Json]] = {name: [] for name in ("part", "start", "end", "rule", "message", "hint", "more")}
    for index, one in enumerate(diagnostics):
        fault, at, more = one.fault, one.location, counts.get(index, 0)
        columns["more"].append(more)
        columns["part"].append(parts.index_of((at.turn, at.part)))
        columns["start"].append(at.range.start)
        columns["end"].append(at.range.end)
        columns["rule"].append(rules.index_of(fault.rule))
        columns["message"].append(sentences.index_of(fault.message[:_LONGEST]))
        columns["hint"].append(sentences.index_of((fault.hint or "")[:_LONGEST]))
    return {
        **columns,
        "firsts": firsts,
        "parts": [[turn, part] for turn, part in parts.found],
        "rules": [[one.severity.value, one.code, one.name, GLYPHS[one.severity]] for one in rules.found],
        "sentences": [visible_line(one) for one in sentences.found],
    }


class _UniqueValues(Generic[_Named]):
    """Values in the order in which they first came, each once."""

    def __init__(self) -> None:
        self.found: dict[_Named, int] = {}

    def index_of(self, value: _Named) -> int:
        """Where the value stands, which is now among them."""
        return self.found.setdefault(value, len(self.found))
