"""A rule explained: what it says, why it matters, and what breaks it, marked."""

from collections.abc import Iterator, Sequence

from inspector.model import Json
from inspector.rules.rule import Rule
from inspector.segmentation import Segmentation
from inspector.text import Range
from ui.views.marked import marked_lines
from ui.views.palette import Style, style_of
from ui.views.rows import cut_rows
from ui.views.run import Line, Run
from ui.views.table import table_lines
from ui.views.visible import visible_runs
from ui.views.wording import quoted, wrapped

_WIDEST = 100


def rule_lines(rule: Rule, bad: Segmentation | None, *, width: int) -> Iterator[Line]:
    """The lines of `weaklink rule`; `bad` is the rule's bad example, segmented, or None where it has none."""
    readable = min(width, _WIDEST)
    yield (Run(f"{rule.severity.value}[{rule.code}]", style_of(rule.severity)), Run(f" {rule.name}", Style.STRONG))
    yield ()
    yield from wrapped(quoted(rule.summary, Style.STRONG), readable)
    yield ()
    yield from wrapped(quoted(rule.explanation), readable)
    if bad is not None:
        yield ()
        yield (Run("bad", Style.REMOVED),)
        faults = [diagnostic.fault for diagnostic in bad.diagnostics if diagnostic.rule == rule]
        yield from marked_lines(bad.text, bad.spans, faults, width=width)
    if rule.good:
        yield ()
        yield (Run("good", Style.ADDED),)
        for row in cut_rows(rule.good, Range(0, len(rule.good)), width - 4):
            yield (Run("    "), *visible_runs(row.of(rule.good)))


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
        "bad": rule.bad,
        "good": rule.good,
    }
