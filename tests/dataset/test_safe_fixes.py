"""Safe fixes: each alone, and all together, takes its fault away, adds none, and leaves every valid call as it was."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from tests.mutations import FormatText, mutated_texts
from weaklink.inspector.diagnostics import Diagnostic, apply_fixes, edited, without_clashes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.conversation import REPEATED_CALL
from weaklink.inspector.rules.markers import UNTERMINATED_SPAN
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import Segmentation, segment

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
TEXTS = 200
BRACKETS = frozenset("{}[]\"'<>")


def read(case: FormatText, text: str) -> Segmentation:
    return segment(text, case.format, prompt=case.prompt)


def safe_fixes(segmentation: Segmentation) -> list[Diagnostic]:
    return [
        diagnostic
        for diagnostic in segmentation.diagnostics
        if diagnostic.fault.fix is not None and diagnostic.fault.fix.safe
    ]


def wrong(diagnostics: Iterable[Diagnostic]) -> Counter[str]:
    """How much is wrong, by rule; notes are no faults, and a repaired call may turn out to repeat others."""
    counted = (diagnostic.rule for diagnostic in diagnostics if diagnostic.rule is not REPEATED_CALL)
    return Counter(rule.code for rule in counted if rule.severity is not Severity.INFO)


def valid_calls(segmentation: Segmentation) -> list[tuple[str | None, object]]:
    return [(call.name, call.arguments) for call in segmentation.calls if call.valid]


def holds(case: FormatText, before: Segmentation, fixed: Sequence[Diagnostic]) -> bool:
    """Whether these fixes do what they promise."""
    edits = [edit for each in fixed if each.fault.fix is not None for edit in each.fault.fix.edits]
    after = read(case, edited(case.text, edits))
    rest = iter(valid_calls(after))
    return wrong(after.diagnostics) <= wrong(before.diagnostics) - wrong(fixed) and all(
        call in rest for call in valid_calls(before)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_safe_fix_takes_its_fault_away_and_changes_nothing_else(seed: int) -> None:
    tried = 0
    for text in mutated_texts(seed, TEXTS):
        before = read(text, text.text)
        safe = safe_fixes(before)
        for each in safe:
            tried += 1
            assert holds(text, before, [each]), (text, each)
            assert is_in_payload(before, each) or not lost_words(text.text, each), (text, each)
        together = {id(fault) for fault in without_clashes(each.fault for each in safe)}
        assert not safe or holds(text, before, [each for each in safe if id(each.fault) in together]), text
    assert tried > TEXTS / 25


def is_in_payload(segmentation: Segmentation, diagnostic: Diagnostic) -> bool:
    """Whether a fault lies in a span that its marker closes."""
    spans = (span for span in segmentation.spans if span.kind is not SpanKind.TEXT and span.range.end > span.inner.end)
    return any(span.range.covers(diagnostic.range) for span in spans)


def lost_words(text: str, diagnostic: Diagnostic) -> list[str]:
    """The words, more than one together, that a fix takes away."""
    deleted = (
        [edit.range.of(text) for edit in diagnostic.fault.fix.edits if not edit.text]
        if diagnostic.fault.fix is not None
        else []
    )
    return [
        old for old in deleted if len(old.split()) > 1 and sum(map(str.isalpha, old)) > 3 and not set(old) & BRACKETS
    ]


WORDS = "I hope that this helps you."
CALL = make_call("get_time", {"zone": "UTC"})


@pytest.mark.parametrize("name", [dialect.name for dialect in formats()])
def test_words_behind_a_call_that_lacks_its_closer_are_kept(name: str) -> None:
    whole = find_format(name).write_calls([CALL])
    (span,) = [span for span in segment(whole, name).spans if span.kind is SpanKind.TOOL_CALL]
    text = f"{whole[: span.inner.end].rstrip()}\n{WORDS}"
    segmentation = segment(text, name)
    repaired = apply_fixes(text, [diagnostic.fault for diagnostic in segmentation.diagnostics])
    assert WORDS in repaired
    codes = {diagnostic.rule for diagnostic in segmentation.diagnostics}
    if UNTERMINATED_SPAN in codes and "J109" in {rule.code for rule in codes}:
        again = segment(repaired, name)
        assert [(call.name, call.arguments, call.valid) for call in again.calls] == [(CALL.name, CALL.arguments, True)]
        assert not wrong(again.diagnostics)
        assert WORDS in again.content
