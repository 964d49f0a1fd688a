"""Calls in Python's syntax: what is repaired reads back, every place is exact, and nothing is too hostile to read."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.case_files import cases_of
from weaklink.inspector.diagnostics import Fault, apply_fixes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.python.calls import read_calls
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import write_call
from weaklink.inspector.json_scanner import MAX_DEPTH
from weaklink.inspector.model import Json
from weaklink.inspector.segmenter.events import read_on

CASES = Path(__file__).parents[1] / "cases" / "formats" / "pythonic" / "malformed.yaml"
TEXTS = [case["text"] for case in cases_of(CASES)]
PIECES = (
    *("[", "]", "(", ")", "{", "}", "f(", "a=", "'", '"', "'''", "\\", "\n", ",", ":", ";", "=", " ", "1", "0x", ".5"),
    *("#", "True", "null", "x", "it's", "**", "f'", "b'", "\\x4", "\\N{", "é", "\ud83d", "-", "+", "😀", "[f(a='b')]"),
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=30).map("".join)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=10,
)


@given(text=HOSTILE.filter(str.strip))
def test_every_text_gives_a_call_with_exact_places(text: str) -> None:
    text = "  " + text
    calls = read_calls(text[2:], 2)
    assert calls.calls
    for call in calls.calls:
        assert call.valid or calls.faults
        assert call.arguments_range is None or call.arguments_range.of(text) == call.raw_arguments
        assert call.name_range is None or call.name_range.of(text) == call.name
        for parameter in call.parameters:
            assert parameter.range.of(text) == parameter.text
            assert parameter.name_range is None or parameter.name_range.of(text).strip("\"'") == parameter.name
    assert all(0 <= fault.range.start < fault.range.end <= len(text) for fault in calls.faults)


@given(arguments=st.dictionaries(st.sampled_from(("a", "b_2", "größe")), VALUES, max_size=3))
def test_what_is_written_is_python_and_reads_back(arguments: dict[str, Json]) -> None:
    text = write_call(make_call("tools.f", arguments))
    read = ast.parse(text, mode="eval").body
    assert isinstance(read, ast.Call)
    assert {keyword.arg: ast.literal_eval(keyword.value) for keyword in read.keywords} == arguments
    calls = read_calls(text)
    assert [(call.name, call.arguments, call.valid) for call in calls.calls] == [("tools.f", arguments, True)]
    assert not calls.faults
    follower = PYTHON.follower()
    read_on(follower, text)
    assert follower.completed


@pytest.mark.parametrize("text", [text for text in TEXTS if text.startswith("[")])
def test_a_recovered_call_is_what_its_repair_gives(text: str) -> None:
    before = read_calls(text)
    after = read_calls(apply_fixes(text, before.faults, only_safe=False))
    for old, new in zip(before.calls, after.calls, strict=True):
        if old.valid or (old.recovered and not _has_no_repair(before.faults)):
            assert (new.arguments, new.valid) == (old.arguments, True)


def _has_no_repair(faults: tuple[Fault, ...]) -> bool:
    return any(fault.fix is None for fault in faults)


@pytest.mark.parametrize("opener", ["[", "{'a': ", "(", "[{'a': ["])
def test_no_depth_is_too_much(opener: str) -> None:
    calls = read_calls(f"f(a={opener * 5_000})")
    assert [call.valid for call in calls.calls] == [False]
    deepest = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert [call.valid for call in read_calls(f"f(a={deepest})").calls] == [True]
