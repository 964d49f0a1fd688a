"""On a broken trace one cause is reported once, with a count, and nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import inspection_of
from weaklink.inspector.chain.grouping import by_cause, cause_of, causes_of, grouped, with_count
from weaklink.inspector.chain.steps import Chain, Status
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.rules import conversation, schema
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.text import Range

CALL = 'call: get {"city": "Oslo"}'
ERROR = "result: Error: no such city"


def told(diagnostics: list[Diagnostic]) -> list[str]:
    return [f"{diagnostic.rule.code} {diagnostic.fault.message}" for diagnostic in diagnostics]


def test_a_loop_of_failing_calls_is_a_line_for_each_cause() -> None:
    inspection = inspection_of(*[CALL, ERROR] * 9, "say: It is sunny.")
    assert inspection.chain.status is Status.BROKEN
    groups = grouped(inspection.diagnostics, inspection.chain)
    assert {group.first.rule.code: len(group.more) for group in groups} == {"T406": 8, "T408": 7}
    assert groups[0].shown.fault.message == (
        "`get` answered with an error, judged by its text only: `Error: no such city`. (and 8 more of this kind)"
    )
    assert groups[0].shown.location == groups[0].first.location


def test_other_tools_and_other_arguments_are_other_causes() -> None:
    lines = [f'call: {tool} {{"city": "Oslo"}}' for tool in ("get", "put", "get")]
    inspection = inspection_of(*[line for call in lines for line in (call, ERROR)], "say: It is sunny.")
    errors = [group for group in grouped(inspection.diagnostics, inspection.chain) if group.first.rule.code == "T406"]
    assert [len(group.more) for group in errors] == [1, 0]


def test_a_trace_that_is_not_broken_lists_every_diagnostic() -> None:
    good = 'call: get {"city": "Oslo, Norway"}', "result: 4 degrees"
    inspection = inspection_of(*[CALL, ERROR] * 3, *good, "say: 4 degrees.")
    assert inspection.chain.status is Status.RECOVERED
    assert [group.shown for group in grouped(inspection.diagnostics, inspection.chain)] == list(inspection.diagnostics)


def diagnostic_of(rule_index: int, turn: int, path: str | None, message: str) -> Diagnostic:
    return Fault(RULES[rule_index], Range(0, 1), message, path=path).at(turn, "text")


MADE = st.lists(
    st.builds(
        diagnostic_of,
        st.integers(0, len(RULES) - 1),
        st.integers(1, 5),
        st.sampled_from([None, "/a", "/a/0", "/a/12", "/b/3/c"]),
        st.sampled_from(["`f` did it.", "`g` did it.", "it happened", "`", ""]),
    ),
    max_size=30,
)


@given(MADE, st.sampled_from(Status))
def test_groups_keep_every_diagnostic_once_and_agree_with_their_indices(made: list[Diagnostic], status: Status) -> None:
    groups = grouped(made, Chain((), status))
    kept = [diagnostic for group in groups for diagnostic in (group.first, *group.more)]
    assert sorted(map(id, kept)) == sorted(map(id, made))
    order = {id(diagnostic): index for index, diagnostic in enumerate(made)}
    firsts = [order[id(group.first)] for group in groups]
    if status is not Status.BROKEN:
        assert [group.more for group in groups] == [()] * len(made)
        return
    assert all(cause_of(diagnostic) == cause_of(group.first) for group in groups for diagnostic in group.more)
    assert len({cause_of(group.first) for group in groups}) == len(groups)
    assert all(
        order[id(diagnostic)] > first for group, first in zip(groups, firsts, strict=True) for diagnostic in group.more
    )
    causes = causes_of(made)
    assert list(causes.firsts) == firsts == sorted(firsts)
    assert list(causes.more) == [len(group.more) for group in groups]
    assert [cause_of(made[causes.firsts[row]]) for row in causes.row_of] == [
        cause_of(diagnostic) for diagnostic in made
    ]
    assert by_cause(made, lambda diagnostic: diagnostic, is_broken=True) == [
        [group.first, *group.more] for group in groups
    ]


def test_the_index_in_a_list_is_no_other_cause() -> None:
    def wrong(path: str) -> Diagnostic:
        return Fault(schema.WRONG_TYPE, Range(0, 1), "x", path=path).at(1, "text")

    assert cause_of(wrong("/rows/0/day")) == cause_of(wrong("/rows/17/day")) != cause_of(wrong("/rows/0/hour"))


def test_one_more_is_counted_and_none_changes_nothing() -> None:
    diagnostic = Fault(conversation.ERROR_RESULT, Range(0, 1), "`f` failed.").at(1, "text")
    assert with_count(diagnostic, 0) is diagnostic
    assert with_count(diagnostic, 1).fault.message == "`f` failed. (and 1 more of this kind)"
    assert with_count(diagnostic, 1234).fault.message == "`f` failed. (and 1,234 more of this kind)"
