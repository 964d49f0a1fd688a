"""Recordings without content: structure, sizes and faults of the stream stay, its words go."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink import sample_traces
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.redaction.masking import ContentStream, kept_words
from weaklink.inspector.redaction.redactor import Redactor

_SAMPLES = sorted(Path(sample_traces.__file__).parent.glob("*.jsonl"))
# What words say is gone: an address is none any more, a value can be neither wrong nor made up, an agent that owned up
# to an error seems to have passed over it, and what the system prompt asked for is not known.
_OF_VALUES = ("R605", "S207", "T406", "T410", "T411", "T412", "T413")


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: path.stem)
def test_samples_keep_their_structure_and_their_story(path: Path) -> None:
    for trace in read_source(path).records:
        assert isinstance(trace, Trace)
        masked = Redactor(keep_content=False).trace(trace)
        before = inspect_trace(trace)
        after = inspect_trace(masked, format=before.format)
        assert _kinds(after) == _kinds(before)
        assert _codes(after) == _codes(before)
        assert [step.outcome for step in after.chain.steps] == [step.outcome for step in before.chain.steps]
        assert [len(part.text) for turn in masked.turns for part in turn.parts] == [
            len(part.text) for turn in trace.turns for part in turn.parts
        ]


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


def _kinds(inspection: Inspection) -> list[list[str]]:
    return [[span.kind for span in part.spans] for part in inspection.parts]


def _codes(inspection: Inspection) -> list[str]:
    return sorted(one.rule.code for one in inspection.diagnostics if not re.match("|".join(_OF_VALUES), one.rule.code))
