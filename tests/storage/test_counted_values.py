"""A number of a list finds the traces that it counts, also where names differ only in case or contain a star."""

import json
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.storage.conftest import NewStore
from tests.storage.samples import inspected
from weaklink.inspector.chain.metrics_groups import Aspect, GroupKey
from weaklink.inspector.model import Generation, Json, Part, Provenance, Role, ToolDefinition, Trace, Turn
from weaklink.ui.web.filter_bar import broken_terms, field
from weaklink.ui.web.pages.tools import violation_term

_NAMES = ("bash", "Bash", "BASH", "b*", "b*h", "%", "_", "a b", "a\\b", 'say "x"', "straße", "STRASSE", "")
_SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}, "City": {"type": "string"}}}


def _trace(number: int, tools: tuple[str, ...], model: str, source: str, arguments: Json, *, broken: bool) -> Trace:
    calls = [
        f"<tool_call>\n{json.dumps({'name': tool, 'arguments': arguments})[: -1 if broken else None]}\n</tool_call>"
        for tool in tools
    ]
    offered = tuple(ToolDefinition(tool, "", _SCHEMA) for tool in tools if tool)
    generation = Generation(answered_model=model, tools=offered)
    return Trace(
        (
            Turn(Role.USER, (Part("text", "go"),)),
            *(Turn(Role.ASSISTANT, (Part("text", call),), generation=generation) for call in calls),
        ),
        format="hermes",
        provenance=Provenance(source, "log.jsonl", record=f"line {number}"),
    )


_Made: TypeAlias = tuple[tuple[str, ...], str, str, Json, bool]
_TRACES: st.SearchStrategy[_Made] = st.tuples(
    st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map(tuple),
    st.sampled_from(_NAMES),
    st.sampled_from([name for name in _NAMES if name]),
    st.sampled_from([{"city": 1}, {"City": 1}, {"city": "Oslo"}]),
    st.booleans(),
)


@in_the_gate(4)
@given(st.lists(_TRACES, min_size=1, max_size=8))
def test_each_counted_value_finds_the_traces_that_it_counts(new_store: NewStore, made: list[_Made]) -> None:
    store = new_store()
    store.save(
        inspected(
            *(
                _trace(number, tools, model, source, arguments, broken=broken)
                for number, (tools, model, source, arguments, broken) in enumerate(made)
            )
        )
    )

    def count(*terms: str) -> int:
        return len(store.traces(" ".join(terms), limit=100))

    for key in (GroupKey.TOOL, GroupKey.MODEL, GroupKey.SOURCE, GroupKey.FORMAT, GroupKey.CODE):
        for group in store.statistics.figures(by=(key,)):
            (value,) = group.keys
            assert count(field(key.value, value)) == group.traces, (key, value)
            if broken := group.tally("broken").hits:
                assert count(*broken_terms(key.value, value)) == broken, (key, value)
    for violation in store.statistics.violations():
        assert count(violation_term(violation)) == violation.traces, violation
    for tool in store.statistics.breakdown(Aspect.TOOL):
        assert count(field("break_tool", tool.value)) == tool.traces, tool


def test_a_value_that_is_not_stored_in_this_case_is_found_in_another(new_store: NewStore) -> None:
    store = new_store()
    store.save(inspected(_trace(1, ("Bash",), "GPT", "Otel", {"city": 1}, broken=False)))
    (violation,) = store.statistics.violations()
    terms = ("tool:bash", "tool:BA*", "model:gpt", "source:otel", "break_tool:bash", violation_term(violation).lower())
    assert [len(store.traces(term)) for term in terms] == [1] * len(terms)
