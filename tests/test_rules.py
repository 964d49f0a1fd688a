"""One code, one rule, one name, one explanation, one case file, one owner: over the whole catalogue."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CaseFields, load
from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.chain.layers import PartTexts
from weaklink.inspector.diagnostics import Diagnostic, Location, apply_fixes
from weaklink.inspector.errors import UnknownRuleError
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    Chunks,
    ErrorPhase,
    FinishReason,
    Generation,
    GenerationError,
    Part,
    RecordedRun,
    ResultHeader,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
    Usage,
)
from weaklink.inspector.rules.catalogue import FAMILIES, RULES, find_rule, select_rules
from weaklink.inspector.rules.rule import DATA_FORMAT, FILE_FORMAT, ROW_FORMAT, Rule, Severity
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range
from weaklink.ui.views.rule import read_example

ROOT = Path(__file__).parent
CASES = (ROOT / "cases" / "rules", ROOT / "cases" / "json")
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=str)


def case_file(rule: Rule) -> Path | None:
    files = [folder / f"{rule.code}-{rule.name}.yaml" for folder in CASES]
    return next((path for path in files if path.exists()), None)


def rows_of(path: Path) -> list[CaseFields]:
    """All cases of a file: those that fail have `at`, the text of the place where the rule is broken."""
    return [case for cases in load(path).values() for case in cases]


def rows() -> list[tuple[str, CaseFields]]:
    return [(path.stem, row) for path in sorted(CASES[0].glob("*.yaml")) for row in rows_of(path)]


def params() -> list[Any]:
    return [
        pytest.param(path.stem, verdict, case, id=f"{path.stem}/{verdict}-{number}")
        for path in sorted(CASES[0].glob("*.yaml"))
        for verdict, cases in load(path).items()
        for number, case in enumerate(cases, 1)
    ]


def turn_of(row: CaseFields) -> Turn:
    facts = row.get("generation", {})
    error = facts.get("error")
    generation = Generation(
        finish=FinishReason(facts["finish"]) if "finish" in facts else None,
        body=BodyState(facts.get("body", "complete")),
        error=GenerationError(ErrorPhase(error["phase"]), error["message"], error.get("status")) if error else None,
        tools=read_tools(facts.get("tools")),
        parameters=facts.get("parameters", ""),
        usage=Usage(**facts.get("usage", {})),
        api=facts.get("api", ""),
        requested_model=facts.get("requested_model", ""),
        attempt=facts.get("attempt", 1),
        request=request_of(row["sent"]) if "sent" in row else None,
    )
    role = Role(row["role"])
    chunks = row.get("chunks", {})
    texts = {"text": row["text"], **row.get("parts", {})}
    parts = tuple(Part(name, text, chunks_of(text, chunks.get(name))) for name, text in texts.items())
    calls = tuple(CallHeader(call["part"], call["name"], call.get("id")) for call in row.get("calls", ()))
    result = ResultHeader(**row["result"]) if "result" in row else None
    run = RecordedRun("span", **row["run"]) if "run" in row else None
    return Turn(role, parts, "", calls, result, generation if role is Role.ASSISTANT else None, run=run)


def request_of(sent: list[int | CaseFields]) -> SentRequest:
    """A request: numbers of turns, and messages in other words."""
    return SentRequest(messages=tuple(text if isinstance(text, int) else message_of(text) for text in sent))


def message_of(row: CaseFields) -> SentMessage:
    turn = turn_of({"text": "", **row})
    parts = tuple(SentPart(part.name, part.text) for part in turn.parts if part.text)
    return SentMessage(turn.role, parts, row.get("turn"), "", turn.calls, turn.result)


def chunks_of(text: str, facts: dict[str, Any] | None) -> Chunks | None:
    if facts is None:
        return None
    ends = (*facts["cuts"], len(text))
    ids = tuple(map(tuple, facts["token_ids"])) if "token_ids" in facts else None
    offsets = tuple(facts["offsets_s"]) if "offsets_s" in facts else None
    return Chunks(ends, tuple(facts.get("sequences", range(len(ends)))), offsets, ids)


def found_in(row: CaseFields) -> tuple[str, list[Diagnostic]]:
    if "turns" in row:
        trace = Trace(tuple(map(turn_of, row["turns"])))
        inspection = inspect_trace(
            trace,
            format="hermes",
            reasoning_budget=row.get("budget", 30_000),
            context_window=row.get("window", 131_072),
        )
        turn, part = row.get("turn", 1), row.get("part", "text")
        diagnostics = inspection.diagnostics
        here = [
            diagnostic
            for diagnostic in diagnostics
            if diagnostic.rule.layer or (diagnostic.location.turn, diagnostic.location.part) == (turn, part)
        ]
        return PartTexts(trace).at(Location(turn, part, Range(0, 0))), here
    if row.get("format") == ROW_FORMAT:
        example = read_example(row["text"], ROW_FORMAT)
        turn, part = row.get("turn", len(example.trace.turns)), row.get("part", "text")
        text = example.trace.turns[turn - 1].part(part)
        assert text is not None
        diagnostics = example.inspection.diagnostics
        return text.text, [
            diagnostic
            for diagnostic in diagnostics
            if (diagnostic.location.turn, diagnostic.location.part) == (turn, part)
        ]
    if row.get("format") in (FILE_FORMAT, DATA_FORMAT):
        return row["text"], list(read_example(row["text"], row["format"]).inspection.diagnostics)
    tools = read_tools(row.get("tools"))
    segmented = segment(row["text"], row.get("format", "hermes"), prompt=row.get("prompt", ""), tools=tools)
    return row["text"], list(segmented.diagnostics)


_SENTENCE = re.compile(r"[A-Z`].*[.?]", re.DOTALL)


def no_sentences(diagnostics: Iterable[Diagnostic]) -> Iterable[str]:
    """The messages, hints and notes that do not begin with a capital or a backtick, or do not end as sentences do."""
    for diagnostic in diagnostics:
        said = (
            diagnostic.fault.message,
            diagnostic.fault.hint,
            *(related.message for related in diagnostic.fault.related),
        )
        yield from (words for words in said if words is not None and not _SENTENCE.fullmatch(words))


@EVERY_RULE
def test_a_rule_is_explained(rule: Rule) -> None:
    assert rule.summary.endswith(".")
    assert len(rule.summary) <= 110
    assert rule.explanation.endswith(".")
    assert rule.explanation != rule.summary
    assert rule.remedy.endswith(".")


@EVERY_RULE
def test_a_rule_is_shown_by_an_example_that_breaks_it_and_its_mended_twin_that_does_not(rule: Rule) -> None:
    bad, good = (read_example(text, rule.format).inspection for text in (rule.bad, rule.good))
    assert rule in {diagnostic.rule for diagnostic in bad.diagnostics}
    assert rule not in {diagnostic.rule for diagnostic in good.diagnostics}
    assert not [diagnostic for diagnostic in good.diagnostics if diagnostic.rule.severity is Severity.ERROR]


@EVERY_RULE
def test_a_rule_has_a_case_file_with_passes_and_fails(rule: Rule) -> None:
    path = case_file(rule)
    assert path is not None, f"write tests/cases/rules/{rule.code}-{rule.name}.yaml"
    if path.parent == CASES[0]:
        assert set(load(path)) == {"fails", "passes"}


@cache
def words_of_the_code() -> frozenset[str]:
    """Every word of the inspector's code beside the rules themselves."""
    sources = [path for path in (ROOT.parent / "inspector").rglob("*.py") if "rules" not in path.parts]
    return frozenset(word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


@EVERY_RULE
def test_a_rule_has_an_owner(rule: Rule) -> None:
    assert rule.name.upper().replace("-", "_") in words_of_the_code()


def test_codes_and_names_are_unique_and_in_their_family() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    for prefix, _, members in FAMILIES:
        assert [rule.code for rule in members] == sorted(rule.code for rule in members)
        assert all(rule.code.startswith(prefix) for rule in members)


@pytest.mark.parametrize(("name", "verdict", "row"), params())
def test_case(name: str, verdict: str, row: CaseFields) -> None:
    rule = find_rule(name.split("-", maxsplit=1)[0])
    text, diagnostics = found_in(row)
    assert not list(no_sentences(diagnostics))
    places = [diagnostic.range.of(text) for diagnostic in diagnostics if diagnostic.rule is rule]
    if verdict == "fails":
        if rule.layer:  # such a case names the turn and part of the difference, and one that passes has none anywhere
            parts = (row.get("turn", 1), row.get("part", "text"))
            diagnostics = [
                diagnostic
                for diagnostic in diagnostics
                if (diagnostic.location.turn, diagnostic.location.part) == parts
            ]
            places = [diagnostic.range.of(text) for diagnostic in diagnostics if diagnostic.rule is rule]
        assert row["at"] in places
    else:
        assert not places
        assert "at" not in row
    if "says" in row:
        assert any(row["says"] in diagnostic.fault.message for diagnostic in diagnostics if diagnostic.rule is rule)
    if "fixed" in row:
        assert apply_fixes(text, (diagnostic.fault for diagnostic in diagnostics), only_safe=False) == row["fixed"]


def test_a_rule_is_found_by_code_and_name_and_an_unknown_one_names_the_nearest() -> None:
    assert find_rule("j104") is find_rule("Trailing-Comma")
    with pytest.raises(UnknownRuleError, match="trailing-comma"):
        find_rule("trailing-coma")
    assert {rule.code[0] for rule in select_rules(("J1", "F301"))} == {"J", "F"}
    with pytest.raises(UnknownRuleError):
        select_rules(("Z9",))
