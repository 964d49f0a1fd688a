"""Agreement with rounds of short sessions, each of which was labelled before its verdicts were looked at.

The rounds are in `tests/cases/recoveries/rounds`, one session to a line: what the definitions of
`tests/verdicts/README.md` allow for its `status`, and for each labelled result its `kind`, what `became` of it, `by`
which call, and what was `said`. Once measured, a round shaped the rules, so here it only keeps them from getting worse.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Chain

FOLDER = Path(__file__).parents[1] / "cases" / "recoveries" / "rounds"
ROUNDS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
GOALS = {"plain successes": 99, "status": 95, "kind": 95, "became": 90, "said": 90, "break": 90}


@cache
def sessions(name: str) -> list[tuple[dict[str, Any], Chain]]:
    rows = map(json.loads, (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [(row, chain_of(*row["turns"])) for row in rows]


def comparisons(row: dict[str, Any], chain: Chain) -> Iterator[tuple[str, bool]]:
    """Each measure with whether the verdict is one that the label allows."""
    yield "status", chain.status.value in row["status"]
    if row["status"] == ["broken"]:
        yield "break", chain.broken is not None and chain.broken.step == row["break"]
    for step in chain.steps:
        label = row["results"].get(str(step.number))
        kind = step.result_kind and step.result_kind.value
        if label is None:
            yield "plain successes", kind is None
            continue
        yield "kind", kind in label["kind"]
        if "became" in label and (kind in ("failure", "finding") or None not in label["kind"]):
            yield "became", (step.recovery and step.recovery.value) in label["became"]
            yield "said", (step.said and step.said.value) in label["said"]


@pytest.mark.parametrize("measure", GOALS)
def test_the_verdicts_of_all_rounds_meet_the_goals(measure: str) -> None:
    counts = Counter(
        is_right
        for name in ROUNDS
        for row, chain in sessions(name)
        for compared, is_right in comparisons(row, chain)
        if compared == measure
    )
    assert 100 * counts[True] >= GOALS[measure] * counts.total()


@pytest.mark.parametrize("name", ROUNDS)
def test_no_healthy_session_of_a_round_is_called_broken(name: str) -> None:
    healthy = [(row["name"], chain) for row, chain in sessions(name) if "broken" not in row["status"]]
    assert [session for session, chain in healthy if chain.broken is not None] == []
