"""Agreement with labelled sessions: what happened to a call, what became of it, what the agent said, where it broke.

The sessions and labels are in `tests/verdicts/` (its README has the definitions). `tuning` may shape a rule, `held-out`
only measures; the authors of `blind/one` and `blind/two` did not read the rules, which were then tried on both. Beside
the folders of sessions there are lists (`benchmarks.verdict_lists`): of single results (`results/first`), of statements
(`statements/first`), and of short sessions (`recoveries/first`).
"""

import json
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from benchmarks.verdict_lists import FOLDER, LISTS, agreement_of_list, table_of
from weaklink.inspector.chain.steps import Chain, Step
from weaklink.inspector.chain.verdict_rules import KIND_RULES, RECOVERY_RULES, SAID_RULES, VerdictRule
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace

GOALS = {"kind": 95, "became": 90, "said": 90, "status": 95, "break": 90}
_SUFFIX = ".labels.json"
_REPAIRABLE = ("failure", "finding")


class Agreement(Struct):
    """How many verdicts agree with their labels, by measure, and each one that does not, as a line."""

    right: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    right_rules: Counter[VerdictRule] = field(default_factory=Counter)
    wrong_rules: Counter[VerdictRule] = field(default_factory=Counter)
    sessions: int = 0
    healthy: int = 0
    healthy_broken: int = 0

    def add(
        self, measure: str, where: str, verdict: object, allowed: tuple[object, ...], rule: VerdictRule | None = None
    ) -> None:
        """Count one verdict, and for the rule that decided it."""
        if rule is not None:
            (self.right_rules if verdict in allowed else self.wrong_rules)[rule] += 1
        self.total[measure] += 1
        if verdict in allowed:
            self.right[measure] += 1
        else:
            expected = " or ".join(map(str, allowed))
            self.differences.append(f"{where}: {measure} is {verdict}, labelled {expected}")


def verdicts() -> None:
    """Print the agreement of `tuning` and `held-out`; for `tuning` also each difference."""
    _print(("tuning", "held-out"), differences_of=("tuning",))


def print_folders(words: Sequence[str]) -> int:
    """Print the agreement of folders and lists of results or statements; the exit code is 2 for one without labels.

    `--differences` also prints each difference, `--rules` how often each rule was right and wrong.
    """
    folders = [word for word in words if word not in ("--differences", "--rules")]
    lists = [folder for folder in folders if folder in LISTS]
    sessions = [folder for folder in folders if folder not in lists]
    unknown = [folder for folder in sessions if not any((FOLDER / folder).glob(f"*{_SUFFIX}"))]
    if unknown or not folders:
        folders_known = {str(path.parent.relative_to(FOLDER)) for path in FOLDER.rglob(f"*{_SUFFIX}")}
        known = sorted({*folders_known, *LISTS})
        missing = f"no folder with labels is called {', '.join(unknown)}" if unknown else f"{words[0]} needs a folder"
        sys.stderr.write(f"{missing}; there are: {', '.join(known)}\n")
        return 2
    differs = "--differences" in words
    agreements = _print(sessions, differences_of=sessions if differs else ()) if sessions else []
    for name in lists:
        _print_list(name, with_differences=differs)
    if "--rules" in words:
        _print_rules(agreements)
    return 0


def _print_list(name: str, *, with_differences: bool) -> None:
    agreement = agreement_of_list(name)
    print("\n".join(table_of(name, agreement)))
    for line in agreement.differences if with_differences else ():
        print(f"{name}: {line}")


def _print_rules(agreements: Sequence[Agreement]) -> None:
    """How often each rule decided as the labels say, over all folders."""
    right = sum((agreement.right_rules for agreement in agreements), Counter[VerdictRule]())
    wrong = sum((agreement.wrong_rules for agreement in agreements), Counter[VerdictRule]())
    print("| rule | right | wrong |")
    print("| --- | --- | --- |")
    for rule in VerdictRule:
        print(f"| {rule.value} | {right[rule]} | {wrong[rule]} |")


def _print(folders: Sequence[str], *, differences_of: Sequence[str]) -> list[Agreement]:
    print("| folder | sessions | measure | agreement | goal |")
    print("| --- | --- | --- | --- | --- |")
    agreements = {folder: agreement_of(FOLDER / folder) for folder in folders}
    for folder, agreement in agreements.items():
        for measure, total in agreement.total.items():
            right = agreement.right[measure]
            goal = f"{GOALS[measure]} %" if measure in GOALS else ""
            share = 100 * right / total
            print(f"| {folder} | {agreement.sessions} | {measure} | {right} of {total} ({share:.1f} %) | {goal} |")
        called_broken = f"{agreement.healthy_broken} of {agreement.healthy}"
        print(f"| {folder} | {agreement.sessions} | healthy called broken | {called_broken} | 0 |")
    for folder in differences_of:
        for line in agreements[folder].differences:
            print(f"{folder}: {line}")
    return list(agreements.values())


def agreement_of(folder: Path) -> Agreement:
    """The agreement over the sessions of a folder."""
    agreement = Agreement()
    for labels in sorted(folder.glob(f"*{_SUFFIX}")):
        _compare(labels, agreement)
    return agreement


def _compare(labels: Path, agreement: Agreement) -> None:
    labelled = json.loads(labels.read_text(encoding="utf-8"))
    session = labels.with_name(labels.name.removesuffix(_SUFFIX))
    traces = [record for record in read_source(session).records if isinstance(record, Trace)]
    chain = inspect_trace(traces[0]).chain
    agreement.sessions += 1
    if not labelled.get("doubtful"):
        _compare_session(session.name, labelled, chain, agreement)
    expected = {result["call"]: result for result in labelled["results"]}
    for number, step in _numbered(chain, labelled["results"]):
        where = f"{session.name} call {number}"
        result = expected.get(number)
        if result is None:
            if step.result is not None and step.outcome.value in ("ok", "error-result", "rejected", "not-run"):
                agreement.add("plain successes", where, _value(step.result_kind), (None,), _rule_of(step, KIND_RULES))
        elif not result.get("doubtful"):
            _compare_result(where, result, step, agreement)


def _numbered(chain: Chain, results: list[dict[str, Any]]) -> Iterator[tuple[int, Step]]:
    """The steps with the numbers of the labels: by id where it is unique, else by their own."""
    ids = Counter(step.call.id for step in chain.steps)
    by_id = {
        result["call_id"]: result["call"] for result in results if result["call_id"] and ids[result["call_id"]] == 1
    }
    for step in chain.steps:
        yield by_id.get(step.call.id or "", step.number), step


def _compare_session(name: str, labelled: dict[str, Any], chain: Chain, agreement: Agreement) -> None:
    agreement.add("status", name, chain.status.value, (labelled["status"],), chain.rule)
    agreement.healthy += labelled["healthy"]
    if labelled["healthy"] and chain.broken is not None:
        agreement.healthy_broken += 1
        agreement.differences.append(f"{name}: healthy, and called broken at step {chain.broken.step}")
    if labelled["break"] is not None:
        agreement.add("break", name, chain.broken and chain.broken.step, (labelled["break"]["call"],))


def _compare_result(where: str, result: dict[str, Any], step: Step, agreement: Agreement) -> None:
    kind = _value(step.result_kind)
    agreement.add("kind", where, kind, _allowed(result, "kind"), _rule_of(step, KIND_RULES))
    if result["kind"] not in _REPAIRABLE or (kind != result["kind"] and kind in _allowed(result, "kind")):
        return
    became = _value(step.recovery)
    agreement.add("became", where, became, _allowed(result, "became"), _rule_of(step, RECOVERY_RULES))
    if became in _allowed(result, "became") and became == result["became"] and result["by"] is not None:
        agreement.add("by", where, step.recovered_by, (result["by"],))
    agreement.add("said", where, _value(step.said), (result["said"],), _rule_of(step, SAID_RULES))


def _rule_of(step: Step, rules: Container[VerdictRule]) -> VerdictRule | None:
    """The rule of a step that made one of its decisions."""
    return next((rule for rule in step.rules if rule in rules), None)


def _allowed(result: dict[str, Any], key: str) -> tuple[object, ...]:
    return (result[key], result[f"{key}_or"]) if f"{key}_or" in result else (result[key],)


def _value(member: Any) -> object:
    return None if member is None else member.value
