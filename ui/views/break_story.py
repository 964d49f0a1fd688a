"""The break of a trace for people: which step, what was expected instead, what helps, and how the agent took it."""

from collections.abc import Iterator

from inspector.chain.speech import admission
from inspector.chain.steps import Break, Reaction, Status, StepOutcome
from inspector.diagnostics import Diagnostic
from inspector.inspection import Inspection
from inspector.model import Role, SpanKind, Trace
from inspector.rules.rule import Severity
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
_REACTIONS = {
    Reaction.REPORTED: "The agent reported it",
    Reaction.IGNORED: "The agent went on as if nothing had happened",
    Reaction.CONCEALED: "The agent went on with values that it invented",
    None: "The trace ends before the agent says what it made of it",
}
_LONGEST = 160


def break_lines(trace: Trace, inspection: Inspection, width: int) -> Iterator[Line]:
    """The step, what is wrong in a sentence, what was expected, and the agent's own words; none without a break."""
    broken = inspection.chain.broken
    if broken is None:
        return
    glyph = status_run(Status.BROKEN, broken.outcome).text.split()[0]
    head = (Run(f"{glyph} broke at step {broken.step}", Style.ERROR), Run(f" (turn {broken.turn}): "))
    yield from wrapped((*head, *quoted(broken.message)), width, indent=2)
    yield from wrapped((Run("  expected: ", Style.STRONG), Run(_EXPECTED[broken.outcome])), width, indent=4)
    cause = next((one for one in inspection.diagnostics if _causes(one, broken)), None)
    if cause is not None and cause.fault.hint:
        yield from wrapped((Run("  help: ", Style.HINT), *quoted(cause.fault.hint)), width, indent=4)
    after = Run("  afterwards: ", Style.STRONG)
    yield from wrapped((after, *_reaction(trace, inspection, broken)), width, indent=4)


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
    spoken = [said for said in _speeches(trace, inspection) if said[0] > known]
    if broken.reaction is not Reaction.REPORTED:
        return spoken[-1] if spoken and broken.reaction is not None else None
    admitted = ((turn, words) for turn, text in (*spoken[-1:], *spoken) if (words := admission(text)) is not None)
    return next(admitted, None)


def _speeches(trace: Trace, inspection: Inspection) -> Iterator[tuple[int, str]]:
    for found in inspection.parts:
        turn = trace.turns[found.turn - 1]
        part = turn.part(found.part) if turn.role is Role.ASSISTANT and found.part == "text" else None
        if part is not None:
            said = "".join(span.inner.of(part.text) for span in found.spans if span.kind is SpanKind.TEXT)
            if said.strip():
                yield found.turn, said


def _causes(diagnostic: Diagnostic, broken: Break) -> bool:
    return (
        diagnostic.location.turn == broken.turn
        and diagnostic.rule.code == broken.code
        and diagnostic.rule.severity is Severity.ERROR
    )
