"""Each decision has a rule with a name: it is documented, and it decides something."""

import json
import re
from functools import cache
from pathlib import Path

from tests.chain.building import chain_of
from tests.chain.test_short_rounds import ROUNDS, sessions
from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.chain.verdict_rules import (
    KIND_RULES,
    RECOVERY_RULES,
    RULE_MEANINGS,
    SAID_RULES,
    STATUS_RULES,
    VerdictRule,
)

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases" / "recoveries"
_ROW = re.compile(r"^\| `([\w-]+)` \| (.+) \|$", re.MULTILINE)

COMMIT = 'Bash {"command": "git commit -m x"}'
RARE: dict[VerdictRule, tuple[str, ...]] = {
    VerdictRule.ACCEPTED: (
        'say: <tool_call>\n{"name": "f", "arguments": {"a": 1}}',  # without its closer
        "result: 4 degrees",
        "say: It has 4 degrees.",
    ),
    VerdictRule.ASKED_WHETHER: (
        "user: Is there a table `old_orders`? Otherwise do nothing.",
        'call a: describe {"table": "old_orders"}',
        'result a: Error: relation "old_orders" does not exist',
        "say: No, there is none.",
    ),
    VerdictRule.SHOWN_LATER: (
        'call a: Write {"file_path": "plot.py", "content": "print(1)"}',
        'call b: Bash {"command": "python plot.py"}',
        "result b: 1",
        "say: The script prints 1.",
    ),
    VerdictRule.SURER_FAILURE: (
        'call a: lookup_customer {"name": "Ann"}',
        "result a: Error: nobody is called so",
        f"call b: {COMMIT}",
        "result b!: Exit code 1\nhook failed",
        "say: All done, it is committed.",
    ),
    VerdictRule.NO_LAST_ANSWER: ('call a: Read {"file_path": "a.py"}', "result a: x = 1"),
    VerdictRule.UNREAD_LANGUAGE: (
        'call a: drukat {"dokuments": "ceks-77.pdf"}',
        "result a!: printer_offline",
        "say: Čeku nevarēja izdrukāt, jo drukātājs ir izslēgts.",
    ),
    VerdictRule.STOPPED_EARLY: (f"call a: {COMMIT}", "result a!: The user rejected this command."),
}


@cache
def chains() -> list[Chain]:
    rows = map(json.loads, (CASES / "sessions.jsonl").read_text("utf-8").splitlines())
    own = (*(row["turns"] for row in rows), *(("user: Commit it.", *lines) for lines in RARE.values()))
    return [*(chain_of(*turns) for turns in own), *(chain for name in ROUNDS for _, chain in sessions(name))]


def test_the_documentation_has_each_rule_with_its_meaning() -> None:
    text = (ROOT / "docs" / "verdicts.md").read_text("utf-8").partition("## The rules by name")[2]
    assert dict(_ROW.findall(text)) == {rule.value: meaning for rule, meaning in RULE_MEANINGS.items()}
    assert list(RULE_MEANINGS) == list(VerdictRule)


def test_a_step_that_is_no_plain_success_has_a_rule_for_each_decision() -> None:
    for chain in chains():
        assert chain.rule in STATUS_RULES
        for step in chain.steps:
            expected = [
                *([KIND_RULES] if step.result_kind is not None else []),
                *([RECOVERY_RULES] if step.outcome.failed else []),
                *([SAID_RULES] if step.said is not None or VerdictRule.UNREAD_LANGUAGE in step.rules else []),
            ]
            assert [rule in table for rule, table in zip(step.rules, expected, strict=True)] == [True] * len(expected)


def test_each_rule_decides_a_session() -> None:
    deciding = {
        rule for chain in chains() for rule in (chain.rule, *(rule for step in chain.steps for rule in step.rules))
    }
    assert set(VerdictRule) - deciding == set()
