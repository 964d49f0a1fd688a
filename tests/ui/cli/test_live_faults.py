"""Faults told while a text is written are those of the whole text, wherever it is cut."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.strategies import texts
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.segmentation import segment
from weaklink.ui.cli.log import LiveFaults
from weaklink.ui.views.styled_text import plain

COUNTED = {"F302", "F310"}
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'


def codes(result: list[Diagnostic] | tuple[Diagnostic, ...]) -> list[tuple[int, str]]:
    return sorted((diagnostic.range.start, diagnostic.rule.code) for diagnostic in result)


@in_the_gate(20, most=100)
@given(text=texts(max_size=20), step=st.integers(1, 9), format=st.sampled_from([form.name for form in formats()]))
def test_faults_are_those_of_the_whole_text_wherever_it_is_cut(text: str, step: int, format: str) -> None:
    faults = LiveFaults(format=format)
    for start in range(0, len(text), step):
        faults.feed(text[start : start + step])
    faults.close()
    whole = segment(text, format)
    live, expected = Counter(codes(faults.diagnostics)), Counter(codes(whole.diagnostics))
    assert live >= expected
    for start, code in live - expected:  # only the whole text shows how long a run of markers is
        assert code in COUNTED
        assert any(first < start for first, known in expected if known == code)
    assert (faults.spans, faults.calls) == (len(whole.spans), len(whole.calls))


@pytest.mark.parametrize("lead", [0, 10, 1_000, 70_000])
def test_a_format_that_nobody_named_is_found_when_the_text_shows_it(lead: int) -> None:
    faults = LiveFaults()
    for piece in ["word " * 10] * (lead // 50):
        faults.feed(piece)
    for piece in CALL + " and" * 100_000:
        faults.feed(piece)
        if faults.diagnostics:
            break
    assert faults.format == "hermes"
    assert [diagnostic.rule.code for diagnostic in faults.diagnostics] == ["J104"]


def test_each_fault_is_shown_once_and_only_so_many_of_them() -> None:
    faults = LiveFaults(format="hermes")
    lines = [plain(line) for _ in range(300) for line in faults.feed(CALL + "\n")]
    assert len(faults.diagnostics) == 300
    assert sum("J104" in line for line in lines) == 100
    assert [line for line in lines if "more than" in line] == [
        "There are more than 100 faults; `weaklink show` shows the others."
    ]
    assert faults.also(faults.diagnostics, {"text": ""}) == []
