"""Agreement with lists of single results: what happened to a call, by its tool, its arguments and what it returned.

A list is a file in `tests/verdicts/results/` (its README has the fields). Each entry becomes a session of three
messages: the request, the call, its result.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import CallHeader, Part, RecordedState, ResultHeader, Role, Trace, Turn

FOLDER = Path(__file__).parents[1] / "tests" / "verdicts" / "results"
KINDS = ("ok", "failure", "finding", "probe", "rejected", "not-run")


class ResultAgreement(Struct):
    """How often each labelled kind got each verdict, and each entry whose verdict differs, as a line."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many entries were compared."""
        return self.verdicts.total()

    @property
    def right(self) -> int:
        """How many entries have the kind that they are labelled with."""
        return sum(count for (labelled, verdict), count in self.verdicts.items() if labelled == verdict)

    @property
    def right_outcomes(self) -> int:
        """How many entries are rightly called a failure or finding, or rightly neither."""
        return sum(count for pair, count in self.verdicts.items() if len({_has_failed(kind) for kind in pair}) == 1)


def results_agreement(path: Path) -> ResultAgreement:
    """The agreement over the entries of a list."""
    agreement = ResultAgreement()
    for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
        step = step_of_entry(entry)
        verdict = step.result_kind.value if step.result_kind is not None else "ok"
        agreement.verdicts[entry["kind"], verdict] += 1
        if verdict != entry["kind"]:
            reason = ", ".join(
                (*(rule.value for rule in step.rules[:1]), *filter(None, [step.error and step.error[:80]]))
            )
            agreement.differences.append(f"{entry['id']}: {verdict} ({reason}), labelled {entry['kind']}")
    return agreement


def step_of_entry(entry: dict[str, Any]) -> Step:
    """The step of an entry's call, in a session that has no other."""
    code = entry.get("exit_code")
    recorded = None if code is None else RecordedState(exit_code=code, field="exit_code")
    arguments = Part("call:0", write_json(entry.get("arguments") or {}))
    header = ResultHeader("call_1", entry["tool"], entry.get("is_error"), recorded)
    turns = (
        Turn(Role.USER, (Part("text", entry.get("request") or "Please go on."),)),
        Turn(Role.ASSISTANT, (arguments,), calls=(CallHeader("call:0", entry["tool"], "call_1"),)),
        Turn(Role.TOOL, (Part("text", entry["result"] or ""),), result=header),
    )
    return inspect_trace(Trace(turns)).chain.steps[0]


def table_of(name: str, agreement: ResultAgreement) -> Iterator[str]:
    """The agreement as a Markdown table: a row for each labelled kind, a column for each verdict."""
    yield f"| {name} | right | {' | '.join(KINDS)} |"
    yield "| --- |" + " --- |" * (len(KINDS) + 1)
    for labelled in KINDS:
        counts = [agreement.verdicts[labelled, verdict] for verdict in KINDS]
        if sum(counts):
            share = f"{100 * agreement.verdicts[labelled, labelled] / sum(counts):.1f} %"
            yield f"| {labelled} | {share} | {' | '.join(map(str, counts))} |"
    for measure, right in (("kind", agreement.right), ("outcome", agreement.right_outcomes)):
        yield f"{name}: {measure} {right} of {agreement.total} ({100 * right / max(agreement.total, 1):.1f} %)"


def _has_failed(kind: str) -> bool:
    return kind in ("failure", "finding")
