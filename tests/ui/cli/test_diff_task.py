"""`diff --task`: all runs of a task, the good against the bad ones, and where these part most often."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from tests.ui.conftest import Run
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Outcome, Provenance, Trace
from weaklink.storage.store import open_store
from weaklink.ui.cli.diff import task_filter
from weaklink.ui.views.run_diff import ComparedRun
from weaklink.ui.views.styled_text import plain
from weaklink.ui.views.task_diff import compare_task, task_diff_lines, task_diff_object

GOOD = ('call: find {"q": "a"}', "result: 1", 'call: refund {"order": 17}', "result: fine", "say: Done.")
EARLY = ("say: I cannot.",)
WRONG = ('call: find {"q": "a"}', "result: 1", 'call: refund {"order": 71}', "result: fine", "say: Done.")
LONGER = (*GOOD[:-1], 'call: mail {"to": "a"}', "result: sent", "say: Done.")


def run(called: str, lines: tuple[str, ...], reward: float | None = None) -> ComparedRun:
    outcome = Outcome(reward=reward) if reward is not None else None
    trace = trace_of("user: Refund me.", *lines, outcome=outcome)
    return ComparedRun(called, trace, inspect_trace(trace))


def test_the_bad_runs_part_where_most_of_them_differ_from_the_typical_good_run() -> None:
    runs = [
        run("1", LONGER, 1.0),
        run("2", GOOD, 1.0),
        run("3", WRONG, 0.0),
        run("4", WRONG, 0.0),
        run("5", EARLY, 0.0),
        run("6", GOOD, 1.0),
        run("7", GOOD, 0.0),
        run("8", GOOD),
    ]
    comparison = compare_task(runs)
    assert comparison.reference.called == "2"
    assert task_diff_object(comparison) == {
        "divided_by": "outcome",
        "good": ["1", "2", "6"],
        "bad": ["3", "4", "5", "7"],
        "unknown": ["8"],
        "reference": "2",
        "places": [
            {
                "step": 2,
                "bad": 2,
                "good": 0,
                "runs": [{"called": called, "good": False, "did": "`refund(order=71)`"} for called in "34"],
            },
            {"step": 1, "bad": 1, "good": 0, "runs": [{"called": "5", "good": False, "did": "no further call"}]},
            {"step": None, "bad": 0, "good": 1, "runs": [{"called": "1", "good": True, "did": '`mail(to="a")`'}]},
        ],
    }
    lines = [plain(line) for line in task_diff_lines(comparison, 120)]
    assert lines[0] == "8 runs: 3 good, 4 bad, 1 without a verdict, by the source's outcome"
    assert "1 bad run makes the same calls." in lines
    assert "step 2: 2 of 4 bad, 0 of 3 good runs diverge here" in lines
    assert "  ✖ 2 bad: `refund(order=71)`  [3, 4]" in lines
    assert lines[-1] == "`weaklink diff 2 3` shows one of them."


def test_without_outcomes_the_status_divides_and_without_a_good_run_all_are_compared() -> None:
    broken = ('call: find {"q": ', "say: Done.")
    comparison = compare_task([run("1", broken), run("2", broken), run("3", (*broken[:1], *broken))])
    assert (len(comparison.good), len(comparison.bad), comparison.by_outcome) == (0, 3, False)
    assert "there is no good one" in plain(
        next(line for line in task_diff_lines(comparison, 120) if "there" in plain(line))
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "id_", "is_found"),
    [
        ("airline task 46, trial 1", ExternalId("id", "x"), True),
        ("task 46", ExternalId("id", "x"), True),
        ("", ExternalId("task_id", "46"), True),
        ("", ExternalId("sample", "46"), True),
        ("46", ExternalId("id", "x"), True),
        ("airline task 146, trial 1", ExternalId("id", "x"), False),
        ("task 4", ExternalId("task_id", "4"), False),
        ("", ExternalId("line", "46"), False),
    ],
)
def test_a_task_is_known_by_its_id_or_its_name(tmp_path: Path, name: str, id_: ExternalId, is_found: bool) -> None:
    trace = replace(trace_of("user: Hi.", "say: Hi."), name=name, external_ids=(id_,))
    with open_store(tmp_path / "t.db") as store:
        store.save([(trace, inspect_trace(trace))])
        assert bool(store.paging().count(task_filter("46"))) == is_found


def test_the_command_compares_the_runs_of_a_task_and_refuses_one_run(weaklink: Run, tmp_path: Path) -> None:
    def stored(number: int, lines: tuple[str, ...]) -> Trace:
        made = trace_of("user: Refund me.", *lines, outcome=Outcome(reward=float(lines is GOOD)))
        return replace(made, external_ids=(ExternalId("task_id", str(number // 3)), ExternalId("id", str(number))))

    with open_store(tmp_path / "t.db") as store:
        traces = [stored(number, lines) for number, lines in enumerate((GOOD, WRONG, WRONG, GOOD))]
        traces.append(
            replace(stored(0, WRONG), provenance=Provenance(source="ask"), external_ids=(ExternalId("task_id", "0"),))
        )
        store.save((trace, inspect_trace(trace)) for trace in traces)
    done = weaklink("diff", "--task", "0", "--json", "--db", "t.db")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [location["bad"] for location in json.loads(done.stdout)["places"]] == [
        2
    ]  # without the answer of the experiment
    forks = weaklink("diff", "--task", "0", "--filter", "forks:yes", "--json", "--db", "t.db")
    assert [location["bad"] for location in json.loads(forks.stdout)["places"]] == [3]
    diff = weaklink("diff", "--task", "1", "--db", "t.db")
    assert diff.returncode == 2
    assert b"1 run of the task `1`" in diff.stderr
    both = weaklink("diff", "1", "--filter", "status:ok", "--db", "t.db")
    assert both.returncode == 2
