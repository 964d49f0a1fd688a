"""Views as text: each scene at two widths, compared with the file under tests/cases/views."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.ui.scenes import (
    CALL_TEXT,
    broken_trace,
    call_spans,
    range_of,
    tiled,
    trailing_comma,
    weather_call,
)
from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.model import Span, SpanKind
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.segmentation import Segmentation
from weaklink.inspector.text import Range
from weaklink.ui.cli.segment import segmented_lines
from weaklink.ui.views.diagnostic import diagnostic_lines
from weaklink.ui.views.rule import read_example, rule_lines
from weaklink.ui.views.styled_text import Line, plain, width_of
from weaklink.ui.views.trace import trace_lines

CASES = Path(__file__).parents[2] / "cases" / "views"


def diagnostic_of_a_short_line(width: int) -> Iterable[Line]:
    return diagnostic_lines(trailing_comma().at(3, "text"), CALL_TEXT, width=width)


def diagnostic_in_a_file(width: int) -> Iterable[Line]:
    return diagnostic_lines(trailing_comma().at(1, "text"), CALL_TEXT, width=width, file="logs/run\x1b.txt")


def diagnostic_of_a_long_line(width: int) -> Iterable[Line]:
    text = "é" * 5_000 + " " + CALL_TEXT.replace("\n", " ") + "日" * 5_000
    return diagnostic_lines(trailing_comma(text).at(1, "text"), text, width=width)


def diagnostic_over_several_lines(width: int) -> Iterable[Line]:
    start = CALL_TEXT.index("<tool_call>")
    fault = Fault(find_rule("F301"), Range(start, len(CALL_TEXT)), "The stream ends before `</tool_call>`.")
    return diagnostic_lines(fault.at(1, "text"), CALL_TEXT, width=width)


def diagnostic_at_the_end(width: int) -> Iterable[Line]:
    end = Range(len(CALL_TEXT), len(CALL_TEXT))
    fix = Fix((Edit(end, "</tool_call>"),), safe=False)
    fault = Fault(find_rule("F301"), end, "The stream ends before `</tool_call>`.", "Write `</tool_call>`.", fix)
    return diagnostic_lines(fault.at(1, "text"), CALL_TEXT, width=width)


def diagnostic_of_a_line_feed(width: int) -> Iterable[Line]:
    text = '{"a": "one\ntwo"}'
    fault = Fault(find_rule("J106"), range_of(text, "\n"), "A raw line feed appears in a string.", "Write `\\n`.")
    return diagnostic_lines(fault.at(1, "call:0"), text, width=width)


def diagnostic_of_an_empty_text(width: int) -> Iterable[Line]:
    fault = Fault(find_rule("C505"), Range(0, 0), "The server answered with status 429.")
    return diagnostic_lines(fault.at(1, "text"), "", width=width)


def diagnostic_with_several_edits(width: int) -> Iterable[Line]:
    text = "{'name': 'f', 'arguments': {}}"
    fix = Fix(
        tuple(Edit(Range(index, index + 1), '"') for index, character in enumerate(text) if character == "'"), safe=True
    )
    fault = Fault(find_rule("J103"), range_of(text, "'name'"), "3 strings are quoted with apostrophes.", None, fix)
    return diagnostic_lines(fault.at(1, "text"), text, width=width)


def segment_of_a_call(width: int) -> Iterable[Line]:
    segmentation = Segmentation(
        CALL_TEXT, "hermes", call_spans(), (weather_call(),), (), (), (trailing_comma().at(1, "text"),)
    )
    return segmented_lines(segmentation, name="<stdin>", width=width)


def segment_folded(width: int) -> Iterable[Line]:
    text = "first\n" + "middle\n" * 500 + "x" * 3_000 + CALL_TEXT + "\n" + "last\n" * 500
    faults = (trailing_comma(text).at(1, "text"),)
    segmentation = Segmentation(text, "hermes", call_spans(text), (), (), (), faults)
    return segmented_lines(segmentation, name="<stdin>", width=width)


def segment_with_a_wide_fault(width: int) -> Iterable[Line]:
    text = "one line " * 30
    short = Fault(find_rule("F307"), Range(50, 150), "This goes over two rows.")
    long = Fault(find_rule("F307"), Range(0, 260), "This goes over many rows.")
    segmentation = Segmentation(text, "hermes", tiled(text), (), (), (), (short.at(1, "text"), long.at(1, "text")))
    return segmented_lines(segmentation, name="a", width=width)


def segment_with_children(width: int) -> Iterable[Line]:
    text = "<scratch_pad>Goal: a\nActions: b</scratch_pad>"
    whole, inner = Range(0, len(text)), Range(13, len(text) - 14)
    goal = Span(SpanKind.REASONING, range_of(text, "Goal: a"), range_of(text, "a", after=15), label="goal")
    outer = Span(SpanKind.REASONING, whole, inner, label="scratch_pad", children=(goal,))
    return segmented_lines(Segmentation(text, "hermes", (outer,), (), (), (), ()), name="a", width=width)


def segment_of_nothing(width: int) -> Iterable[Line]:
    return segmented_lines(Segmentation("", "hermes", (), (), (), (), ()), name="-", width=width)


def trace(width: int) -> Iterable[Line]:
    return trace_lines(*broken_trace(), id=7, width=width)


def trace_in_full(width: int) -> Iterable[Line]:
    return trace_lines(*broken_trace(), id=7, width=width, full=True)


def rule(width: int) -> Iterable[Line]:
    result = find_rule("J104")
    return rule_lines(
        result, read_example(result.bad, result.format), read_example(result.good, result.format), width=width
    )


def rule_over_turns(width: int) -> Iterable[Line]:
    result = find_rule("T413")
    return rule_lines(
        result, read_example(result.bad, result.format), read_example(result.good, result.format), width=width
    )


SCENES: tuple[Callable[[int], Iterable[Line]], ...] = (
    diagnostic_of_a_short_line,
    diagnostic_in_a_file,
    diagnostic_of_a_long_line,
    diagnostic_over_several_lines,
    diagnostic_at_the_end,
    diagnostic_of_a_line_feed,
    diagnostic_of_an_empty_text,
    diagnostic_with_several_edits,
    segment_of_a_call,
    segment_folded,
    segment_with_a_wide_fault,
    segment_with_children,
    segment_of_nothing,
    trace,
    trace_in_full,
    rule,
    rule_over_turns,
)


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_scene_looks_as_agreed(scene: Callable[[int], Iterable[Line]], width: int, update_goldens: bool) -> None:
    path = CASES / f"{scene.__name__}.{width}.txt"
    lines = list(scene(width))
    assert [plain(line) for line in lines if width_of(line) > width] == []
    shown = "".join(plain(line).rstrip(" ") + "\n" for line in lines)
    if update_goldens:
        path.write_text(shown, encoding="utf-8")
    else:
        mend = "`make test ARGS='tests/ui/views/test_goldens.py --update-goldens'` mends it; read what it writes"
        assert shown == path.read_text(encoding="utf-8"), mend


def test_every_file_belongs_to_a_scene() -> None:
    wanted = {f"{scene.__name__}.{width}.txt" for scene in SCENES for width in (80, 140)}
    assert {path.name for path in CASES.iterdir()} == wanted
