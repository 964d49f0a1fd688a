"""Compared runs as text: each scene at two widths, as in the file under tests/cases/run_diff, whatever they hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import trace_of
from tests.examples import in_the_gate
from tests.strategies import texts
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.ui.views.layers import Layer
from weaklink.ui.views.run_diff import ComparedRun, RunDiff, compare, diff_lines, diff_object, row_diff_lines
from weaklink.ui.views.styled_text import Style, plain, visible_line, width_of
from weaklink.ui.views.text_diff import text_diff_lines

CASES = Path(__file__).parents[2] / "cases" / "run_diff"
ORDER = (
    "user: Give me back what I paid for order 17.",
    'call: get_order {"id": 17}',
    'result: {"id": 17, "state": "shipped", "lines": [{"sku": "L-300", "price": 40}, {"sku": "M-12", "price": 5}]}',
)
REFUND = ('call: refund {"order": 17, "amount": 45, "reason": "never came"}', 'result: {"refund": "R-1"}')
DONE = ("say: You get 45 back.",)


def diff_of(*runs: tuple[str, ...]) -> RunDiff:
    return compare([_run(str(number), trace_of(*lines)) for number, lines in enumerate(runs, 1)])


def other_arguments() -> RunDiff:
    wrong = ('call: refund {"order": 71, "amount": 45, "reason": "never came"}', 'result: {"error": "no such order"}')
    return diff_of((*ORDER, *REFUND, *DONE), (*ORDER, *wrong, "say: I could not refund it."))


def other_results() -> RunDiff:
    changed = ORDER[2].replace("shipped", "lost").replace('"price": 5', '"price": 50')
    return diff_of((*ORDER, *REFUND, *DONE), (*ORDER[:2], changed, *REFUND, *DONE))


def asked_otherwise() -> RunDiff:
    words = "user: Give me back what I paid for order 17, and be quick."
    lookup = ('call: search {"q": "order 17"}', 'result: {"results": []}')
    return diff_of((*ORDER, *REFUND, *DONE), (words, *lookup, *ORDER[1:], *REFUND, *DONE))


def three_runs() -> RunDiff:
    return diff_of(
        (*ORDER, *REFUND, *DONE),
        (
            *ORDER,
            'call: refund {"order": 17, "amount": 40, "reason": "never came"}',
            'result: {"refund": "R-1"}',
            *DONE,
        ),
        (*ORDER, "say: I may not refund it."),
    )


def other_last_words() -> RunDiff:
    return diff_of((*ORDER, *REFUND, *DONE), (*ORDER, *REFUND, "say: You get 54 back."))


def the_same() -> RunDiff:
    return diff_of((*ORDER, *DONE), (*ORDER, *DONE))


def no_calls() -> RunDiff:
    return diff_of(("user: Hi.", "say: Hello."), ("user: Hi.", "say: Hello."))


def many_steps() -> RunDiff:
    before = [f'call: read {{"path": "{number}.py"}}' for number in range(30)]
    lines = [line for call in before for line in (call, "result: fine")]
    script = ("user: Go.", *lines, 'call: write {"text": "' + "same " * 60 + 'one"}', "result: 1")
    return diff_of(script, (*script[:-2], script[-2].replace("one", "two"), "result: 1"))


def broken_calls() -> RunDiff:
    script = ("user: Go.", "call: f {'a': 1", "result: Error: bad JSON", "say: Sorry, that failed.")
    return diff_of(script, (script[0], "call: f {'a': 2", *script[2:]))


SCENES: tuple[Callable[[], RunDiff], ...] = (
    other_arguments,
    other_results,
    asked_otherwise,
    three_runs,
    other_last_words,
    the_same,
    no_calls,
    many_steps,
    broken_calls,
)


def test_answers_after_the_last_call_are_told_apart() -> None:
    diff = diff_of((*ORDER, "say: It is shipped.", "user: And the price?", "say: 45."), (*ORDER, "say: It is shipped."))
    assert [run["last_words"] for run in diff_object(diff)["runs"]] == ["It is shipped.\n45.", "It is shipped."]


def test_a_layer_that_no_log_has_is_not_taken_for_runs_without_calls() -> None:
    diff = compare([run.at(Layer.EXECUTED) for run in other_arguments().runs])
    assert not diff.alignment.rows
    assert diff.verdict.startswith("No run has a call recorded as executed, and their final answers differ; ")
    assert diff.verdict.endswith(" Not recorded as executed: 2 steps of A, 2 steps of B.")
    assert compare([run.at(Layer.EXECUTED) for run in no_calls().runs]).verdict == no_calls().verdict


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_scene_looks_as_agreed(scene: Callable[[], RunDiff], width: int, update_goldens: bool) -> None:
    path = CASES / f"{scene.__name__}.{width}.txt"
    shown = "".join(plain(line).rstrip(" ") + "\n" for line in diff_lines(scene(), width))
    if update_goldens:
        path.write_text(shown, encoding="utf-8")
    else:
        mend = "`make test ARGS='tests/ui/views/test_run_diff.py --update-goldens'` mends it; read what it writes"
        assert shown == path.read_text(encoding="utf-8"), mend


def test_every_file_belongs_to_a_scene() -> None:
    wanted = {f"{scene.__name__}.{width}.txt" for scene in SCENES for width in (80, 160)}
    assert {path.name for path in CASES.iterdir()} == wanted


@st.composite
def hostile_runs(draw: st.DrawFn) -> Trace:
    """A run whose tools, arguments, results and words may hold anything."""
    lines = [f"user: {draw(texts(max_size=4))}"]
    for _ in range(draw(st.integers(0, 3))):
        tool = draw(st.sampled_from(["f", "g\x1b", ""]))
        lines.append(f"call: {tool} {draw(texts(max_size=6))}")
        lines.append(f"result: {draw(texts(max_size=6))}")
    return trace_of(*lines, f"say: {draw(texts(max_size=4))}")


@in_the_gate(20, most=60)  # whole traces are inspected
@given(st.lists(hostile_runs(), min_size=2, max_size=3), st.sampled_from([40, 80, 160]))
def test_nothing_that_a_trace_holds_reaches_the_screen_as_it_is(traces: list[Trace], width: int) -> None:
    diff = compare([_run("\x1b[31m", trace) for trace in traces])
    for line in diff_lines(diff, width):
        assert plain(line) == visible_line(plain(line))
        assert width_of(line) <= width
    value = json.loads(write_json(diff_object(diff)))
    assert value["verdict"] == diff.verdict
    assert len(value["rows"]) == len(diff.alignment.rows)


@in_the_gate(20, most=300)
@given(texts(), texts(), st.integers(30, 100))
def test_the_rows_of_a_diff_fit_and_are_printable(first: str, other: str, width: int) -> None:
    lines = list(text_diff_lines(first, other, width, full=True))
    assert all(plain(line) == visible_line(plain(line)) and width_of(line) <= width for line in lines)
    signs = {plain(line)[4:5] for line in lines}
    assert ("-" in signs or "+" in signs) == (first != other)


def test_what_changed_is_told_without_colour_too() -> None:
    rows = [plain(line) for line in text_diff_lines("pay 17 now", "pay 71 now", 80)]
    assert rows == ["    - pay 17 now", "          ^^", "    + pay 71 now", "          ^^"]
    styles = [run.style for line in text_diff_lines("pay 17 now", "pay 71 now", 80) for run in line]
    assert {Style.REMOVED, Style.ADDED} <= set(styles)


@pytest.mark.parametrize(("runs", "sign"), [((True, False), "-"), ((False, True), "+")])
def test_a_call_that_one_run_makes_is_signed_as_that_run(runs: tuple[bool, bool], sign: str) -> None:
    diff = diff_of(*((*ORDER, *(REFUND if refunds else ()), *DONE) for refunds in runs))
    whole = [plain(line).strip() for line in diff_lines(diff, 100)]
    of_row = [plain(line).strip() for line in row_diff_lines(diff, 1, (0, 1), 100)]
    for lines in (whole, of_row):
        assert f"{sign} refund" in lines
        assert not {f"{other} refund" for other in "+-" if other != sign} & set(lines)


def test_a_long_diff_ends_and_says_what_is_missing() -> None:
    rows = [plain(line) for line in text_diff_lines("\n".join(f"old {number}" for number in range(500)), "", 80)]
    assert len(rows) < 30
    assert rows[-1] == "    - … 480 more lines; --full shows all"
    lines = [f"line {number}" for number in range(2_000)]
    other_lines = [line if number % 9 else f"{line}!" for number, line in enumerate(lines)]
    rows = [plain(line) for line in text_diff_lines("\n".join(lines), "\n".join(other_lines), 80)]
    assert len(rows) < 80
    assert rows[-1].endswith("more changed lines; --full shows all")


def test_the_json_names_runs_by_letter_and_holds_the_pieces() -> None:
    result: Any = json.loads(write_json(diff_object(other_arguments())))
    assert list(result) == ["verdict", "runs", "asked_differently", "divergence", "text_diff", "rows"]
    assert [(run["run"], run["called"], run["status"]) for run in result["runs"]] == [
        ("A", "1", "ok"),
        ("B", "2", "broken"),
    ]
    assert (result["divergence"]["row"], result["divergence"]["what"]) == (2, "call")
    assert [piece for piece in result["text_diff"]["call"] if piece["kind"] != "same"] == [
        {"kind": "removed", "text": "17"},
        {"kind": "added", "text": "71"},
    ]
    assert result["rows"][1]["runs"]["B"]["sameness"] == "call"
    assert result["rows"][1]["runs"]["B"]["step"]["call"] == {"turn": 4, "part": "call:0", "start": 0, "end": 51}


def _run(called: str, trace: Trace) -> ComparedRun:
    return ComparedRun(called, trace, inspect_trace(trace, format="hermes"))


@pytest.mark.parametrize(
    ("first", "other"), [("true", '"true"'), ("1", '"1"'), ("null", '"null"'), ('["a"]', '"[\\"a\\"]"'), ("{}", '"{}"')]
)
def test_a_value_and_a_text_of_its_characters_look_different(first: str, other: str) -> None:
    runs = diff_of(*(("user: Go.", f'call: f {{"x": {value}}}', "result: 1") for value in (first, other)))
    shown = {plain(line).strip() for line in diff_lines(runs, 80)}
    assert {f"-   x: {first}", f"+   x: {other}"} <= shown
