"""The pages on rules say what the catalogue and weaklink itself say: they are made from them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.case_files import CaseFields
from tests.test_rules import ROOT, case_file, found_in, rows_of
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.rules.catalogue import FAMILIES, RULES
from weaklink.inspector.rules.rule import Rule
from weaklink.ui.reports.rule_pages import Case, index_page, rule_page

PAGES = ROOT.parent / "docs" / "rules"
_MEND = "`make rule-pages` mends it"
_LONGEST = 72


def expected(rule: Rule) -> str:
    path = case_file(rule)
    assert path is not None
    family = next(title for prefix, title, _ in FAMILIES if rule.code.startswith(prefix))
    link = Path("../..") / path.relative_to(ROOT.parent)
    return rule_page(rule, family, list(_cases(rule, path)), link.as_posix())


def _cases(rule: Rule, path: Path) -> Iterator[Case]:
    for row in rows_of(path):
        for message in _messages(rule, row):
            text = row.get("text", "")
            is_short = len(text) <= _LONGEST and text.isprintable() and text.isascii()
            yield Case(message, text if is_short else "")


def _messages(rule: Rule, row: CaseFields) -> list[str]:
    if "reads" in row:
        faults = read_json(row["text"], call=row.get("call", False)).faults
    else:
        faults = tuple(one.fault for one in found_in(row)[1])
    return [fault.message for fault in faults if fault.rule is rule][:1]


def pages() -> dict[str, str]:
    return {"README.md": index_page(FAMILIES), **{f"{rule.code}.md": expected(rule) for rule in RULES}}


def test_the_pages_are_those_of_the_catalogue(update_goldens: bool) -> None:
    made = pages()
    if update_goldens:
        PAGES.mkdir(parents=True, exist_ok=True)
        for stale in set(PAGES.glob("*.md")) - {PAGES / name for name in made}:
            stale.unlink()
        for name, text in made.items():
            (PAGES / name).write_text(text, encoding="utf-8")
    stand = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert sorted(stand) == sorted(made), _MEND
    assert [name for name, text in made.items() if stand[name] != text] == [], _MEND


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_page_shows_the_rule_at_work_and_leads_to_its_cases(rule: Rule) -> None:
    text = (PAGES / f"{rule.code}.md").read_text(encoding="utf-8")
    fails = text.partition("## Fails")[2].partition("## Passes")[0]
    assert f"{rule.severity.value}[{rule.code}] {rule.name}" in re.sub(r"\s*\n[ │]*", " ", fails)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (PAGES / link).exists(), link
