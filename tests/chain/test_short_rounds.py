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

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Chain

FOLDER = Path(__file__).parents[1] / "cases" / "recoveries" / "rounds"
ROUNDS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
GOALS = {"plain successes": 99, "status": 95, "kind": 95, "became": 90, "said": 90, "break": 90}


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


@cache
def sessions(name: str) -> list[tuple[dict[str, Any], Chain]]:
    return [(row, chain_of(*row["turns"])) for row in rows_of(name)]


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


def test_the_verdicts_of_all_rounds_meet_the_goals() -> None:
    counts: dict[str, Counter[bool]] = {measure: Counter() for measure in GOALS}
    for name in ROUNDS:
        for row, chain in sessions(name):
            for measure, is_right in comparisons(row, chain):
                counts[measure][is_right] += 1
    reached = {measure: 100 * count[True] / count.total() for measure, count in counts.items()}
    assert {measure: share for measure, share in reached.items() if share < GOALS[measure]} == {}


def test_no_healthy_session_of_a_round_is_called_broken() -> None:
    healthy = [(name, *pair) for name in ROUNDS for pair in sessions(name) if "broken" not in pair[0]["status"]]
    assert [(name, row["name"]) for name, row, chain in healthy if chain.broken is not None] == []
