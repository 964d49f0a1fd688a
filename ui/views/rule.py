"""A rule explained: what it says, why it matters, what to do, and what breaks it, marked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from inspector.diagnostics import Diagnostic
from inspector.inspection import PartInspection
from inspector.model import Json
from inspector.rules.rule import Rule
from ui.views.marked import marked_lines
from ui.views.palette import Style, style_of
from ui.views.rule_example import Example
from ui.views.run import Line, Run
from ui.views.step_places import StepPlaces
from ui.views.table import table_lines
from ui.views.turn import turn_lines
from ui.views.wording import quoted, wrapped

_WIDEST = 100


def rule_lines(rule: Rule, bad: Example | None, good: Example | None, *, width: int) -> Iterator[Line]:
    """The lines of `weaklink rule`; `bad` and `good` are the rule's examples, read, or None where it has none."""
    readable = min(width, _WIDEST)
    yield (Run(f"{rule.severity.value}[{rule.code}]", style_of(rule.severity)), Run(f" {rule.name}", Style.STRONG))
    yield ()
    yield from wrapped(quoted(rule.summary, Style.STRONG), readable)
    yield ()
    yield from wrapped(quoted(rule.explanation), readable)
    if rule.remedy:
        yield ()
        yield from wrapped((Run("What to do: ", Style.STRONG), *quoted(rule.remedy)), readable)
    for example, heading in ((bad, Run("fails", Style.REMOVED)), (good, Run("passes", Style.ADDED))):
        if example is not None:
            yield ()
            yield (heading, Run(f"  in the format {rule.format}", Style.DIM))
            yield from example_lines(example, width=readable)


def example_lines(example: Example, *, width: int) -> Iterator[Line]:
    """An example with all that weaklink says of it: a piece of stream marked, or a small conversation turn by turn."""
    if not example.is_sketch:
        (part,) = example.trace.turns[0].parts
        faults = [diagnostic.fault for diagnostic in example.inspection.diagnostics]
        spans = example.inspection.parts[0].spans
        yield from marked_lines(part.text, spans, faults, width=width)
        return
    parts: defaultdict[int, list[PartInspection]] = defaultdict(list)
    wrong: defaultdict[int, list[Diagnostic]] = defaultdict(list)
    for inspected in example.inspection.parts:
        parts[inspected.turn].append(inspected)
    for diagnostic in example.inspection.diagnostics:
        wrong[diagnostic.location.turn].append(diagnostic)
    steps = StepPlaces(example.inspection.chain)
    for number, turn in enumerate(example.trace.turns, 1):
        yield from turn_lines(turn, number, parts[number], wrong[number], width=width, steps=steps)


def rule_table(families: Sequence[tuple[str, str, Sequence[Rule]]], *, width: int) -> Iterator[Line]:
    """Every rule on a line, by family."""
    for prefix, title, rules in families:
        yield (Run(f"{prefix}xx", Style.STRONG), Run(f"  {title}"))
        rows = [
            (
                (Run(f"  {rule.code}", style_of(rule.severity)),),
                (Run(rule.name, Style.STRONG),),
                (Run(rule.severity.value, style_of(rule.severity)),),
                quoted(rule.summary),
            )
            for rule in rules
        ]
        yield from table_lines(rows, width=width)
        yield ()


def rule_object(rule: Rule) -> dict[str, Json]:
    """A rule as `--json` prints it."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "summary": rule.summary,
        "explanation": rule.explanation,
        "remedy": rule.remedy,
        "bad": rule.bad,
        "good": rule.good,
        "format": rule.format,
    }
