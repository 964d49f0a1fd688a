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


def read(one: FormatText, text: str) -> Segmentation:
    return segment(text, one.format, prompt=one.prompt)


def safe_fixes(found: Segmentation) -> list[Diagnostic]:
    return [one for one in found.diagnostics if one.fault.fix is not None and one.fault.fix.safe]


def wrong(found: Iterable[Diagnostic]) -> Counter[str]:
    """How much is wrong, by rule; notes are no faults, and a repaired call may turn out to repeat others."""
    counted = (one.rule for one in found if one.rule is not REPEATED_CALL)
    return Counter(rule.code for rule in counted if rule.severity is not Severity.INFO)


def valid_calls(found: Segmentation) -> list[tuple[str | None, object]]:
    return [(call.name, call.arguments) for call in found.calls if call.valid]


def holds(one: FormatText, before: Segmentation, fixed: Sequence[Diagnostic]) -> bool:
    """Whether these fixes do what they promise."""
    edits = [edit for each in fixed if each.fault.fix is not None for edit in each.fault.fix.edits]
    after = read(one, edited(one.text, edits))
    rest = iter(valid_calls(after))
    return wrong(after.diagnostics) <= wrong(before.diagnostics) - wrong(fixed) and all(
        call in rest for call in valid_calls(before)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_safe_fix_takes_its_fault_away_and_changes_nothing_else(seed: int) -> None:
    tried = 0
    for one in mutated_texts(seed, TEXTS):
        before = read(one, one.text)
        safe = safe_fixes(before)
        for each in safe:
            tried += 1
            assert holds(one, before, [each]), (one, each)
            assert is_in_payload(before, each) or not lost_words(one.text, each), (one, each)
        together = {id(fault) for fault in without_clashes(each.fault for each in safe)}
        assert not safe or holds(one, before, [each for each in safe if id(each.fault) in together]), one
    assert tried > TEXTS / 25


def is_in_payload(found: Segmentation, one: Diagnostic) -> bool:
    """Whether a fault lies in a span that its marker closes."""
    spans = (span for span in found.spans if span.kind is not SpanKind.TEXT and span.range.end > span.inner.end)
    return any(span.range.covers(one.range) for span in spans)


def lost_words(text: str, one: Diagnostic) -> list[str]:
    """The words, more than one together, that a fix takes away."""
    deleted = (
        [edit.range.of(text) for edit in one.fault.fix.edits if not edit.text] if one.fault.fix is not None else []
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
    found = segment(text, name)
    repaired = apply_fixes(text, [one.fault for one in found.diagnostics])
    assert WORDS in repaired
    codes = {one.rule for one in found.diagnostics}
    if UNTERMINATED_SPAN in codes and "J109" in {rule.code for rule in codes}:
        again = segment(repaired, name)
        assert [(call.name, call.arguments, call.valid) for call in again.calls] == [(CALL.name, CALL.arguments, True)]
        assert not wrong(again.diagnostics)
        assert WORDS in again.content
