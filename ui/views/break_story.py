"""The break of a trace as a good compiler tells an error: what broke, where, why, what helps, and what came of it."""

from collections.abc import Iterable, Iterator, Sequence

from inspector.chain.endings import cut_words
from inspector.chain.speech import HEARD, admission
from inspector.chain.steps import Break, Chain, Reaction, Status, Step, StepOutcome
from inspector.diagnostics import Diagnostic, Location
from inspector.inspection import Inspection
from inspector.model import Role, Span, SpanKind, Trace
from inspector.text import LineIndex
from ui.views.diagnostic import place_words
from ui.views.excerpt import Excerpt
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.status import status_run
from ui.views.visible import visible_line
from ui.views.wording import quoted, wrapped

_EXPECTED = {
    StepOutcome.MALFORMED: "a payload that is strict in its format and names a tool",
    StepOutcome.UNKNOWN_TOOL: "one of the tools that the request offers",
    StepOutcome.INVALID: "arguments that the tool's schema allows",
    StepOutcome.ERROR_RESULT: "a result without an error, or a later call that does this one's work",
    StepOutcome.UNANSWERED: "a result for this call before the conversation goes on",
}
_HELP = {
    StepOutcome.MALFORMED: "Let the server answer such a call with the parser's error, so that the model can mend it.",
    StepOutcome.UNKNOWN_TOOL: "Offer the tool in this request, or answer with the names of those that are offered.",
    StepOutcome.INVALID: "Answer such a call with the name of the argument and what the schema expects of it.",
    StepOutcome.ERROR_RESULT: (
        "The call reads well: look at the tool first, then at the values that it was given. An error that says what "
        "to change lets the agent try another way."
    ),
    StepOutcome.UNANSWERED: "Answer every call before the model is asked again, if only with an error.",
}
_REACTIONS = {
    Reaction.REPORTED: "The agent reported it",
    Reaction.IGNORED: "The agent went on as if nothing had happened",
    Reaction.CONCEALED: "The agent went on with values that it invented",
    None: "The trace ends before the agent says what it made of it",
}
_CODES = {StepOutcome.ERROR_RESULT: "T406", StepOutcome.UNANSWERED: "T404"}
_LONGEST = 160
_MOST_NAMED = 8


def break_lines(trace: Trace, inspection: Inspection, width: int, *, with_carets: bool = True) -> Iterator[Line]:
    """The step and what is wrong with it, the place, the rule, what was expected, what helps and what came of it.

    None without a break. `with_carets` quotes the line of the place, for fonts whose characters are equally wide.
    """
    broken = inspection.chain.broken
    if broken is None:
        return
    step = inspection.chain.steps[broken.step - 1]
    glyph = status_run(Status.BROKEN, broken.outcome).text.split()[0]
    head = (Run(f"{glyph} broke at step {broken.step}", Style.ERROR), Run(f" (turn {broken.turn}): "))
    yield from wrapped((*head, *quoted(broken.message)), width, indent=2)
    cause = cause_of(broken, step, inspection)
    place = cause.location if cause else step.result_location or step.location
    index = _lines_at(trace, place)
    if with_carets:
        yield from _excerpt(place, index, width)
    else:
        yield from _facts("at", (Run(place_words(place, index)),), width)
    if cause is not None:
        yield from _facts("rule", quoted(f"{cause.rule} (`weaklink rule {cause.rule.code}` explains it)"), width)
    yield from _facts("expected", (Run(_EXPECTED[broken.outcome]),), width)
    hint = cause.fault.hint if cause is not None else None
    yield from _facts("help", quoted(hint or _help(trace, broken)), width, Style.HINT)
    yield from _facts("downstream", quoted(consequence(inspection.chain, step)), width)
    yield from _facts("afterwards", _reaction(trace, inspection, broken), width)


def _help(trace: Trace, broken: Break) -> str:
    is_last = all(turn.role is not Role.ASSISTANT for turn in trace.turns[broken.turn :])
    if broken.outcome is StepOutcome.MALFORMED and is_last and cut_words(trace) is not None:
        return "Ask for this call once more: what is there of it is not all that the model meant to send."
    return _HELP[broken.outcome]


def cause_of(broken: Break, step: Step, inspection: Inspection) -> Diagnostic | None:
    """The diagnostic that says why the chain broke; None where its rule was not asked for."""
    code = broken.code or _CODES.get(broken.outcome)
    place = step.result_location if broken.outcome is StepOutcome.ERROR_RESULT else step.location
    here = [one for one in inspection.diagnostics if one.rule.code == code and place is not None and _same(one, place)]
    on_it = (
        one
        for one in here
        if place is not None and one.range.start <= place.range.end and place.range.start <= one.range.end
    )
    return next(on_it, here[0] if here else None)


def consequence(chain: Chain, step: Step) -> str:
    """What the break at `step` caused, in a sentence."""
    run = step.retry_of or step.number
    if all(later.retry_of == run for later in chain.steps[step.number :]):
        return "No other call came after it."
    if not chain.caused:
        return "Nothing later used it." if step.result is not None else "It returned nothing for a later call to use."
    used = any(step.number in later.depends_on for later in chain.steps[step.number :])
    went_on = "went on with what it returned" if used else "went on with what was made up in its place"
    return f"{_named(chain.caused)} {went_on}."


def _named(numbers: Sequence[int]) -> str:
    """Steps as a sentence names them: `Steps 5, 7 and 9`."""
    if len(numbers) == 1:
        return f"Step {numbers[0]}"
    shown, left = [f"{number}" for number in numbers[:_MOST_NAMED]], len(numbers) - _MOST_NAMED
    last = f"{left} more" if left > 0 else shown.pop()
    return f"Steps {', '.join(shown)} and {last}"


def _lines_at(trace: Trace, place: Location) -> LineIndex:
    part = trace.turns[place.turn - 1].part(place.part) if place.turn <= len(trace.turns) else None
    return LineIndex(part.text if part else "")


def _excerpt(place: Location, index: LineIndex, width: int) -> Iterator[Line]:
    excerpt = Excerpt(index, len(str(index.position(place.range.end)[0])), width)
    yield (Run(f"{'':{excerpt.digits}}--> ", Style.GUTTER), Run(place_words(place, index)))
    if index.text:
        yield excerpt.gutter()
        yield from excerpt.lines(place.range, Style.ERROR)


def _facts(name: str, said: Line, width: int, style: Style = Style.STRONG) -> Iterator[Line]:
    yield from wrapped((Run(f"  {name}: ", style), *said), width, indent=4)


def _reaction(trace: Trace, inspection: Inspection, broken: Break) -> Line:
    said = _words_on(trace, inspection, broken)
    if said is None:
        return (Run(f"{_REACTIONS[broken.reaction]}."),)
    turn, words = said
    shown = " ".join(words[: 8 * _LONGEST].split())
    short = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"
    where = f" (turn {turn})" if broken.reaction is Reaction.REPORTED else f"; its last words (turn {turn})"
    return (Run(f"{_REACTIONS[broken.reaction]}{where}: "), Run(f"“{visible_line(short)}”", Style.KEY))


def _words_on(trace: Trace, inspection: Inspection, broken: Break) -> tuple[int, str] | None:
    """The turn and the words in which the agent owned up to the break, or else its last words after it."""
    step = inspection.chain.steps[broken.step - 1]
    known = (step.result_location or step.location).turn
    spoken = list(_speeches(trace, inspection, known))
    if broken.reaction is not Reaction.REPORTED:
        return spoken[-1] if spoken and broken.reaction is not None else None
    admitted = ((turn, words) for turn, text in (*spoken[-1:], *spoken) if (words := admission(text)) is not None)
    return next(admitted, None)


def _speeches(trace: Trace, inspection: Inspection, after: int) -> Iterator[tuple[int, str]]:
    """What the agent said behind a turn: the turn, and how its words begin."""
    for found in inspection.parts:
        turn = trace.turns[found.turn - 1]
        is_said = found.turn > after and turn.role is Role.ASSISTANT and found.part == "text"
        part = turn.part(found.part) if is_said else None
        if part is not None:
            said = _beginning(part.text, found.spans)
            if said.strip():
                yield found.turn, said


def _beginning(text: str, spans: Iterable[Span]) -> str:
    """The first words of some spans, as many as anybody looks at: a text may have millions."""
    said: list[str] = []
    room = HEARD
    for span in spans:
        if span.kind is SpanKind.TEXT and room > 0:
            said.append(text[span.inner.start : min(span.inner.end, span.inner.start + room)])
            room -= len(said[-1])
    return "".join(said)


def _same(diagnostic: Diagnostic, place: Location) -> bool:
    return (diagnostic.location.turn, diagnostic.location.part) == (place.turn, place.part)
