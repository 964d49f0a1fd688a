"""Rules do not depend on each other's order, and no fault is told twice."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.case_files import cases_of
from tests.test_rules import CASES, ROOT, found_in, rows, rows_of, turn_of
from tests.test_sample_traces import FILES, one_trace
from weaklink.inspector import inspection
from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.chain.analysis import Analysis, analyse
from weaklink.inspector.chain.pairing import Pairing
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import Trace
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.segmentation import segment
from weaklink.ui.views.rule import read_example

Inspected: TypeAlias = list[tuple[Trace, Inspection]]

_OVER_TRACES = (
    "check_recording",
    "check_arrivals",
    "check_reasoning",
    "check_context",
    "chain_diagnostics",
    "ending_diagnostics",
    "argument_diagnostics",
)
# Two rules of one family on one range that are two faults: each is mended by an edit or a step of its own.
_TWO_FAULTS = {
    ("F301", "F312"): "the call before is not closed, and what follows it is invented",
    ("F301", "F313"): "the message before is not closed, and the next has no header",
    ("F306", "F313"): "a bold heading, and no call behind it",
    ("J110", "J128"): "several calls in one tag, and JSON where the format has tags",
    ("J115", "J127"): "an expression to compute, and no name for its value",
    ("J119", "J127"): "a bare word, and no name for its value",
}


def traces() -> Iterator[Trace]:
    yield from (Trace(tuple(map(turn_of, row["turns"])), format="hermes") for _, row in rows() if "turns" in row)
    yield from map(one_trace, FILES)
    yield from (read_example(text, rule.format).trace for rule in RULES for text in (rule.bad, rule.good))


@pytest.fixture(scope="module")
def everything() -> Inspected:
    """Every trace of the cases, the samples and the rules' examples, inspected."""
    return [(trace, inspect_trace(trace)) for trace in traces()]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("check", _OVER_TRACES)
def test_what_one_check_finds_does_not_hang_on_another(
    check: str, everything: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(inspection, check)
    diagnostics: list[Diagnostic] = []

    def keeps_silent(*facts: Any) -> Iterator[Diagnostic]:
        diagnostics.extend(original(*facts))
        return iter(())

    monkeypatch.setattr(inspection, check, keeps_silent)
    for trace, whole in everything:
        without = inspect_trace(trace)
        assert without.chain == whole.chain
        assert [diagnostic for diagnostic in whole.diagnostics if diagnostic not in diagnostics] == list(
            without.diagnostics
        )
        diagnostics.clear()


def test_the_chain_does_not_hang_on_the_order_of_the_faults_in_its_calls(
    everything: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = random.Random(7)

    def shuffled(
        trace: Trace, pairing: Pairing, diagnostics: Sequence[Diagnostic], *more: Any, **named: Any
    ) -> Analysis:
        return analyse(trace, pairing, order.sample(diagnostics, len(diagnostics)), *more, **named)

    monkeypatch.setattr(inspection, "analyse", shuffled)
    for trace, whole in everything:
        assert inspect_trace(trace) == whole


def stories(everything: Inspected) -> Iterator[tuple[str, Iterable[Diagnostic]]]:
    """Everything that the project's own texts and traces are said to have, by where it stands."""
    yield from ((name, found_in(row)[1]) for name, row in rows())
    yield from ((f"trace {number}", inspected.diagnostics) for number, (_, inspected) in enumerate(everything))
    for path in sorted(CASES[1].glob("*.yaml")):
        for row in rows_of(path):
            yield (
                path.name,
                [fault.at(1, "text") for fault in read_json(row["text"], call=row.get("call", False)).faults],
            )
    for path in sorted((ROOT / "cases" / "formats").rglob("*.yaml")):
        yield from ((f"{path.parent.name}/{path.name}", segmented) for segmented in _segmented(path))


def _segmented(path: Path) -> Iterator[Iterable[Diagnostic]]:
    for case in cases_of(path):
        tools, prompt = read_tools(case.get("tools")), case.get("prompt", "")
        yield segment(case["text"], path.parent.name, prompt=prompt, tools=tools).diagnostics


def test_no_two_diagnostics_tell_one_fault(everything: Inspected) -> None:
    pairs = defaultdict(list)
    for where, diagnostics in stories(everything):
        at_place = defaultdict(list)
        for diagnostic in diagnostics:
            at_place[diagnostic.location, diagnostic.rule.code[0]].append(diagnostic)
        for alike in at_place.values():
            for diagnostic, other in combinations(sorted(alike, key=lambda diagnostic: diagnostic.rule.code), 2):
                pairs[diagnostic.rule.code, other.rule.code].append(
                    f"{where}: {diagnostic.fault.message} / {other.fault.message}"
                )
    assert {codes: told for codes, told in pairs.items() if codes not in _TWO_FAULTS} == {}
    assert sorted(_TWO_FAULTS) == sorted(pairs), "a pair that is not there any more needs no judgement"
