"""A trace as lines: its verdict, break and answer, its facts, its chain as a list of calls, and its turns."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice

from msgspec.structs import replace

from weaklink.inspector.chain.endings import abort_words, task_outcome
from weaklink.inspector.chain.grouping import grouped
from weaklink.inspector.chain.steps import Chain, Status, Step, StepOutcome, VerdictCertainty
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Liveness, Role, Trace, Turn
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import OPENING_MESSAGES, opening_of
from weaklink.ui.views.diagnostic import BreakFacts, break_lines, last_answer
from weaklink.ui.views.minimap import minimap
from weaklink.ui.views.places import StepPlaces
from weaklink.ui.views.status import LIVENESS, call_brief, outcome_words, status_run, step_glyph
from weaklink.ui.views.styled_text import (
    POSITION_IDS,
    Line,
    Run,
    Style,
    cell_width,
    clipped,
    counted,
    folded_middle,
    padded,
    right_aligned,
    visible_line,
    width_of,
    wrapped,
)
from weaklink.ui.views.turn import UnfinishedTurn, answers, turn_facts, turn_lines, unfinished_turn_lines

_MARGIN = 11
_MAX_TITLE_CHARS = 1_000
_MAX_ANSWER_CHARS = 300
_WRAPPER = frozenset({"name", "content", "tool_call_id", "call_id", "id"})
_MAX_UNWRAPPED_CHARS = 100_000
_HEADS = ("step", "turn", "call", "outcome", "result")
_NARROWEST_CALL, _NARROWEST_RESULT = 16, 12


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
    """The lines of `weaklink show`; `id` is the trace's id in the database, `open_turns` have not ended yet.

    The verdict, the break and the answer are first; facts, chain and turns follow. If `only` names turns, other turns
    are not shown.
    """
    yield from verdict_lines(trace, inspection, id=id, width=width, liveness=liveness)
    yield ()
    for name, value in trace_facts(trace, inspection):
        yield from _fact(name, (Run(folded_middle(value, _MAX_TITLE_CHARS)),), width)
    if inspection.chain.steps:
        yield ()
        yield (Run("chain", Style.STRONG),)
        yield from chain_lines(inspection.chain, width)
    of_turns = TurnContents(trace, inspection, full=full)
    summaries = [(number, turn.summarises) for number, turn in enumerate(trace.turns, 1) if turn.summarises]
    for number, turn in enumerate(trace.turns, 1):
        if only and number not in only:
            continue
        yield ()
        facts = tuple(_summarised_in(turn, number, summaries))
        yield from of_turns.lines(turn, number, width, facts)
    for opened in () if only else open_turns:
        yield ()
        yield from unfinished_turn_lines(opened, width=width, model=of_turns.model, full=full)


class TurnContents:
    """What the turns of a trace are shown with: its model and steps, and the parts and diagnostics of each turn.

    With `full`, every diagnostic is listed and no text is folded.
    """

    def __init__(self, trace: Trace, inspection: Inspection, *, full: bool = False) -> None:
        self.model, self.steps = model_of(trace), StepPlaces(inspection.chain)
        self._parts, self._diagnostics = (
            defaultdict[int, list[PartInspection]](list),
            defaultdict[int, list[Diagnostic]](list),
        )
        self._full = full
        for part in inspection.parts:
            self._parts[part.turn].append(part)
        for diagnostic in shown_diagnostics(inspection, full=full):
            self._diagnostics[diagnostic.location.turn].append(diagnostic)

    def parts(self, number: int) -> Sequence[PartInspection]:
        """The inspected parts of a turn."""
        return self._parts.get(number, ())

    def diagnostics(self, number: int) -> Sequence[Diagnostic]:
        """The diagnostics to list at a turn."""
        return self._diagnostics.get(number, ())

    def facts(self, turn: Turn, number: int) -> Sequence[str]:
        """What a turn answers, and the facts of its generation."""
        return (*answers(turn, number, self.steps), *turn_facts(turn, self.model))

    def lines(self, turn: Turn, number: int, width: int, facts: Sequence[str] = ()) -> Iterator[Line]:
        """The lines of a turn; see `turn_lines`."""
        return turn_lines(
            turn,
            number,
            self.parts(number),
            self.diagnostics(number),
            width=width,
            model=self.model,
            steps=self.steps,
            facts=facts,
            full=self._full,
        )


def _summarised_in(turn: Turn, number: int, summaries: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The first summary that the model reads in place of a turn; `summaries` are turns and how many each stands for."""
    first = next(
        (summary_turn for summary_turn, count in summaries if number <= count and turn.role is not Role.SYSTEM), None
    )
    if first is not None:
        yield f"summarised in turn {first}"


def shown_diagnostics(inspection: Inspection, *, full: bool = False) -> list[Diagnostic]:
    """The diagnostics to list: all if `full`, otherwise the first of each cause with a count of the others."""
    if full:
        return list(inspection.diagnostics)
    return [group.shown for group in grouped(inspection.diagnostics, inspection.chain)]


def verdict_lines(
    trace: Trace, inspection: Inspection, *, id: int, width: int, liveness: Liveness | None = None
) -> Iterator[Line]:
    """The trace's title, its status (so far, while it is recorded), its break, and the agent's answer."""
    yield clipped(
        (Run(f"trace {id}", Style.STRONG), Run(f"  {visible_line(heading_of(trace)[:_MAX_TITLE_CHARS])}")), width
    )
    chain = inspection.chain
    status = status_run(chain.status, chain.broken)
    counts = fault_counts(inspection)
    so_far = (LIVENESS[liveness], Run(", so far ")) if liveness is not None else ()
    ended = (*so_far, status, Run(f" {ending(chain)}".rstrip()), Run(f" · {counts}" if counts else ""))
    yield from _fact("status", ended, width)
    if chain.status is Status.ABORTED and (reason := abort_words(trace)):
        yield from _fact("reason", (Run(visible_line(reason), Style.ERROR),), width)
    if inspection.parts:
        yield from _fact("map", minimap(trace, inspection, width - _MARGIN), width)
    facts = BreakFacts(trace, inspection)
    answer = last_answer(trace, inspection)
    quoted_turn = facts.words[0] if facts.words is not None else None
    if answer is not None and answer[0] != quoted_turn:  # the break's lines quote the words of that turn
        turn, words = answer
        yield from _fact(
            "answer",
            (Run(f"(turn {turn}) ", Style.DIM), Run(folded_middle(" ".join(words.split()), _MAX_ANSWER_CHARS))),
            width,
        )
    if chain.broken is not None:
        yield ()
        yield from break_lines(trace, inspection, width, gist=facts)


def title_of(trace: Trace) -> str:
    """A trace's name, or else the first meaningful id of its source; empty if it has neither."""
    source_ids = (id.value for id in trace.external_ids if id.name not in POSITION_IDS)
    return trace.name or next(source_ids, "")


def heading_of(trace: Trace) -> str:
    """The title of a trace on its page, as in lists: its name, or else the user's first words, or else its id."""
    texts = (turn.parts[0].text for turn in trace.turns if turn.role is Role.USER and turn.parts)
    opening = opening_of(islice(texts, OPENING_MESSAGES))
    return trace.name or opening or title_of(trace)


def model_of(trace: Trace) -> str:
    """The trace's model, or else the first that a generation names; empty if there is none."""
    return trace.model or next(filter(None, map(model_named, trace.turns)), "")


def model_named(turn: Turn) -> str:
    """The model that a turn's generation names; empty if there is none."""
    generation = turn.generation
    return generation.answered_model or generation.requested_model if generation is not None else ""


def trace_facts(trace: Trace, inspection: Inspection, model: str | None = None) -> Iterator[tuple[str, str]]:
    """The facts of a trace as pairs of a name and a text, as its source wrote it: not yet in visible form.

    `model` is the result of `model_of`, if the caller already has it.
    """
    provenance = trace.provenance
    yield "model", f"{(model_of(trace) if model is None else model) or 'unknown'}, format {inspection.format}"
    where = " ".join(word for word in (provenance.file, provenance.record) if word)
    yield "source", ", ".join(word for word in (provenance.source, where) if word) or "unknown"
    if trace.external_ids:
        yield "ids", ", ".join(f"{id.name}={id.value}" for id in trace.external_ids)
    if trace.project or trace.branch:
        yield "project", " ".join(word for word in (trace.project, f"({trace.branch})" if trace.branch else "") if word)
    if trace.parent is not None:
        parent = trace.parent
        yield "parent", f"{parent.why.value} of {parent.external_id.name}={parent.external_id.value}"
    if trace.started is not None:
        yield "started", _moment(trace.started.at_s)
    if trace.outcome is not None:
        reward = None if trace.outcome.reward is None else f"reward {trace.outcome.reward:g}"
        completed = {True: "completed", False: "not completed", None: None}[trace.outcome.completed]
        details = ", ".join(word for word in (completed, trace.outcome.exit_status, reward) if word)
        yield (
            "task",
            f"{task_outcome(trace.outcome).value} ({details})" if details else task_outcome(trace.outcome).value,
        )
    if inspection.chain.certainty is VerdictCertainty.LOW:
        yield "verdict", "of low certainty: the rules had to guess; `weaklink show ID --why` prints why"
    for warning in provenance.warnings:
        yield "note", warning


def _fact(name: str, value: Line, width: int) -> Iterator[Line]:
    lead: Line = (Run(f"  {name:{_MARGIN - 2}}", Style.DIM),)
    for line in wrapped(value, width - _MARGIN):
        yield (*lead, *line)
        lead = (Run(" " * _MARGIN),)


def fault_counts(inspection: Inspection) -> str:
    """The numbers of errors and warnings in words; empty if there are none."""
    return severity_counts(Counter(diagnostic.rule.severity for diagnostic in inspection.diagnostics))


def severity_counts(counts: Mapping[Severity, int]) -> str:
    """These numbers of errors and warnings in words; empty if there are none."""
    numbers = ((severity, counts.get(severity, 0)) for severity in (Severity.ERROR, Severity.WARNING))
    return ", ".join(counted(number, severity.value) for severity, number in numbers if number)


def _moment(at_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at_s:g} s since 1970"


def chain_lines(chain: Chain, width: int) -> Iterator[Line]:
    """One line per step, under heads: number, turn, call, outcome, result. No lines if no tool was called.

    Successive retries with the same outcome are one line: `2-5`, `×4`.
    """
    runs = [_StepRow(tuple(steps)) for _, steps in groupby(chain.steps, key=_outcome)]
    if not runs:
        return
    numbers, turns = _widest([row.number for row in runs], "step"), _widest([row.turn for row in runs], "turn")
    outcomes = _widest([row.outcome for row in runs], "outcome")
    rest = max(width - numbers - turns - outcomes - 11, _NARROWEST_CALL + _NARROWEST_RESULT)
    results = [result_words(row.last, rest) for row in runs]
    calls = [call_brief(row.first.call, rest) for row in runs]
    room = _room_for_calls(rest, max(map(cell_width, calls)), max(map(width_of, results)))
    widths = (numbers, turns, room + 2, outcomes)
    yield clipped(_columns(*((Run(head, Style.DIM),) for head in _HEADS), widths=widths), width)
    for row, call, result in zip(runs, calls, results, strict=True):
        glyph = step_glyph(row.first)
        cells = (
            (Run(row.number),),
            (Run(row.turn, Style.DIM),),
            (glyph, Run(" "), *clipped((Run(call, Style.TOOL_CALL),), room)),
            (Run(row.outcome, glyph.style),),
            result,
        )
        yield clipped(_columns(*cells, widths=widths), width)


def ending(chain: Chain, failed: int | None = None) -> str:
    """How the chain ended, in a few words after its status. Without `failed`, failed steps are counted if needed."""
    match chain.status:
        case Status.BROKEN if chain.broken is not None:
            return f"at step {chain.broken.step} of {len(chain.steps)}"
        case Status.ABORTED:
            return f"by {chain.abort_reason}" if chain.abort_reason else ""
        case Status.RECOVERED:
            failed = sum(step.outcome.failed for step in chain.steps) if failed is None else failed
            return f"from {failed} failed of {counted(len(chain.steps), 'step')}"
        case Status.UNKNOWN:
            return "the log has no last answer"
        case _:
            return "" if chain.steps else "no tool was called"


def result_words(step: Step, room: int) -> Line:
    """A step's result on one line, in at most `room` code points: its error message, or else its beginning."""
    if step.result is None:
        return (Run("no result", Style.DIM),)
    if step.outcome is StepOutcome.ERROR_RESULT and step.error:
        return (Run(visible_line(step.error[:room]), Style.TOOL_RESULT),)
    text = _without_wrapper(step.result.content.strip())
    return (Run(visible_line(text[:room]), Style.TOOL_RESULT),) if text else (Run("empty", Style.DIM),)


class _StepRow:
    """A step, or successive retries with the same outcome."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.first, self.last = steps[0], steps[-1]
        self.number = _span(self.first.number, self.last.number)
        self.turn = _span(self.first.location.turn, self.last.location.turn)
        is_good_now = self.first.recovery is not None  # then the certainty of the failure matters less
        words = outcome_words(replace(self.first, certainty=None) if is_good_now else self.first)
        self.outcome = words + (f" ×{len(steps)}" if len(steps) > 1 else "")


def _outcome(step: Step) -> tuple[object, ...]:
    """The key of successive steps that are shown as one line."""
    judgement = (step.outcome, step.certainty, step.recovery, step.recovered_by)
    return (step.retry_of or step.number, *judgement)


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _widest(words: Sequence[str], head: str) -> int:
    return max(len(head), *map(len, words))


def _room_for_calls(rest: int, longest_call: int, longest_result: int) -> int:
    """The cells for calls: all that they need if the results leave enough, otherwise half of the width."""
    return max(min(longest_call, max(rest // 2, rest - longest_result)), min(_NARROWEST_CALL, longest_call))


def _columns(number: Line, turn: Line, call: Line, outcome: Line, result: Line, *, widths: Sequence[int]) -> Line:
    numbers, turns, calls, outcomes = widths
    gap = Run("  ")
    return (
        Run(" "),
        *right_aligned(number, numbers),
        gap,
        *right_aligned(turn, turns),
        gap,
        *padded(call, calls),
        gap,
        *padded(outcome, outcomes),
        gap,
        *result,
    )


def _without_wrapper(text: str) -> str:
    """A result without the `{"name", "content"}` object that some formats wrap it in."""
    if len(text) > _MAX_UNWRAPPED_CHARS or not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or "content" not in value or not value.keys() <= _WRAPPER:
        return text
    content = value["content"]
    return content if isinstance(content, str) else write_json(content, ascii_only=False)
