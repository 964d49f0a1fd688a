"""What an agent said of a failure, in many words: sentences that report it, claim the opposite, or do neither.

`tests/cases/statements/sentences.jsonl` has the failed calls first, then the sentences, each written before the rules
were, with the label of its author. `in` is `reply` (the first words after the failure) or `final` (the last ones); a
row has `verdict` where the rules are known to disagree with the label. `wishes.jsonl` has sessions in twelve languages
whose user had two wishes, of which the first failed; the statement is about the one or the other. `stories.jsonl` has
whole sessions of coding agents with one failure each, and last statements in many languages: the rules were first right
for 72.4 % of 199, then for 71.3 % of 157 new ones.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.json_text import write_json

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "statements" / "sentences.jsonl").read_text("utf-8").splitlines()
]
FAILURES = {row["scenario"]: row for row in ROWS if "scenario" in row}
SENTENCES = [row for row in ROWS if "about" in row]
NEUTRAL = "You have three open orders."


def said_of(row: dict[str, Any]) -> str | None:
    failure = FAILURES[row["about"]]
    lines = [
        f"user: {failure['user']}",
        f"call a: {failure['tool']} {write_json(failure['arguments'])}",
        f"result a: {failure['result']}",
        *([f"say: {row['sentence']}"] if row["in"] == "reply" else []),
        'call b: list_orders {"customer": "c-17"}',
        'result b: [{"id": "7001"}, {"id": "7002"}]',
        f"say: {row['sentence'] if row['in'] == 'final' else NEUTRAL}",
    ]
    step = chain_of(*lines).steps[0]
    assert step.result_kind in ("failure", "finding")
    return step.said and step.said.value


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: f"{row['about']}-{row['in']}-{row['sentence'][:40]}")
def test_a_sentence_reports_claims_or_does_neither(row: dict[str, Any]) -> None:
    assert said_of(row) == row.get("verdict", row["said"])


WISHES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "statements" / "wishes.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", WISHES, ids=lambda row: row["sentence"][:40])
def test_a_statement_on_one_of_two_wishes_says_nothing_of_the_other(row: dict[str, Any]) -> None:
    flag = "!" if row["result"].startswith("Exit code") else ""
    lines = (f"user: {row['user']}", f"call a: {row['call']}", f"result a{flag}: {row['result']}")
    others = 'call b: list_files {"dir": "."}', 'result b: ["x1", "x2"]'
    said = chain_of(*lines, *others, f"say: {row['sentence']}").steps[0].said
    assert (said and said.value) == row.get("verdict", row["said"])


ROWS_OF_STORIES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "statements" / "stories.jsonl").read_text("utf-8").splitlines()
]
STORIES = {row["story"]: row for row in ROWS_OF_STORIES if "story" in row}
ENDS = [row for row in ROWS_OF_STORIES if "about" in row]


@pytest.mark.parametrize("row", ENDS, ids=lambda row: f"{row['about']}-{row['sentence'][:40]}")
def test_the_last_statement_of_a_story_reports_claims_or_does_neither(row: dict[str, Any]) -> None:
    story = STORIES[row["about"]]
    said = chain_of(*story["turns"], f"say: {row['sentence']}").steps[story["step"] - 1].said
    assert (said and said.value) == row.get("verdict", row["said"])


@pytest.mark.parametrize(("rows", "share"), [([*SENTENCES, *WISHES], 20), (ENDS, 10)], ids=["sentences", "stories"])
def test_the_rules_agree_with_nearly_all_labels(rows: list[dict[str, Any]], share: int) -> None:
    assert sum("verdict" in row for row in rows) <= len(rows) // share
