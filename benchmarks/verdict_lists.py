"""Agreement with lists of single calls and of short sessions in YAML, labelled by authors who know no rule.

`results/` asks what happened to one call; `statements/` what the agent said of one failure, and by which sentence;
`recoveries/` what became of each failed call, and where the session broke. `tests/verdicts/README.md` has the fields.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from msgspec import Struct, field

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Part, RecordedState, ResultHeader, Role, Trace, Turn

FOLDER = Path(__file__).parents[1] / "tests" / "verdicts"
_Entry: TypeAlias = Mapping[str, Any]
_REPAIRABLE = ("failure", "finding")


class ListAgreement(Struct):
    """How often each label got each verdict, how often further measures were right, and what differs, as lines."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def count(self, measure: str, *, is_right: bool) -> None:
        """Count one verdict of a measure."""
        self.total[measure] += 1
        self.right[measure] += is_right


def agreement_of_list(name: str) -> ListAgreement:
    """The agreement over the entries of a list such as `results/first`."""
    agreement = ListAgreement()
    _, compare = _KINDS[name.partition("/")[0]]
    for entry in yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
        compare(entry, agreement)
    return agreement


def table_of(name: str, agreement: ListAgreement) -> Iterator[str]:
    """The agreement as a Markdown table, a row for each label and a column for each verdict; then each measure."""
    labels, _ = _KINDS[name.partition("/")[0]]
    yield f"| {name} | right | {' | '.join(labels)} |"
    yield "| --- |" + " --- |" * (len(labels) + 1)
    for label in labels:
        counts = [agreement.verdicts[label, verdict] for verdict in labels]
        if sum(counts):
            share = f"{100 * agreement.verdicts[label, label] / sum(counts):.1f} %"
            yield f"| {label} | {share} | {' | '.join(map(str, counts))} |"
    for measure, total in agreement.total.items():
        right = agreement.right[measure]
        yield f"{name}: {measure} {right} of {total} ({100 * right / total:.1f} %)"


def session(request: str, calls: Sequence[_Entry], final: str | None) -> Trace:
    """A session in which an agent makes these calls one after another; each may have words of agent and user before."""
    turns = [Turn(Role.USER, (Part("text", request),))]
    for number, call in enumerate(calls, 1):
        if call.get("user"):
            turns.append(Turn(Role.USER, (Part("text", call["user"]),)))
        said = (Part("text", call["says"]),) if call.get("says") else ()
        arguments = Part("call:0", json.dumps(call.get("arguments") or {}, ensure_ascii=False, default=str))  # dates
        header = CallHeader("call:0", call["tool"], f"call_{number}")
        turns.append(Turn(Role.ASSISTANT, (*said, arguments), calls=(header,)))
        code = call.get("exit_code")
        recorded = None if code is None else RecordedState(exit_code=code, field="exit_code")
        result = ResultHeader(f"call_{number}", call["tool"], call.get("is_error"), recorded)
        turns.append(Turn(Role.TOOL, (Part("text", call["result"] or ""),), result=result))
    if final is not None:
        turns.append(Turn(Role.ASSISTANT, (Part("text", final),)))
    return Trace(tuple(turns))


def _compare_result(entry: _Entry, agreement: ListAgreement) -> None:
    step = inspect_trace(session(entry.get("request") or "Please go on.", [entry], None)).chain.steps[0]
    verdict, label = _kind_of(step), str(entry["kind"])
    agreement.verdicts[label, verdict] += 1
    agreement.count("kind", is_right=verdict == label)
    agreement.count("outcome", is_right=(verdict in _REPAIRABLE) == (label in _REPAIRABLE))
    if verdict != label:
        reason = ", ".join((*(rule.value for rule in step.rules[:1]), *filter(None, [step.error and step.error[:80]])))
        agreement.differences.append(f"{entry['id']}: {verdict} ({reason}), labelled {label}")


def _kind_of(step: Step) -> str:
    return "ok" if step.result_kind is None else step.result_kind.value


def _compare_statement(entry: _Entry, agreement: ListAgreement) -> None:
    before, after = entry.get("before") or [], list(entry.get("after") or [])
    final, reply = entry["final"], entry.get("says")
    if reply and after:
        after[0] = {**after[0], "says": reply}
    elif reply:
        final = f"{reply}\n\n{final}"
    trace = session(entry["request"], [*before, entry["failure"], *after], final)
    step = inspect_trace(trace).chain.steps[len(before)]
    verdict, label, sentence = "none" if step.said is None else step.said.value, entry["said"], entry["sentence"]
    shown = _shown(trace, step)
    agreement.verdicts[label, verdict] += 1
    agreement.count("said", is_right=verdict == label)
    agreement.count("in English" if entry["language"] == "en" else "in other languages", is_right=verdict == label)
    if verdict != label:
        rules = ", ".join(rule.value for rule in step.rules)
        agreement.differences.append(
            f"{entry['id']} {entry['language']}: {verdict} ({_kind_of(step)}; {rules}; {shown!r}), "
            f"labelled {label}: {sentence!r}"
        )
    elif sentence is not None:
        agreement.count("the sentence that decides is shown for", is_right=_shares_words(shown, sentence))
        if not _shares_words(shown, sentence):
            agreement.differences.append(f"{entry['id']}: shows {shown!r}, labelled {sentence!r}")


def _shown(trace: Trace, step: Step) -> str:
    """The words at the place of the statement that decides."""
    location = step.said_at
    part = None if location is None else trace.turns[location.turn - 1].part(location.part)
    if location is None or part is None:
        return ""
    return part.text[location.range.start : location.range.end]


def _shares_words(shown: str, sentence: str) -> bool:
    """Whether two sentences are the same or one is a part of the other, but for blanks and marks."""
    first, second = ("".join(filter(str.isalnum, text)) for text in (shown, sentence))
    return bool(first) and (first in second or second in first)


def _compare_recovery(entry: _Entry, agreement: ListAgreement) -> None:
    chain = inspect_trace(session(entry["request"], entry["steps"], entry["final"])).chain
    broken = None if chain.broken is None else chain.broken.step
    allowed = (entry["broken"], entry.get("broken_or", entry["broken"]))
    agreement.count("broken step", is_right=broken in allowed)
    agreement.count("status", is_right=(broken is None) in [label is None for label in allowed])
    if allowed == (None, None):
        agreement.count("healthy sessions not called broken", is_right=broken is None)
    differs = [f"breaks at {broken}, labelled {entry['broken']}"] if broken not in allowed else []
    for number, label in (entry["became"] or {}).items():
        differs += _compare_repair(chain.steps[number - 1], label, agreement)
    agreement.differences += [f"{entry['id']} {entry['language']}: {'; '.join(differs)}"] if differs else []


def _compare_repair(step: Step, label: _Entry, agreement: ListAgreement) -> Iterator[str]:
    """What became of one call, and what was said of it if that is labelled."""
    how = step.recovery.value if step.recovery is not None else "none"
    verdict = how if _kind_of(step) in _REPAIRABLE else "no failure"
    is_right = verdict in (label["how"], *label.get("or", ()))
    agreement.verdicts[label["how"], label["how"] if is_right else verdict] += 1
    agreement.count("became", is_right=is_right)
    if not is_right:
        yield f"step {step.number} ({_kind_of(step)}) became {verdict}, labelled {label['how']}"
    elif label["by"] is not None:
        agreement.count("by", is_right=step.recovered_by == label["by"])
    if "said" in label:
        said = "none" if step.said is None else step.said.value
        agreement.count("said", is_right=said == label["said"])
        if said != label["said"]:
            rule = step.rules[-1].value if step.rules else ""
            yield f"step {step.number} is {said} ({rule}), labelled {label['said']}"


_KINDS: Mapping[str, tuple[Sequence[str], Callable[[_Entry, ListAgreement], None]]] = {
    "results": (("ok", "failure", "finding", "probe", "rejected", "not-run"), _compare_result),
    "statements": (("reported", "silent", "concealed", "none"), _compare_statement),
    "recoveries": (
        ("same-intent", "other-tool", "worked-around", "not-needed", "none", "no failure"),
        _compare_recovery,
    ),
}
"""The labels and the comparison of each kind of list."""
LISTS = sorted(f"{kind}/{path.stem}" for kind in _KINDS for path in (FOLDER / kind).glob("*.yaml"))
"""The names of all lists."""
