"""Recordings without content: structure, sizes and faults of the stream stay, its words go."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink import sample_traces
from weaklink.inspector.chain.steps import Certainty, Step, StepOutcome
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Part, ResultHeader, Role, ToolCall, ToolDefinition, Trace, Turn
from weaklink.inspector.redaction.masking import ContentStream, kept_words, mask_content
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

_SAMPLES = sorted(Path(sample_traces.__file__).parent.glob("*.jsonl"))
# What words say is gone: an address is none any more, a value can be neither wrong nor made up, an agent that owned up
# to an error seems to have passed over it, and what the system prompt asked for is not known. Two calls may be the same
# or not, and a summary looks like any other message.
_OF_VALUES = ("L811", "L812", "R605", "S207", "T406", "T408", "T410", "T411", "T412", "T413")


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: path.stem)
def test_samples_keep_their_structure_and_their_story(path: Path) -> None:
    for trace in read_source(path).records:
        assert isinstance(trace, Trace)
        masked = Redactor(keep_content=False).trace(trace)
        before = inspect_trace(trace)
        after = inspect_trace(masked, format=before.format)
        assert _kinds(after) == _kinds(before)
        assert _codes(after) == _codes(before)
        assert [_outcome(step) for step in after.chain.steps] == [_outcome(step) for step in before.chain.steps]
        assert [len(part.text) for turn in masked.turns for part in turn.parts] == [
            len(part.text) for turn in trace.turns for part in turn.parts
        ]


def test_the_calls_of_each_format_stay_calls() -> None:
    for known in formats():
        probe = ToolCall("f", {"city": "Oslo"}, '{"city": "Oslo"}', valid=True, range=Range(0, 0))
        if known.expresses(probe):
            text = known.write_calls([probe])
            masked = mask_content(text, kept_words([ToolDefinition("f", "", {})]))
            calls = segment(masked, known.name).calls
            assert "Oslo" not in masked
            assert [(call.name, call.valid) for call in calls] == [("f", True)], known.name


@pytest.mark.parametrize(
    "content",
    [
        '{"output": "a", "exit_code": 0}',
        '{"output": "a", "metadata": {"exit_code": 2}}',
        "Process exited with code 0",
        "[exit code: 1]",
        "<returncode>0</returncode>",
    ],
)
def test_an_exit_code_still_says_whether_a_run_failed(content: str) -> None:
    calls = Turn(Role.ASSISTANT, (Part("call:0", '{"command": "make"}'),), calls=(CallHeader("call:0", "bash", "c1"),))
    result = Turn(Role.TOOL, (Part("text", content),), result=ResultHeader("c1", "bash"))
    trace = Trace((Turn(Role.USER, (Part("text", "Go."),)), calls, result))
    masked = inspect_trace(Redactor(keep_content=False).trace(trace))
    assert [one.outcome for one in masked.chain.steps] == [one.outcome for one in inspect_trace(trace).chain.steps]


def test_calls_whose_values_were_masked_are_not_called_the_same() -> None:
    turns = [Turn(Role.USER, (Part("text", "Read both."),))]
    for number, name in enumerate(("boat.py", "crew.py"), 1):
        arguments = json.dumps({"path": name})
        call = CallHeader("call:0", "read", f"c{number}")
        turns.append(Turn(Role.ASSISTANT, (Part("call:0", arguments),), calls=(call,)))
        turns.append(Turn(Role.TOOL, (Part("text", "Empty."),), result=ResultHeader(f"c{number}", "read")))
    masked = Redactor(keep_content=False).trace(Trace(tuple(turns)))
    assert "T408" not in {one.rule.code for one in inspect_trace(masked).diagnostics}


def test_words_and_numbers_are_gone() -> None:
    text = 'Call 0047 123 for {"name": "get_weather", "arguments": {"city": "Tromsø\\n", "days": 3.5, "on": true}}'
    masked = Redactor(keep_content=False).text(text)
    assert (
        masked
        == 'xxxx 1111 111 xxx {"name": "xxx_xxxxxxx", "arguments": {"city": "xxxxxx\\n", "days": 1.1, "on": true}}'
    )


@given(texts(max_size=8) | st.text(), st.lists(st.integers(0, 60), max_size=6))
def test_chunks_do_not_matter(text: str, cuts: list[int]) -> None:
    whole = Redactor(keep_content=False).text(text)
    stream = ContentStream(kept_words())
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [stream.feed(text[start:end]) for start, end in pairwise(places)]
    assert "".join([*pieces, stream.close()]) == whole
    one_by_one = ContentStream(kept_words())
    assert "".join([*map(one_by_one.feed, text), one_by_one.close()]) == whole
    assert len(whole) == len(text)
    assert Redactor(keep_content=False).text(whole) == whole


def test_masked_traces_that_look_the_same_stay_apart() -> None:
    traces = [Trace((Turn(Role.USER, (Part("text", word),)),)) for word in ("Oslo", "Rome")]
    masked = [Redactor(keep_content=False).trace(trace) for trace in traces]
    assert masked[0].turns == masked[1].turns
    assert masked[0].external_ids != masked[1].external_ids
    assert Redactor(keep_content=False).trace(traces[0]) == masked[0]


def _outcome(step: Step) -> StepOutcome:
    """The outcome, but for failures that only the result's words tell."""
    return StepOutcome.OK if step.certainty is Certainty.TEXTUAL else step.outcome


def _kinds(inspection: Inspection) -> list[list[str]]:
    return [[span.kind for span in part.spans] for part in inspection.parts]


def _codes(inspection: Inspection) -> list[str]:
    return sorted(one.rule.code for one in inspection.diagnostics if not re.match("|".join(_OF_VALUES), one.rule.code))
