"""Faults in the style of a compiler: a diagnostic with its line, carets and repair; and why a trace broke."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain as one_by_one
from itertools import takewhile
from operator import attrgetter

from msgspec import Struct

from weaklink.inspector.chain.endings import truncation_clause
from weaklink.inspector.chain.failure_words import SPEECH_LIMIT, failure_admission
from weaklink.inspector.chain.steps import Break, Chain, Reaction, Status, Step, StepOutcome, reaction_clause
from weaklink.inspector.diagnostics import RUN_ARGUMENTS, RUN_RESULT, Diagnostic, Fix, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Role, Span, SpanKind, Trace
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import (
    LINE_FEED,
    Line,
    Run,
    Style,
    cell_width,
    counted,
    help_line,
    quoted,
    style_of,
    title,
    visible_line,
    visible_runs,
    wrapped,
)

_MAX_FIX_CHARS = 200
_INDENT = 6
_RUN_WORDS = {RUN_ARGUMENTS: "the arguments that were executed", RUN_RESULT: "the result that the tool returned"}
_HELP = {
    StepOutcome.MALFORMED: "Let the server answer such a call with the parser's error, so the model can correct it.",
    StepOutcome.UNKNOWN_TOOL: "Offer the tool in this request, or answer with the names of those that are offered.",
    StepOutcome.INVALID: "Answer such a call with the name of the argument and what the schema expects of it.",
    StepOutcome.ERROR_RESULT: (
        "The call is valid: check the tool first, then its argument values. An error that states what to change lets "
        "the agent try another way."
    ),
    StepOutcome.UNANSWERED: "Answer every call before the next request, at least with an error.",
}
_MAX_EXCERPT_CHARS = 160
_NEAR = 64  # diagnostics before a step that may reach into it
_MAX_COMMENTS = 2_000  # diagnostics in the part that are searched if none reaches into the step
_MAX_NAMES = 8
_SEVERITIES = {severity: index for index, severity in enumerate(Severity)}


class Excerpt(Struct, frozen=True):
    """The text and the width of excerpts; `digits` is the width of their line numbers.

    `first` is the displayed number of the text's first line.
    """

    index: LineIndex
    digits: int
    width: int
    first: int = 1

    @property
    def room(self) -> int:
        """The cells available for a line's text."""
        return max(self.width - self.digits - 3, 12)

    def lines(self, range_: Range, style: Style, mark: str = "^") -> Iterator[Line]:
        """The line that contains `range_`, marked; if it spans several lines, the first and the last."""
        first = self.index.position(range_.start)[0]
        last = self.index.position(max(range_.end - 1, range_.start))[0]
        over = Range(range_.start, range_.end if first == last else self.index.line(first).end + 1)
        yield from self._marked(first, over, style, mark)
        if last - first > 1:
            hidden = counted(last - first - 1, "line")
            yield (Run(f"{'…':>{self.digits}} | ", Style.GUTTER), Run(hidden, Style.DIM))
        if last > first:
            yield from self._marked(last, Range(self.index.line(last).start, range_.end), style, mark)

    def gutter(self) -> Line:
        """The gutter of a line without a number."""
        return (Run(f"{'':{self.digits}} |", Style.GUTTER),)

    def window(self, number: int, range_: Range) -> Range:
        """The part of a line that fits: the place with text around it, preferably the text before it."""
        line, text, room = self.index.line(number), self.index.text, self.room - 2
        if len(line) <= room and cell_width(visible_line(line.of(text))) <= room:
            return line
        start = min(range_.start, line.end)
        before = text[max(line.start, start - room) : start]
        after = text[start : min(line.end, start + room)]
        under = min(cell_width(visible_line(after[: max(range_.end - start, 1)])), room * 2 // 3)
        after_width = min(cell_width(visible_line(after)), under + room // 4)
        head = _fitting(before[::-1], room - after_width)
        tail_room = room - cell_width(visible_line(before[len(before) - head :]))
        return Range(start - head, start + _fitting(after, tail_room))

    def _marked(self, number: int, range_: Range, style: Style, mark: str) -> Iterator[Line]:
        line, text = self.index.line(number), self.index.text
        shown = self.window(number, range_)
        start = min(range_.start, shown.end)
        end = max(min(range_.end, shown.end), start)
        is_cut = shown.start > line.start
        has_feed = range_.start <= line.end < range_.end and shown.end == line.end
        yield (
            Run(f"{number + self.first - 1:>{self.digits}} | ", Style.GUTTER),
            *((Run("…", Style.DIM),) if is_cut else ()),
            *visible_runs(text[shown.start : start]),
            *visible_runs(text[start:end], style),
            *visible_runs(text[end : shown.end]),
            *((Run(LINE_FEED, Style.CONTROL),) if has_feed else ()),
            *((Run("…", Style.DIM),) if shown.end < line.end else ()),
        )
        before = cell_width(visible_line(text[shown.start : start])) + is_cut
        under = cell_width(visible_line(text[start:end])) + has_feed
        yield (*self.gutter(), Run(" " * (before + 1)), Run(mark * max(under, 1), style))


def _fitting(text: str, room: int) -> int:
    """The number of code points of a text, in visible form, that fit into `room` cells."""
    taken = 0
    for index, character in enumerate(text):
        taken += cell_width(visible_line(character))
        if taken > room:
            return index
    return len(text)


def diagnostic_lines(
    diagnostic: Diagnostic, text: str, *, width: int, file: str = "", lines: LineIndex | None = None
) -> Iterator[Line]:
    """The lines of a diagnostic; `text` is the text of its part, `lines` its line index if the caller has one.

    `file` names the text if it is a separate file; otherwise the turn and the part give the position.
    """
    fault = diagnostic.fault
    index = lines or LineIndex(text)
    ranges = (fault.range, *(related.range for related in fault.related))
    digits = max(len(str(index.position(location.end)[0])) for location in ranges)
    excerpt = Excerpt(index, digits, width)
    yield from wrapped(title(fault), width, indent=_INDENT)
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(_where(diagnostic, file, index)))
    yield excerpt.gutter()
    yield from excerpt.lines(fault.range, style_of(fault.rule.severity))
    for related in fault.related:
        yield from wrapped((Run("note: ", Style.INFO), *quoted(related.message)), width, indent=_INDENT)
        yield from excerpt.lines(related.range, Style.INFO, "-")
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=_INDENT)
    if fault.fix is not None and fault.fix.edits:
        yield from _fix_lines(excerpt, fault.fix)


def place_words(location: Location, index: LineIndex) -> str:
    """The start of a place in words; `index` is the line index of its part."""
    line, column = index.position(location.range.start)
    return f"turn {location.turn}, {part_words(location.part)}, line {line} column {column}"


def side_words(diagnostic: Diagnostic) -> str:
    """The place of a difference in a request or a tool's run, and what it differs from; `""` for other faults."""
    location, other = diagnostic.location, diagnostic.fault.against
    if location.is_in_turn or other is None:
        return ""
    return f"at {part_words(location.part)}; against turn {other.turn}, {part_words(other.part)}"


def part_words(part: str) -> str:
    """The display name of a part: its name for a turn's text, words for a part of its request or of a tool's run."""
    kind, _, rest = part.partition(":")
    number, _, name = rest.partition(":")
    if kind == "sent" and name:
        return f"message {visible_line(number)} of its request, {visible_line(name)}"
    return _RUN_WORDS.get(part) or visible_line(part)


def _where(diagnostic: Diagnostic, file: str, index: LineIndex) -> str:
    if not file:
        return place_words(diagnostic.location, index)
    line, column = index.position(diagnostic.location.range.start)
    return f"{visible_line(file)}:{line}:{column}"


def _fix_lines(excerpt: Excerpt, fix: Fix) -> Iterator[Line]:
    """The line before and after the edits, if they are on one line and near each other."""
    fixed = Range(fix.edits[0].range.start, fix.edits[-1].range.end)
    number = excerpt.index.position(fixed.start)[0]
    line, text = excerpt.index.line(number), excerpt.index.text
    shown = excerpt.window(number, fixed)
    added = sum(len(edit.text) for edit in fix.edits)
    if fixed.end > shown.end or len(fixed) + added > _MAX_FIX_CHARS or any("\n" in edit.text for edit in fix.edits):
        return
    new, offset = "", shown.start
    for edit in fix.edits:
        new += text[offset : edit.range.start] + edit.text
        offset = edit.range.end
    new += text[offset : shown.end]
    for sign, style, content in (("-", Style.REMOVED, shown.of(text)), ("+", Style.ADDED, new)):
        lead, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
        yield (Run(f"{number:>{excerpt.digits}} {sign} ", style), *visible_runs(f"{lead}{content}{tail}", style))


class BreakFacts(Struct, frozen=True, eq=False, dict=True):
    """A summary of a trace's break; each fact is computed on first use and cached. Compared by identity.

    A caller may pass facts that it already has: `graded` is a byte per diagnostic, the index of its severity, and
    `counted` the number of failed steps and the number of the first one.
    """

    trace: Trace
    inspection: Inspection
    graded: bytes | None = None
    counted: tuple[int, int] | None = None

    def gather(self) -> None:
        """Compute now the facts that a verdict needs."""
        _ = self._severities, self.focus, self.consequence, self.words

    @property
    def severities(self) -> Mapping[Severity, int]:
        """The number of diagnostics of each severity."""
        return {severity: self._severities.count(index) for severity, index in _SEVERITIES.items()}

    @property
    def first_error(self) -> int | None:
        """The index of the first diagnostic that is an error, or None."""
        position = self._severities.find(_SEVERITIES[Severity.ERROR])
        return None if position < 0 else position

    @property
    def failed(self) -> int:
        """The number of failed steps."""
        return self._failed[0]

    @property
    def focus(self) -> int:
        """The number of the step to look at: the break, or else the first failed step; 0 if none failed."""
        broken = self.inspection.chain.broken
        return self._failed[1] if broken is None else broken.step

    @cached_property
    def consequence(self) -> str:
        """The consequence of the break, in a sentence; empty without a break."""
        chain = self.inspection.chain
        return consequence(chain, chain.steps[chain.broken.step - 1]) if chain.broken is not None else ""

    @cached_property
    def words(self) -> tuple[int, str] | None:
        """The turn and the words in which the agent admitted the break, or else its last words after it."""
        return agent_comment(self.trace, self.inspection)

    @cached_property
    def _severities(self) -> bytes:
        """One byte per diagnostic."""
        if self.graded is not None:
            return self.graded
        return bytes(_SEVERITIES[diagnostic.rule.severity] for diagnostic in self.inspection.diagnostics)

    @cached_property
    def _failed(self) -> tuple[int, int]:
        """The number of failed steps, and the number of the first one."""
        if self.counted is not None:
            return self.counted
        chain = self.inspection.chain
        count = first = 0
        for step in chain.steps if chain.status is not Status.OK else ():
            if step.outcome.failed:
                count, first = count + 1, first or step.number
        return count, first


def break_lines(
    trace: Trace, inspection: Inspection, width: int, *, quote_width: int | None = None, gist: BreakFacts | None = None
) -> Iterator[Line]:
    """The broken step and its fault, the place, the rule, the help and the consequences.

    No lines without a break. The line of the place is quoted with carets, for monospaced fonts; `quote_width` is its
    width where the other lines have another font, 0 leaves it out. `gist` is that of the trace, if the caller already
    has it.
    """
    broken = inspection.chain.broken
    if broken is None:
        return
    step = inspection.chain.steps[broken.step - 1]
    glyph = status_run(Status.BROKEN, broken).text.split()[0]
    head = (Run(f"{glyph} broke at step {broken.step}", Style.ERROR), Run(f" (turn {broken.turn}): "))
    yield from wrapped((*head, *quoted(broken.message)), width, indent=2)
    cause = cause_of(broken, step, inspection)
    location = cause.location if cause else step.result_location or step.location
    index = _lines_at(trace, location)
    if quote_width is None:
        yield from _excerpt(location, index, width)
    else:
        yield from _facts("at", (Run(place_words(location, index)),), width)
        if quote_width and index.text:
            yield from _quote(index, location, quote_width).lines(location.range, Style.ERROR)
    if cause is not None:
        yield from _facts("rule", quoted(f"{cause.rule} (`weaklink rules {cause.rule.code}` explains it)"), width)
    hint = cause.fault.hint if cause is not None else None
    yield from _facts("help", quoted(hint or _help(trace, broken)), width, Style.HINT)
    gist = gist or BreakFacts(trace, inspection)
    yield from _facts("downstream", quoted(gist.consequence), width)
    yield from _facts("afterwards", _reaction(broken, reaction_clause(inspection.chain, broken), gist.words), width)


def _help(trace: Trace, broken: Break) -> str:
    if (
        broken.outcome is StepOutcome.MALFORMED
        and _is_last(trace, broken.turn)
        and truncation_clause(trace) is not None
    ):
        return "Request this call again: it was truncated."
    if broken.outcome is StepOutcome.UNANSWERED and broken.turn == len(trace.turns):
        return (
            "Check why the agent ended here: it crashed, reached a step limit, or never got the call because its "
            "server left it in the answer's text."
        )
    return _HELP[broken.outcome]


def _is_last(trace: Trace, turn: int) -> bool:
    """Whether this turn has a known generation and no answer of a model follows."""
    later = map(trace.turns.__getitem__, range(turn, len(trace.turns)))
    return trace.turns[turn - 1].generation is not None and all(step.role is not Role.ASSISTANT for step in later)


def cause_of(broken: Break, step: Step, inspection: Inspection) -> Diagnostic | None:
    """The diagnostic that explains why the chain broke; None if its rule was not selected."""
    location = step.result_location if broken.outcome is StepOutcome.ERROR_RESULT else step.location
    if location is None:
        return None
    diagnostics, here = inspection.diagnostics, _faults_in(inspection, location)
    first = bisect_left(diagnostics, location.range.start, here.start, here.stop, key=attrgetter("range.start"))
    near = range(max(first - _NEAR, here.start), here.stop)
    reaching = takewhile(
        lambda diagnostic: diagnostic.range.start <= location.range.end, map(diagnostics.__getitem__, near)
    )
    overlapping = (
        diagnostic
        for diagnostic in reaching
        if location.range.start <= diagnostic.range.end and _is_fault_at(diagnostic, broken.code, location)
    )
    elsewhere = (
        diagnostic
        for diagnostic in map(diagnostics.__getitem__, here[:_MAX_COMMENTS])
        if _is_fault_at(diagnostic, broken.code, location)
    )
    return next(overlapping, None) or next(elsewhere, None)


def _faults_in(inspection: Inspection, part_location: Location) -> range:
    """The indices of the diagnostics in a part; diagnostics in no part of the turn count to its first part."""
    parts, diagnostics = inspection.parts, inspection.diagnostics
    of_turn = range(
        bisect_left(parts, part_location.turn, key=_turn), bisect_right(parts, part_location.turn, key=_turn)
    )
    orders = {parts[index].part: order for order, index in enumerate(of_turn)}

    def order(diagnostic: Diagnostic) -> tuple[int, int]:
        location = diagnostic.location
        return location.turn, orders.get(location.part, 0) if location.turn == part_location.turn else 0

    target = part_location.turn, orders.get(part_location.part, 0)
    return range(bisect_left(diagnostics, target, key=order), bisect_right(diagnostics, target, key=order))


def _lines_at(trace: Trace, location: Location) -> LineIndex:
    part = trace.turns[location.turn - 1].part(location.part) if location.turn <= len(trace.turns) else None
    return LineIndex(part.text if part else "")


def _excerpt(location: Location, index: LineIndex, width: int) -> Iterator[Line]:
    excerpt = _quote(index, location, width)
    yield (Run(f"{'':{excerpt.digits}}--> ", Style.GUTTER), Run(place_words(location, index)))
    if index.text:
        yield excerpt.gutter()
        yield from excerpt.lines(location.range, Style.ERROR)


def _quote(index: LineIndex, location: Location, width: int) -> Excerpt:
    return Excerpt(index, len(str(index.position(location.range.end)[0])), width)


def _facts(name: str, words: Line, width: int, style: Style = Style.STRONG) -> Iterator[Line]:
    yield from wrapped((Run(f"  {name}: ", style), *words), width, indent=4)


def _reaction(broken: Break, clause: str, comment: tuple[int, str] | None) -> Line:
    if comment is None:
        return (Run(f"{clause}."),)
    turn, words = comment
    shown = " ".join(words[: 8 * _MAX_EXCERPT_CHARS].split())
    short = shown if len(shown) <= _MAX_EXCERPT_CHARS else shown[: _MAX_EXCERPT_CHARS - 1].rstrip() + "…"
    where = f" (turn {turn})" if broken.reaction is Reaction.REPORTED else f"; its last message (turn {turn})"
    return (Run(f"{clause}{where}: "), Run(f"“{visible_line(short)}”", Style.KEY))


def _is_fault_at(diagnostic: Diagnostic, code: str, searched: Location) -> bool:
    location = diagnostic.location
    return (diagnostic.rule.code, location.turn, location.part) == (code, searched.turn, searched.part)


def _turn(part: PartInspection) -> int:
    return part.turn


def consequence(chain: Chain, step: Step) -> str:
    """The consequence of the break at `step`, in a sentence."""
    run = step.retry_of or step.number
    if all(later.retry_of == run for later in _later_steps(chain, step)):
        return "No other call followed."
    if not chain.caused:
        return "Nothing later used it." if step.result is not None else "It returned nothing for a later call to use."
    used = any(step.number in later.depends_on for later in _later_steps(chain, step))
    reaction = "used its result" if used else "used invented values instead"
    return f"{_named(chain.caused)} {reaction}."


def agent_comment(trace: Trace, inspection: Inspection) -> tuple[int, str] | None:
    """The turn and the words in which the agent admitted the break, or else its last words after it."""
    chain = inspection.chain
    if chain.broken is None or chain.broken.reaction is None:
        return None
    step = chain.steps[chain.broken.step - 1]
    known = (step.result_location or step.location).turn
    first = bisect_right(inspection.parts, known, key=lambda part: part.turn)
    last = next(_comments(trace, inspection, range(len(inspection.parts) - 1, first - 1, -1)), None)
    if last is None or chain.broken.reaction is not Reaction.REPORTED:
        return last
    spoken = one_by_one((last,), _comments(trace, inspection, range(first, len(inspection.parts))))
    admitted = ((turn, words) for turn, text in spoken if (words := failure_admission(text)) is not None)
    return next(admitted, None)


def last_answer(trace: Trace, inspection: Inspection) -> tuple[int, str] | None:
    """The last turn of the agent and the beginning of its text; None if it has only calls or reasoning."""
    turns = range(len(trace.turns), 0, -1)
    last = next((number for number in turns if trace.turns[number - 1].role is Role.ASSISTANT), 0)
    first = bisect_left(inspection.parts, last, key=_turn)
    return next(_comments(trace, inspection, range(len(inspection.parts) - 1, first - 1, -1)), None)


def _later_steps(chain: Chain, step: Step) -> Iterator[Step]:
    return map(chain.steps.__getitem__, range(step.number, len(chain.steps)))


def _named(numbers: Sequence[int]) -> str:
    """Steps as words of a sentence: `Steps 5, 7 and 9`."""
    if len(numbers) == 1:
        return f"Step {numbers[0]}"
    shown, left = [f"{number}" for number in numbers[:_MAX_NAMES]], len(numbers) - _MAX_NAMES
    last = f"{left} more" if left > 0 else shown.pop()
    return f"Steps {', '.join(shown)} and {last}"


def _comments(trace: Trace, inspection: Inspection, indices: Iterable[int]) -> Iterator[tuple[int, str]]:
    """The agent's text in some of the parts: the turn, and the beginning of the text."""
    for inspected in map(inspection.parts.__getitem__, indices):
        turn = trace.turns[inspected.turn - 1] if inspected.part == "text" else None
        part = turn.part(inspected.part) if turn is not None and turn.role is Role.ASSISTANT else None
        words = _beginning(part.text, inspected.spans) if part is not None else ""
        if words.strip():
            yield inspected.turn, words


def _beginning(text: str, spans: Iterable[Span]) -> str:
    """The beginning of the text of some spans, limited because a text may have millions of words."""
    texts: list[str] = []
    room = SPEECH_LIMIT
    for span in spans:
        if room <= 0:
            break
        if span.kind is SpanKind.TEXT:
            texts.append(text[span.inner.start : min(span.inner.end, span.inner.start + room)])
            room -= len(texts[-1])
    return "".join(texts)
