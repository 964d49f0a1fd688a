"""A result that is a list answers all parallel calls before it, each with its own element."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of, codes, inspection_of
from weaklink.inspector.chain.steps import StepOutcome

ELEMENTS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.integers(), max_size=2))


def called(count: int) -> list[str]:
    return [f'{"also" if index else "call"}: get {{"n": {index}}}' for index in range(count)]


@given(st.lists(ELEMENTS, min_size=2, max_size=4))
def test_each_call_has_the_element_at_its_place(values: list[object]) -> None:
    text = json.dumps(values)
    chain = chain_of(*called(len(values)), f"result: {text}", "say: Done.")
    for step, value in zip(chain.steps, values, strict=True):
        assert step.result is not None
        assert step.result.content == (value if isinstance(value, str) else json.dumps(value))
        assert step.result_location is not None
        assert step.result_location.range.of(text) == json.dumps(value)


def test_an_error_among_the_elements_is_that_calls_alone() -> None:
    inspection = inspection_of(*called(2), 'result: [{"high": "06:40"}, "Error: no such harbour"]', "say: Done.")
    assert [step.outcome for step in inspection.chain.steps] == [StepOutcome.OK, StepOutcome.ERROR_RESULT]
    assert "T404" not in codes(inspection)


def test_other_lists_are_one_result() -> None:
    for calls, text in ((2, "[1]"), (2, "[1, 2, 3]"), (1, "[1, 2]"), (2, "[1, 2"), (2, "1, 2")):
        chain = chain_of(*called(calls), f"result: {text}", "say: Done.")
        assert [step.result.content for step in chain.steps if step.result] == [text]
