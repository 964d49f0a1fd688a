"""A whole trace as lines: its verdict, its break and its answer, then its facts, its chain and its turns."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from inspector.chain.endings import task_outcome
from inspector.chain.grouping import grouped
from inspector.diagnostics import Diagnostic
from inspector.inspection import Inspection, PartInspection
from inspector.model import Liveness, Role, Trace, Turn
from inspector.rules.rule import Severity
from inspector.text import OPENING_MESSAGES, opening_of
from ui.views.break_story import BreakFacts, break_lines, last_answer
from ui.views.chain import chain_lines, ending
from ui.views.minimap import minimap
from ui.views.places import StepPlaces
from ui.views.status import LIVENESS, status_run
from ui.views.styled_text import Line, Run, Style, clipped, visible_line
from ui.views.turn import UnfinishedTurn, turn_lines, unfinished_turn_lines
from ui.views.wording import counted, folded_middle, wrapped

_MARGIN = 11
_LONGEST = 1_000
_LONGEST_ANSWER = 300
POSITION_IDS = ("line", "entry", "record", "document", "sha256")
"""External ids that say where a trace stands in its file, not what it is."""


def trace_lines(
    trace: Trace,
    inspection: Inspection,
    *,
    id: int,
    width: int,
    full: bool = False,
    liveness: Liveness | None = None,
    open_turns: Sequence[UnfinishedTurn] = (),
    only: Collection[int] = (),
) -> Iterator[Line]:
    """The lines that `weaklink show` prints; `id` is the trace's in the database, `open_turns` have not ended yet.

    The verdict, the break and the answer are first; facts, chain and turns follow. Where `only` names turns, no others
    are shown.
    """
    yield from verdict_lines(trace, inspection, id=id, width=width, liveness=liveness)
    yield ()
    for name, said in trace_facts(trace, inspection):
        yield from _fact(name, (Run(folded_middle(said, _LONGEST)),), width)
    if inspection.chain.steps:
        yield ()
        yield (Run("chain", Style.STRONG),)
        yield from chain_lines(inspection.chain, width)
    parts: dict[int, list[PartInspection]] = {}
    for part in inspection.parts:
        parts.setdefault(part.turn, []).append(part)
    wrong: dict[int, list[Diagnostic]] = {}
    for diagnostic in shown_diagnostics(inspection, full=full):
        wrong.setdefault(diagnostic.location.turn, []).append(diagnostic)
    model, steps = model_of(trace), StepPlaces(inspection.chain)
    for number, turn in enumerate(trace.turns, 1):
        if only and number not in only:
            continue
        yield ()
        found, faulty = parts.get(number, []), wrong.get(number, [])
        yield from turn_lines(turn, number, found, faulty, width=width, model=model, steps=steps, full=full)
    for opened in () if only else open_turns:
        yield ()
        yield from unfinished_turn_lines(opened, width=width, model=model, full=full)


def shown_diagnostics(inspection: Inspection, *, full: bool = False) -> list[Diagnostic]:
    """The diagnostics that are listed: all if `full`, else the first of each cause with a count of the others."""
    if full:
        return list(inspection.diagnostics)
    return [group.shown for group in grouped(inspection.diagnostics, inspection.chain)]


def verdict_lines(
    trace: Trace, inspection: Inspection, *, id: int, width: int, liveness: Liveness | None = None
) -> Iterator[Line]:
    """What a trace is, how it ended or stands while it is recorded, where it broke, and what the agent answered."""
    yield clipped((Run(f"trace {id}", Style.STRONG), Run(f"  {visible_line(heading_of(trace)[:_LONGEST])}")), width)
    chain = inspection.chain
    status = status_run(chain.status, chain.broken.outcome if chain.broken else None)
    counts = fault_counts(inspection)
    so_far = (LIVENESS[liveness], Run(", so far ")) if liveness is not None else ()
    ended = (*so_far, status, Run(f" {ending(chain)}".rstrip()), Run(f" · {counts}" if counts else ""))
    yield from _fact("status", ended, width)
    if inspection.parts:
        yield from _fact("map", minimap(trace, inspection, width - _MARGIN), width)
    facts = BreakFacts(trace, inspection)
    answer = last_answer(trace, inspection)
    quoted_turn = facts.words[0] if facts.words is not None else None
    if answer is not None and answer[0] != quoted_turn:  # the break's lines quote the words of that turn
        turn, words = answer
        yield from _fact("answer", (Run(f"(turn {turn}) ", Style.DIM), Run(_short_answer(words))), width)
    if chain.broken is not None:
        yield ()
        yield from break_lines(trace, inspection, width, gist=facts)


def _short_answer(words: str) -> str:
    return folded_middle(" ".join(words.split()), _LONGEST_ANSWER)


def title_of(trace: Trace) -> str:
    """What a trace is known by: its name, else the first telling id of its source; empty where it has neither."""
    telling = (id.value for id in trace.external_ids if id.name not in POSITION_IDS)
    return trace.name or next(telling, "")


def heading_of(trace: Trace) -> str:
    """The title of a trace on its own page, as lists have it: its name, else the user's first words, else its id."""
    texts = (turn.parts[0].text for turn in trace.turns if turn.role is Role.USER and turn.parts)
    opening = opening_of(islice(texts, OPENING_MESSAGES))
    return trace.name or opening or title_of(trace)


def model_of(trace: Trace) -> str:
    """The trace's own model, or else the first that a generation names; empty where none does."""
    return trace.model or next(filter(None, map(model_named, trace.turns)), "")


def model_named(turn: Turn) -> str:
    """The model that a turn's generation names; empty where it names none."""
    made = turn.generation
    return made.answered_model or made.requested_model if made is not None else ""


def trace_facts(trace: Trace, inspection: Inspection, model: str | None = None) -> Iterator[tuple[str, str]]:
    """What is known of a trace as names and words, as its source wrote them: still to be made visible.

    `model` is what `model_of` says, where that is known already.
    """
    came = trace.provenance
    yield "model", f"{(model_of(trace) if model is None else model) or 'unknown'}, format {inspection.format}"
    where = " ".join(word for word in (came.file, came.record) if word)
    yield "source", ", ".join(word for word in (came.source, where) if word) or "unknown"
    if trace.external_ids:
        yield "ids", ", ".join(f"{id.name}={id.value}" for id in trace.external_ids)
    if trace.project or trace.branch:
        yield "project", " ".join(word for word in (trace.project, f"({trace.branch})" if trace.branch else "") if word)
    if trace.parent is not None:
        above = trace.parent
        yield "parent", f"{above.why.value} of {above.external_id.name}={above.external_id.value}"
    if trace.started is not None:
        yield "started", _moment(trace.started.at_s)
    if trace.outcome is not None:
        reward = None if trace.outcome.reward is None else f"reward {trace.outcome.reward:g}"
        completed = {True: "completed", False: "not completed", None: None}[trace.outcome.completed]
        said = ", ".join(word for word in (completed, trace.outcome.exit_status, reward) if word)
        yield "task", f"{task_outcome(trace.outcome).value} ({said})" if said else task_outcome(trace.outcome).value
    for warning in came.warnings:
        yield "note", warning


def _fact(name: str, said: Line, width: int) -> Iterator[Line]:
    lead: Line = (Run(f"  {name:{_MARGIN - 2}}", Style.DIM),)
    for line in wrapped(said, width - _MARGIN):
        yield (*lead, *line)
        lead = (Run(" " * _MARGIN),)


def fault_counts(inspection: Inspection) -> str:
    """How many errors and warnings there are, in words; empty where there are none."""
    return severity_counts(Counter(diagnostic.rule.severity for diagnostic in inspection.diagnostics))


def severity_counts(found: Mapping[Severity, int]) -> str:
    """So many errors and warnings in words; empty where there are none."""
    numbers = ((severity, found.get(severity, 0)) for severity in (Severity.ERROR, Severity.WARNING))
    return ", ".join(counted(number, severity.value) for severity, number in numbers if number)


def _moment(at_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at_s:g} s since 1970"
