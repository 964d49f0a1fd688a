"""Lists show forks below their parent, as a tree; what is no fork of a listed trace keeps its place."""

import re
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from tests.ui.experiments.asking import broken_trace, run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, ParentTrace, ParentWhy, Part
from weaklink.storage.store import open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.tui.diff_screen import chosen_runs
from weaklink.ui.views.trace_columns import ListedTrace, forks_grouped
from weaklink.ui.web.trace_listing import trace_rows


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> TraceSummary:
    folder = tmp_path_factory.mktemp("base") / "t.db"
    with open_store(folder) as store:
        trace = broken_trace("openai")
        store.save([(trace, inspect_trace(trace))])
        return store.summary(1)


def _row(base: TraceSummary, id_: int, parent: str = "", why: ParentWhy = ParentWhy.FORK) -> ListedTrace:
    above = ParentTrace(ExternalId("recording", parent), why) if parent else None
    return ListedTrace(replace(base, id=id_, external_ids={"recording": f"r{id_}"}, parent=above), 0.0)


def _tree(rows: list[ListedTrace]) -> list[tuple[int, int]]:
    return [(row.summary.id, row.depth) for row in forks_grouped(rows)]


def test_forks_are_below_their_parent_and_forks_of_forks_below_those(base: TraceSummary) -> None:
    rows = [_row(base, 5, "r3"), _row(base, 4), _row(base, 3, "r1"), _row(base, 2, "r1"), _row(base, 1)]
    assert _tree(rows) == [(4, 0), (1, 0), (3, 1), (5, 2), (2, 1)]


def test_a_parent_that_is_not_listed_and_other_relations_change_nothing(base: TraceSummary) -> None:
    rows = [_row(base, 3, "elsewhere"), _row(base, 2, "r1", ParentWhy.SUBAGENT), _row(base, 1)]
    assert _tree(rows) == [(3, 0), (2, 0), (1, 0)]


def test_no_row_is_lost_whatever_the_relations(base: TraceSummary) -> None:
    random = Random(3)
    for _ in range(100):
        rows = [_row(base, id_, random.choice(["", f"r{random.randint(1, 6)}"])) for id_ in range(1, 7)]
        assert sorted(row.summary.id for row in forks_grouped(rows)) == [1, 2, 3, 4, 5, 6]


def test_the_command_lists_forks_below_their_parent(tmp_path: Path) -> None:
    parent = broken_trace("openai")
    fork = replace(
        parent,
        name="asked again",
        external_ids=(ExternalId("recording", "child"),),
        parent=ParentTrace(parent.external_ids[0], ParentWhy.FORK),
    )
    with open_store(tmp_path / "t.db") as store:
        store.save([(trace, inspect_trace(trace)) for trace in (parent, replace(parent, external_ids=()), fork)])
    printed = run("list", "--color", "always", "--db", str(tmp_path / "t.db")).stdout
    listed = re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()
    row = next(number for number, line in enumerate(listed) if "└ fork: asked again" in line)
    assert listed[row - 1].split()[:3] == ["✖", "broken", "1"]


def test_a_fork_is_compared_with_its_parent_where_no_trace_is_marked(tmp_path: Path) -> None:
    parent = broken_trace("openai")
    fork = replace(
        parent,
        external_ids=(ExternalId("recording", "child"),),
        parent=ParentTrace(parent.external_ids[0], ParentWhy.FORK),
    )
    orphan = replace(
        fork,
        external_ids=(ExternalId("recording", "orphan"),),
        parent=ParentTrace(ExternalId("recording", "gone"), ParentWhy.FORK),
    )
    with open_store(tmp_path / "t.db") as store:
        store.save([(trace, inspect_trace(trace)) for trace in (parent, fork, orphan)])
        assert chosen_runs(store, id=2).ids == (1, 2)
        assert chosen_runs(store, id=1).ids == (1,)
        assert chosen_runs(store, id=3).ids == (3,)
        store.marks.put(3)
        assert chosen_runs(store, id=2).ids == (3, 2)


def test_the_dashboards_list_has_forks_below_their_parent(base: TraceSummary) -> None:
    rows = [_row(base, 5, "r3"), _row(base, 4), _row(base, 3, "r1"), _row(base, 1)]
    with patch("weaklink.ui.web.trace_listing.minimaps", lambda traces: {}):
        assert [row.key for row in trace_rows([row.summary for row in rows])] == ["4", "1", "3", "5"]


def test_latest_is_the_newest_trace_that_is_no_fork(tmp_path: Path) -> None:
    parent = broken_trace("openai")
    above = ParentTrace(parent.external_ids[0], ParentWhy.FORK)
    forks = [
        replace(
            parent, name=f"asked again {number}", external_ids=(ExternalId("recording", f"{number}"),), parent=above
        )
        for number in range(3)
    ]
    with open_store(tmp_path / "t.db") as store:
        store.save([(fork, inspect_trace(fork)) for fork in forks[:1]])
        assert store.summary("latest").id == 1  # where there are only forks, the newest of them
        store.save([(trace, inspect_trace(trace)) for trace in (parent, *forks[1:])])
        assert store.summary("latest").id == 2


def test_the_command_prints_the_requests_of_two_traces_side_by_side(tmp_path: Path) -> None:
    first = broken_trace("openai")
    asked = replace(first.turns[1], parts=(Part("text", "Is it cold in Oslo?"),))
    second = replace(first, turns=(first.turns[0], asked, first.turns[2]), external_ids=())
    with open_store(tmp_path / "t.db") as store:
        store.save([(trace, inspect_trace(trace)) for trace in (first, second)])
    compare = ("diff", "1", "2", "--db", str(tmp_path / "t.db"), "--requests")
    printed = run(*compare, "3").stdout
    assert re.search(r"-   Is it warm in Oslo\? +│ \+   Is it cold in Oslo\?", printed)
    assert run(*compare, "3,3").stdout == printed
    assert (
        run(*compare, "x").exit_code == run(*compare, "3,3,3").exit_code == run(*compare, "3", "--json").exit_code == 2
    )
