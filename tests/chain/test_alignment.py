"""Runs side by side: every step in one row, as many identical calls as can be, and the first place where they part."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of, trace_of
from tests.counted_columns import Counted, Looks
from tests.examples import in_the_gate
from tests.strategies import texts
from weaklink.inspector.chain import sequence_diff as alignment_lcs
from weaklink.inspector.chain.alignment import Alignment, Sameness, align, run_input_differences
from weaklink.inspector.chain.sequence_diff import DiffPieceKind, anchored_pairs, common_pairs, diff_texts
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.model import Generation, Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.model.columns import Entries


def run(*calls: str) -> Entries[Step]:
    """The steps of a run: `search Oslo` calls `search` with that value; `search Oslo: none` says what came back."""
    lines = ["user: Go."]
    for call in calls:
        made, _, result = call.partition(": ")
        name, _, value = made.partition(" ")
        lines += [f"call: {name} {json.dumps({'q': value})}", f"result: {result or 'fine'}"]
    return chain_of(*lines).steps


def numbers(alignment: Alignment) -> list[tuple[int | None, ...]]:
    return [tuple(step.number if step is not None else None for step in row.steps) for row in alignment.rows]


CALLS = st.lists(st.sampled_from(["a 1", "a 2", "b 1", "b 2: gone", "b 2", "c 1"]), max_size=7)


@in_the_gate(20, most=200)  # whole chains are analysed
@given(CALLS)
def test_a_run_beside_itself_is_all_the_same(calls: list[str]) -> None:
    steps = run(*calls)
    alignment = align([steps, steps, steps])
    assert numbers(alignment) == [(step.number,) * 3 for step in steps]
    assert all(row.is_same for row in alignment.rows)
    assert alignment.divergence is None


@in_the_gate(20, most=200)
@given(st.lists(CALLS, min_size=1, max_size=4))
def test_every_step_of_every_run_stands_in_one_row_in_order(calls: list[list[str]]) -> None:
    runs = [run(*run_calls) for run_calls in calls]
    alignment = align(runs)
    for index, steps in enumerate(runs):
        assert [step for row in alignment.rows if (step := row.steps[index]) is not None] == list(steps)
    assert all(len(row.steps) == len(row.sameness) == len(runs) for row in alignment.rows)
    assert all(any(row.steps) for row in alignment.rows)
    assert (alignment.divergence is None) == all(row.is_same for row in alignment.rows)
    assert alignment.rows.differing == sum(not row.is_same for row in alignment.rows)
    assert [alignment.rows.is_same(index) for index in range(len(alignment.rows))] == [
        row.is_same for row in alignment.rows
    ]


@in_the_gate(20, most=200)
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_steps_that_are_made_anew_at_every_look_are_aligned_like_those_that_are_there(calls: list[list[str]]) -> None:
    runs = [run(*run_calls) for run_calls in calls]
    assert align([Counted(steps, Looks()) for steps in runs]) == align(runs)


@in_the_gate(20, most=200)
@given(CALLS, st.integers(0, 7))
def test_an_inserted_step_shifts_nothing_else(calls: list[str], position: int) -> None:
    position = min(position, len(calls))
    alignment = align([run(*calls), run(*calls[:position], "new 1", *calls[position:])])
    assert [row.steps[0] is None for row in alignment.rows] == [index == position for index in range(len(calls) + 1)]
    assert all(row.is_same for index, row in enumerate(alignment.rows) if index != position)
    assert alignment.divergence is not None
    assert (alignment.divergence.row, alignment.divergence.what) == (position, Sameness.MISSING)


@pytest.mark.parametrize(
    ("others", "what", "row"),
    [
        (["a 1", "b 2", "c 1"], Sameness.CALL, 1),
        (["a 1", "b 1: gone", "c 1"], Sameness.RESULT, 1),
        (["a 1", "b 1"], Sameness.MISSING, 2),
        (["a 1", "d 1", "c 1"], Sameness.MISSING, 1),
        ([], Sameness.MISSING, 0),
    ],
)
def test_runs_part_where_they_are_no_longer_equal(others: list[str], what: Sameness, row: int) -> None:
    alignment = align([run("a 1", "b 1", "c 1"), run(*others)])
    assert alignment.divergence is not None
    assert (alignment.divergence.what, alignment.divergence.row) == (what, row)


def test_the_divergence_holds_what_each_run_did_instead() -> None:
    parted = align([run("a 1", "b 1"), run("a 1", "d 1", "b 1"), run("a 1")]).divergence
    assert parted is not None
    assert [step.call.name if step is not None else None for step in parted.steps] == ["b", "d", None]


def test_identical_calls_come_before_those_of_one_tool() -> None:
    assert numbers(align([run("a 1", "a 2"), run("a 2")])) == [(1, None), (2, 1)]


def test_calls_after_the_same_thing_come_before_others_of_their_tool() -> None:
    first = chain_of("user: Go.", 'call: read {"path": "x.py"}', 'call: read {"path": "y.py"}').steps
    other = chain_of("user: Go.", 'call: read {"path": "y.py", "limit": 5}').steps
    assert numbers(align([first, other])) == [(1, None), (2, 1)]


def test_steps_that_the_first_run_lacks_are_aligned_among_the_others() -> None:
    alignment = align([run("a 1"), run("a 1", "b 1"), run("a 1", "b 1", "c 1")])
    assert numbers(alignment) == [(1, 1, 1), (None, 2, 2), (None, None, 3)]


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12), st.sampled_from([1, 10**9]))
def test_the_common_subsequence_is_as_long_as_can_be(elements: list[int], other: list[int], max_bits: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(alignment_lcs, "_MAX_TABLE_BITS", max_bits)  # one: every table is halved
        pairs = common_pairs(elements, other)
    assert [elements[mine] for mine, _ in pairs] == [other[theirs] for _, theirs in pairs]
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
    assert len(pairs) == _longest(elements, other)


@given(st.lists(st.integers(0, 9), max_size=12), st.lists(st.integers(0, 9), max_size=12), st.integers(0, 30))
def test_with_less_work_the_pairs_are_fewer_but_true(elements: list[int], other: list[int], max_work: int) -> None:
    pairs = anchored_pairs(elements, other, max_work)
    assert [elements[mine] for mine, _ in pairs] == [other[theirs] for _, theirs in pairs]
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
    assert len(pairs) <= _longest(elements, other)


def test_elements_that_stand_once_are_matched_with_little_work() -> None:
    elements = list(range(1_000))
    assert anchored_pairs(elements, [-1, *elements[:500], -2, *elements[500:]], 10)[499:501] == [(499, 500), (500, 502)]


def _longest(elements: list[int], other: list[int]) -> int:
    """By the usual table."""
    table = [[0] * (len(other) + 1) for _ in range(len(elements) + 1)]
    for row, mine in enumerate(elements):
        for column, theirs in enumerate(other):
            best = max(table[row][column + 1], table[row + 1][column])
            table[row + 1][column + 1] = table[row][column] + 1 if mine == theirs else best
    return table[-1][-1]


@given(texts(), texts(), texts())
def test_the_pieces_make_up_both_texts(text: str, other: str, common: str) -> None:
    text, other = common + text, common + other
    pieces = diff_texts(text, other)
    assert "".join(piece.text for piece in pieces if piece.kind is not DiffPieceKind.ADDED) == text
    assert "".join(piece.text for piece in pieces if piece.kind is not DiffPieceKind.REMOVED) == other
    assert all(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("text", "other", "changed"),
    [
        ('{"order": 17}', '{"order": 71}', [("removed", "17"), ("added", "71")]),
        ("from New York on", "from San Jose on", [("removed", "New York"), ("added", "San Jose")]),
        ("a\nb\nc\n", "a\nc\n", [("removed", "b\n")]),
        ("same", "same", []),
    ],
)
def test_whole_words_change_and_neighbours_together(text: str, other: str, changed: list[tuple[str, str]]) -> None:
    pieces = [(piece.kind.value, piece.text) for piece in diff_texts(text, other)]
    assert [piece for piece in pieces if piece[0] != "same"] == changed


def asked(**facts: object) -> Trace:
    """A trace that was asked in one way; `system`, `user`, `tools` and the facts of its generation may be said."""
    system, user = str(facts.pop("system", "Be kind.")), str(facts.pop("user", "Hello."))
    tools = tuple(ToolDefinition(name, raw=name) for name in str(facts.pop("tools", "f")).split())
    return Trace(
        (
            Turn(Role.SYSTEM, (Part("text", system),)),
            Turn(Role.USER, (Part("text", user),)),
            Turn(Role.ASSISTANT, (Part("text", "Hi."),), generation=Generation(tools=tools, **facts)),  # type: ignore[arg-type]  # the test's own words
        )
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (asked(answered_model="m2", parameters='{"t": 0}'), "A ran on `m1`, B on `m2`."),
        (asked(answered_model="m1", parameters='{"t": 1}'), "`t` is `0` in A and `1` in B."),
        (asked(answered_model="m1", parameters='{"p": 1}'), "`p` is not set in A and `1` in B."),
        (
            asked(answered_model="m1", system="Be mean."),
            "The system prompts differ from character 4: A has `Be kind.`, B `Be mean.`.",
        ),
        (asked(answered_model="m1", tools="f g"), "`g` was offered to B and not to A."),
        (
            asked(answered_model="m1", user="Hello. And?"),
            "The first user message differs from character 7: A has nothing more, B `Hello. And?`.",
        ),
    ],
)
def test_what_runs_were_asked_differently_is_one_sentence(other: Trace, message: str) -> None:
    first = asked(answered_model="m1", parameters='{"t": 0}')
    assert message in [difference.message for difference in run_input_differences([first, other], align([(), ()]))]


def test_runs_that_were_asked_alike_are_told_together() -> None:
    runs = [asked(answered_model=model) for model in ("m1", "m2", "m3", "m2")]
    differences = run_input_differences(runs, align([()] * 4))
    assert [(difference.runs, difference.message) for difference in differences] == [
        ((0, 1, 3), "A ran on `m1`, B and D on `m2`."),
        ((0, 2), "A ran on `m1`, C on `m3`."),
    ]


def test_what_a_source_does_not_keep_is_no_difference() -> None:
    bare = Trace((Turn(Role.USER, (Part("text", "Hello."),)), Turn(Role.ASSISTANT, (Part("text", "Hi."),))))
    assert run_input_differences([asked(answered_model="m", parameters='{"t": 0}'), bare], align([(), ()])) == []


def test_the_users_later_words_count_up_to_where_the_runs_part() -> None:
    lines = ("user: Go.", 'call: a {"q": "1"}', "result: fine", "say: And?", "user: On.", 'call: b {"q": "1"}')
    changed = (*lines[:4], "user: Back.", 'call: c {"q": "1"}')
    steps = [chain_of(*lines).steps, chain_of(*changed).steps]
    differences = run_input_differences([trace_of(*lines), trace_of(*changed)], align(steps))
    assert [(difference.what.value, difference.runs) for difference in differences] == [("later_user", (0, 1))]
    early = [chain_of('call: a {"q": "1"}').steps, chain_of('call: a {"q": "2"}').steps]
    assert run_input_differences([trace_of(*lines), trace_of(*changed)], align(early)) == []
