"""The layers of a selected call stand one below the other, and what differs is marked."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.alignment import Sameness
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, RecordedRun, Role, SentMessage, SentPart, SentRequest, Trace
from weaklink.inspector.model.trace import CallHeader, ResultHeader
from weaklink.inspector.text import Range
from weaklink.ui.reports.html_page import trace_html
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.raw import raw
from weaklink.ui.views.layers import Layer, TraceLayers, layer_lines
from weaklink.ui.views.run_diff import ComparedRun, compare, diff_lines, diff_object
from weaklink.ui.views.styled_text import Style, plain
from weaklink.ui.views.trace import trace_lines
from weaklink.ui.views.trace_json import trace_object

_HERE = Location(2, "call:0", Range(0, 1))
_RESULT = "4 degrees and light rain until the evening"


def story() -> Trace:
    return trace_of("user: Weather?", 'call a1: weather {"city": "Oslo"}', f"result a1: {_RESULT}", "say: 4 degrees.")


def shown(trace: Trace, location: Location = _HERE, width: int = 99) -> list[str]:
    side = raw(Dissection(trace, inspect_trace(trace, format="hermes")), location, width)
    lines = [plain(side.line(index, width)).rstrip() for index in range(side.count)]
    return lines[: next(index for index, line in enumerate(lines) if line.startswith("turn "))]


def with_run(run: RecordedRun) -> Trace:
    trace = story()
    turns = list(trace.turns)
    turns[2] = replace(turns[2], run=run)
    return replace(trace, turns=tuple(turns))


def with_request(*messages: int | SentMessage) -> Trace:
    trace = story()
    turns = list(trace.turns)
    turns[3] = replace(turns[3], generation=Generation(request=SentRequest(messages=messages)))
    return replace(trace, turns=tuple(turns))


def test_what_ran_and_was_returned_is_beside_the_call() -> None:
    run = RecordedRun("otlp", "weather", "a1", '{"city": "Bergen"}', f"{_RESULT}, then snow")
    assert shown(with_run(run)) == [
        "layers of the call",
        "emitted   not recorded",
        'parsed    {"city": "Oslo"}',
        'executed  ≠ {"city": "[-Oslo-]{+Bergen+}"}',
        "layers of the result",
        f"returned  {_RESULT}, then snow",
        f"read      ≠ {_RESULT}[-, then snow-]  (first read, turn",
        "          3)",
    ]


def test_a_record_in_another_form_is_shown_and_not_compared() -> None:
    run = RecordedRun("claude-code", result='{"numFiles": 2}', own_form=("result",))
    lines = shown(with_run(run))
    assert 'returned  {"numFiles": 2}  (not comparable)' in lines
    assert f"read      {_RESULT}  (first read, turn 3)" in lines


def test_the_same_value_is_no_difference() -> None:
    run = RecordedRun("otlp", "weather", "a1", '{"city":"Oslo"}')
    assert 'executed  = same value, written differently: {"city":"Oslo"}' in shown(with_run(run))


def test_a_later_request_is_a_layer() -> None:
    cut = SentMessage(Role.TOOL, (SentPart("text", _RESULT[:9]),), turn=3, result=ResultHeader("a1"))
    header = CallHeader("call:0", "weather", "a1")
    said = SentMessage(Role.ASSISTANT, (SentPart("call:0", '{"city": "Rome"}'),), turn=2, calls=(header,))
    lines = shown(with_request(1, said, cut))
    assert 'read      ≠ {"city": "[-Oslo-]{+Rome+}"}  (request of turn 4)' in lines
    assert "read      ≠ 4 degrees[- and light rain until the evening-]  (request of turn 4)" in lines


def test_a_call_in_the_content_is_what_the_model_emitted() -> None:
    trace = story()
    turns = list(trace.turns)
    text = '<tool_call>\n{"name": "weather", "arguments": {"city": "oslo"}}\n</tool_call>'
    turns[1] = replace(turns[1], parts=(Part("text", text), *turns[1].parts))
    lines = shown(replace(trace, turns=tuple(turns)))
    assert lines[1:3] == ['emitted   {"city": "oslo"}', 'parsed    ≠ {"city": "[-o-]{+O+}slo"}']


def test_without_a_second_layer_nothing_is_shown() -> None:
    assert shown(story()) == []
    assert shown(story(), Location(1, "text", Range(0, 1))) == []


@pytest.mark.parametrize("width", [12, 30, 80])
def test_hostile_texts_and_narrow_screens(width: int) -> None:
    run = RecordedRun("otlp", "weather", "a1", '{"city": "\x1b]0;title\x07\x1b[31m"}' * 300, "\x00\u202e" * 5_000)
    lines = shown(with_run(run), width=width)
    assert not any("\x1b" in line or "\x00" in line or "\u202e" in line for line in lines)
    assert max(map(len, lines)) <= max(width, 40)


def test_differences_have_styles_of_their_own() -> None:
    trace = with_run(RecordedRun("otlp", "weather", "a1", '{"city": "Bergen"}'))
    inspection = inspect_trace(trace, format="hermes")
    layers = TraceLayers(trace, inspection).of(inspection.chain.steps[0])
    styles = {run.text: run.style for line, *_ in layer_lines(layers, 99) for run in line}
    assert styles["[-Oslo-]"] is Style.REMOVED
    assert styles["{+Bergen+}"] is Style.ADDED


def test_layers_are_side_by_side_where_there_is_room() -> None:
    lines = shown(with_run(RecordedRun("otlp", "weather", "a1", '{"city": "Bergen"}', _RESULT)), width=120)
    assert lines[1].split() == ["parsed", "│", "executed"]
    assert lines[2].split("│")[0].strip() == '{"city": "Oslo"}'
    assert lines[2].split("│")[1].strip() == '≠ {"city": "[-Oslo-]{+Bergen+}"}'
    assert lines[3] == "emitted: not recorded"


def test_the_text_of_a_layer_and_whether_layers_differ() -> None:
    trace = with_run(RecordedRun("otlp", "weather", "a1", '{"city": "Bergen"}', _RESULT))
    inspection = inspect_trace(trace, format="hermes")
    layers = TraceLayers(trace, inspection).of(inspection.chain.steps[0])
    assert layers.differ
    assert layers.text_of(Layer.EXECUTED) == ('{"city": "Bergen"}', None)
    assert layers.text_of(Layer.PARSED) == ('{"city": "Oslo"}', None)
    assert layers.text_of(Layer.RETURNED) == (None, _RESULT)
    assert [(location.turn, location.part) for location in layers.locations] == [
        *((2, "call:0"), (3, "run:arguments"), (3, "run:result"), (3, "text")),
    ]
    same = story()
    inspection = inspect_trace(same, format="hermes")
    plain_layers = TraceLayers(same, inspection).of(inspection.chain.steps[0])
    assert not plain_layers.differ
    assert [layer.basis for layer in plain_layers.result] == ["first-read", "first read, turn 3"]


def test_a_page_says_where_a_difference_of_a_request_is() -> None:
    cut = SentMessage(Role.TOOL, (SentPart("text", _RESULT[:9]),), turn=3, result=ResultHeader("a1"))
    trace = with_request(1, 2, cut)
    inspection = inspect_trace(trace, format="hermes")
    said = "at message 3 of its request, text; against turn 3, text"
    assert said in "".join(trace_html(1, trace, inspection))
    assert any(said in plain(line) for line in trace_lines(trace, inspection, id=1, width=99))


def other_runs() -> tuple[ComparedRun, ComparedRun]:
    """Two runs of the same calls, of which the second ran other arguments."""
    runs = (RecordedRun("otlp", "weather", "a1", f'{{"city": "{city}"}}', _RESULT) for city in ("Oslo", "Bergen"))
    traces = [with_run(run) for run in runs]
    compared_run, other = (ComparedRun(str(index), trace, inspect_trace(trace)) for index, trace in enumerate(traces))
    return compared_run, other


def test_runs_are_compared_at_a_layer() -> None:
    runs = other_runs()
    assert compare(runs).alignment.divergence is None
    executed = compare([run.at(Layer.EXECUTED) for run in runs])
    assert executed.alignment.divergence is not None
    assert executed.alignment.divergence.what is Sameness.CALL
    lines = " ".join(plain(line) for line in diff_lines(executed, 120))
    assert "Bergen" in lines
    assert compare([run.at(Layer.PARSED) for run in runs]).alignment.divergence is None


def test_a_layer_that_is_not_recorded_is_left_out_and_said() -> None:
    plain_run = ComparedRun("0", story(), inspect_trace(story()))
    result = compare([plain_run.at(Layer.EXECUTED), other_runs()[0].at(Layer.EXECUTED)])
    assert [len(run.steps) for run in result.runs] == [0, 1]
    assert any("executed: 1 step not recorded" in plain(line) for line in diff_lines(result, 160))
    said: Any = diff_object(result)
    assert [(run["layer"], run["not_recorded"]) for run in said["runs"]] == [("executed", 1), ("executed", 0)]


def test_the_json_of_a_step_has_its_layers() -> None:
    trace = with_run(RecordedRun("otlp", "weather", "a1", '{"city": "Bergen"}'))
    said: Any = trace_object(1, trace, inspect_trace(trace))
    layers = said["chain"][0]["layers"]
    assert [(layer["layer"], layer["recorded"], layer["same"], layer["text"]) for layer in layers["call"]] == [
        ("emitted", False, None, None),
        ("parsed", True, None, None),
        ("executed", True, False, '{"city": "Bergen"}'),
    ]
    assert layers["call"][1]["place"]["part"] == "call:0"
    assert [(layer["layer"], layer["recorded"], layer["basis"]) for layer in layers["result"]] == [
        ("returned", False, "first-read"),
        ("read", True, "first read, turn 3"),
    ]


def test_the_html_page_has_the_layers_that_differ_side_by_side() -> None:
    trace = with_run(RecordedRun("otlp", "weather", "a1", '{"city": "<b>Bergen"}', _RESULT))
    page = "".join(trace_html(1, trace, inspect_trace(trace)))
    assert "<h2>layers</h2>" in page
    assert "<th>emitted</th><th>parsed</th><th>executed</th>" in page
    assert '<span class="removed">[-Oslo-]</span>' in page
    assert "{+&lt;b&gt;Bergen+}" in page
    assert "<h2>layers</h2>" not in "".join(trace_html(1, story(), inspect_trace(story())))
