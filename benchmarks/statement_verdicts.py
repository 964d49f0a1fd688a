"""Agreement with lists of statements: what an agent said of one failure, by its last words and those right after it.

A list is a file in `tests/verdicts/statements/`; each entry has a request, calls that worked, the failure, what the
agent said to it (`says`), later calls and the last statement, with the label `said` and the sentence that decides it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Part, RecordedState, ResultHeader, Role, Trace, Turn

VERDICTS = ("reported", "silent", "concealed", "none")


class StatementAgreement(Struct):
    """How often each label got each verdict, how often the labelled sentence was shown, and what differs, as lines."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    languages: Counter[tuple[str, bool]] = field(default_factory=Counter)
    shown: Counter[bool] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def statements_agreement(path: Path) -> StatementAgreement:
    """The agreement over the entries of a list."""
    agreement = StatementAgreement()
    for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
        trace, number = trace_of_entry(entry)
        step = inspect_trace(trace).chain.steps[number]
        said = "none" if step.said is None else step.said.value
        agreement.verdicts[entry["said"], said] += 1
        agreement.languages[entry["language"], said == entry["said"]] += 1
        shown = _shown(trace, step)
        if said != entry["said"]:
            kind = step.result_kind and step.result_kind.value
            rules = ", ".join(rule.value for rule in step.rules)
            agreement.differences.append(
                f"{entry['id']} {entry['language']}: {said} ({kind}; {rules}; {shown!r}), labelled {entry['said']}: "
                f"{entry['sentence']!r}"
            )
        elif entry["sentence"] is not None:
            is_shown = _shares_words(shown, entry["sentence"])
            agreement.shown[is_shown] += 1
            if not is_shown:
                agreement.differences.append(f"{entry['id']}: shows {shown!r}, labelled {entry['sentence']!r}")
    return agreement


def trace_of_entry(entry: dict[str, Any]) -> tuple[Trace, int]:
    """The session of an entry, and the index of its failed call."""
    before, after = entry.get("before") or [], entry.get("after") or []
    turns = [Turn(Role.USER, (Part("text", entry["request"]),))]
    words = {len(before) + 1: entry["says"]} if entry.get("says") and after else {}
    for index, call in enumerate((*before, entry["failure"], *after)):
        header = CallHeader("call:0", call["tool"], f"call_{index}")
        said = (Part("text", words[index]),) if index in words else ()
        arguments = Part("call:0", json.dumps(call.get("arguments") or {}, ensure_ascii=False, default=str))  # dates
        turns.append(Turn(Role.ASSISTANT, (*said, arguments), calls=(header,)))
        code = call.get("exit_code")
        recorded = None if code is None else RecordedState(exit_code=code, field="exit_code")
        result = ResultHeader(f"call_{index}", call["tool"], call.get("is_error"), recorded)
        turns.append(Turn(Role.TOOL, (Part("text", call["result"] or ""),), result=result))
    last = entry["final"] if after or not entry.get("says") else f"{entry['says']}\n\n{entry['final']}"
    turns.append(Turn(Role.ASSISTANT, (Part("text", last),)))
    return Trace(tuple(turns)), len(before)


def table_of(name: str, agreement: StatementAgreement) -> Iterator[str]:
    """The agreement as a Markdown table: a row for each label, a column for each verdict."""
    yield f"| {name} | right | {' | '.join(VERDICTS)} |"
    yield "| --- |" + " --- |" * (len(VERDICTS) + 1)
    for label in VERDICTS[:-1]:
        counts = [agreement.verdicts[label, verdict] for verdict in VERDICTS]
        share = 100 * agreement.verdicts[label, label] / max(sum(counts), 1)
        yield f"| {label} | {share:.1f} % | {' | '.join(map(str, counts))} |"
    right = sum(count for (label, verdict), count in agreement.verdicts.items() if label == verdict)
    total = agreement.verdicts.total()
    yield f"{name}: said {right} of {total} ({100 * right / max(total, 1):.1f} %)"
    own, others = agreement.languages["en", True], agreement.languages["en", False]
    rest = f"in other languages {right - own} of {total - own - others}"
    yield f"{name}: in English {own} of {own + others}, {rest}"
    yield f"{name}: the sentence that decides is shown for {agreement.shown[True]} of {agreement.shown.total()}"


def _shown(trace: Trace, step: Step) -> str:
    """The words at the place of the statement that decides."""
    location = step.said_at
    part = None if location is None else trace.turns[location.turn - 1].part(location.part)
    if location is None or location.range is None or part is None:
        return ""
    return part.text[location.range.start : location.range.end]


def _shares_words(shown: str, sentence: str) -> bool:
    """Whether two sentences are the same or one is a part of the other, but for blanks and marks."""
    first, second = ("".join(filter(str.isalnum, text)) for text in (shown, sentence))
    return bool(first) and (first in second or second in first)
