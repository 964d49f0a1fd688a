"""What became of a failure, in short sessions of many agents and tools.

Each row of `tests/cases/recoveries/sessions.jsonl` was written with its label before the rules were. `became` are the
recoveries that the definitions allow, `by` the call that repaired it; a row has `differs` where the rules are known to
disagree with the label.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chain.building import chain_of

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "recoveries" / "sessions.jsonl").read_text("utf-8").splitlines()
]


def agrees(row: dict[str, Any]) -> bool:
    chain = chain_of(*row["turns"])
    if (chain.broken is not None) is not row["broken"]:
        return False
    first = next((step for step in chain.steps if step.outcome.failed), None)
    if not row["became"]:
        return True
    if first is None or first.recovery is None or first.recovery.value not in row["became"]:
        return False
    return row["by"] is None or first.recovered_by == row["by"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_failure_became_what_its_label_says(row: dict[str, Any]) -> None:
    assert agrees(row) is not row.get("differs", False)


def test_no_healthy_session_is_called_broken_but_the_known_ones() -> None:
    called = [row["name"] for row in ROWS if not row["broken"] and chain_of(*row["turns"]).broken is not None]
    assert set(called) <= {row["name"] for row in ROWS if row.get("differs")}


def test_the_rules_agree_with_most_labels() -> None:
    assert sum("differs" in row for row in ROWS) <= len(ROWS) // 6
