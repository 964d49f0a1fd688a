"""Repairs of a trace: what is made together, one after the other, and not at all."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from weaklink.inspector.dataset.record_rewrite import rewrite_record
from weaklink.inspector.dataset.repair import RepairInput, repair_trace
from weaklink.inspector.diagnostics import Diagnostic, Edit, Fault, Fix
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.rules.json_syntax import SINGLE_QUOTED_JSON, TRAILING_COMMA
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range


def trace_of(*texts: str) -> Trace:
    return Trace(tuple(Turn(Role.ASSISTANT, (Part("text", text),)) for text in texts))


def texts_of(trace: Trace) -> list[str]:
    return [turn.parts[0].text for turn in trace.turns]


def fault(
    text: str, word: str, new: str, turn: int = 1, *, rule: Rule = TRAILING_COMMA, safe: bool = True
) -> Diagnostic:
    """A fault whose repair puts `new` for the first `word`."""
    index = Range(text.index(word), text.index(word) + len(word))
    return Fault(rule, index, f"`{word}` is wrong.", fix=Fix((Edit(index, new),), safe)).at(turn, "text")


def wrong_words(**repairs: str) -> Callable[[Trace], RepairInput]:
    """Finds words that are wrong, each with its repair; the text `bad` is one that no call can be read from."""

    def examine(trace: Trace) -> RepairInput:
        faults = [
            fault(text, word, new, turn)
            for turn, text in enumerate(texts_of(trace), 1)
            for word, new in repairs.items()
            if word in text
        ]
        return RepairInput(tuple(faults), sum("bad" not in text for text in texts_of(trace)))

    return examine


def test_repairs_apart_are_made_together_and_the_rest_afterwards() -> None:
    made = repair_trace(trace_of("one two", "one"), wrong_words(one="eins", two="zwei", zwei="2"))
    assert texts_of(made.trace) == ["eins 2", "eins"]
    assert [(change.round, change.part_key[0], change.text) for change in made.changes] == [
        *((1, 1, "one two"), (1, 1, "one two"), (1, 2, "one"), (2, 1, "eins zwei")),
    ]
    assert made.refused == ()


def test_repairs_that_overlap_follow_one_another() -> None:
    made = repair_trace(trace_of("abcd"), wrong_words(abc="x", bcd="y"))
    assert texts_of(made.trace) == ["xd"]
    assert len(made.changes) == 1


def test_a_repair_that_does_harm_is_not_made_and_the_others_are() -> None:
    made = repair_trace(trace_of("one two", "three"), wrong_words(one="bad", two="2", three="3"))
    assert texts_of(made.trace) == ["one 2", "3"]
    assert [diagnostic.fault.message for diagnostic in made.refused] == ["`one` is wrong."]


def test_repairs_that_undo_one_another_come_to_an_end() -> None:
    made = repair_trace(trace_of("on"), wrong_words(on="off", off="on"))
    assert texts_of(made.trace) in (["on"], ["off"])
    assert len(made.changes) == 16


def test_a_fault_more_is_harm_unless_a_call_can_be_read_by_it() -> None:
    def examine(trace: Trace) -> RepairInput:
        (text,) = texts_of(trace)
        if text == "before":
            return RepairInput((fault(text, "before", "after"),), 0)
        faults = (fault(text, "after", ""), fault(text, "af", "", rule=SINGLE_QUOTED_JSON))
        return RepairInput(faults, 0)

    assert texts_of(repair_trace(trace_of("before"), examine).trace) == ["before"]


def test_a_guess_is_made_only_if_it_is_wanted() -> None:
    def examine(trace: Trace) -> RepairInput:
        (text,) = texts_of(trace)
        return RepairInput((fault(text, "a", "b", safe=False),) if "a" in text else (), 1)

    assert texts_of(repair_trace(trace_of("a"), examine).trace) == ["a"]
    assert texts_of(repair_trace(trace_of("a"), examine, unsafe=True).trace) == ["b"]


def really(trace: Trace) -> RepairInput:
    inspection = inspect_trace(trace, format="hermes")
    return RepairInput(inspection.diagnostics, sum(call.valid for part in inspection.parts for call in part.calls))


_PIECES = ['"', "'", ",", "{", "}", "]", "[", ":", "True", "None", "\\", "\n", "é", "\U0001f600", "\ud800", "/", " "]
_PAYLOADS = st.lists(st.sampled_from([*_PIECES, '"name": "f"', '"arguments": {', '"a": 1', "'b': 'x'"]), max_size=12)


@pytest.mark.parametrize("ascii_only", [True, False])
@in_the_gate(20, most=200)  # each inspects the trace several times over
@given(payload=_PAYLOADS, prefix=st.text(max_size=5))
def test_the_record_says_what_the_repaired_trace_says(ascii_only: bool, payload: list[str], prefix: str) -> None:
    text = f"{prefix}<tool_call>\n{{{''.join(payload)}}}\n</tool_call>"
    row = {"id": 1, "text": text, "copy": text, "n": 2.50}
    record = write_json(row, ascii_only=ascii_only)
    trace = trace_of(text)
    repair = repair_trace(trace, really, unsafe=True)
    rewritten = rewrite_record(record, trace, repair)
    assert rewritten.unplaced == ()
    assert json.loads(rewritten.text) == row | {"text": repair.trace.turns[0].parts[0].text}
    before, after = really(trace), really(repair.trace)
    assert after.valid_calls >= before.valid_calls
    if not repair.changes:
        assert rewritten.text == record
