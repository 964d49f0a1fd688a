"""Renders the pages of rules for the documentation site, from the catalogue, its examples and the case files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from tests.case_files import CaseFields
from tests.test_rules import ROOT, case_file, found_in, rows_of
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.rules.catalogue import FAMILIES, RULES
from weaklink.inspector.rules.rule import DATA_FORMAT, Rule
from weaklink.ui.views.rule import Example, example_lines, read_example
from weaklink.ui.views.styled_text import plain

_WIDTH = 84
_MAX_OTHER_CASES = 6
_MAX_CASE_CHARS = 72


class Case(Struct, frozen=True):
    """A case that breaks a rule: weaklink's message, and the case's text if it is one short line."""

    message: str
    text: str = ""


def rule_pages(repository: str) -> dict[str, str]:
    """A page for each rule; `repository` is the address of the files on the code host, with a slash at its end."""
    return {f"rules/{rule.code}.md": rule_page(rule, repository) for rule in RULES}


def rule_page(rule: Rule, repository: str) -> str:
    """The page of one rule."""
    family = next(title for prefix, title, _ in FAMILIES if rule.code.startswith(prefix))
    cases = case_file(rule)
    assert cases is not None
    lines = [
        f"# {rule.code} {rule.name}",
        f"**{rule.severity.value}** · [{rule.code[:2]}xx, {family}](../rules.md) · examples in `{rule.format}`",
        f"**{rule.summary}**",
        rule.explanation,
        "## What to do",
        rule.remedy,
        "## Fails",
        _rendered(read_example(rule.bad, rule.format)),
        "## Passes",
        _rendered(read_example(rule.good, rule.format)),
    ]
    if other_cases := list(_other_cases(_cases(rule, cases))):
        lines += ["## In other cases", "\n".join(other_cases)]
    command = "data lint" if rule.format == DATA_FORMAT else "check"
    lines.append(
        f"[All cases]({repository}{cases.relative_to(ROOT.parent).as_posix()}) · `weaklink rules {rule.code}` shows "
        f"this page in the terminal, `weaklink {command} --ignore {rule.name}` ignores it."
    )
    return "\n\n".join(lines) + "\n"


def rule_index() -> str:
    """One table per family, each rule linked to its page."""
    pieces = []
    for prefix, title, rules in FAMILIES:
        rows = [
            f"| [{rule.code}](rules/{rule.code}.md) | {rule.name} | {rule.severity.value} | {_cell(rule.summary)} |"
            for rule in rules
        ]
        head = ["| code | name | severity | summary |", "| --- | --- | --- | --- |"]
        pieces += [f"## {prefix}xx: {title}", "\n".join((*head, *rows))]
    return "\n\n".join(pieces) + "\n"


def _cases(rule: Rule, path: Path) -> Iterator[Case]:
    for row in rows_of(path):
        for message in _messages(rule, row):
            text = row.get("text", "")
            is_short = len(text) <= _MAX_CASE_CHARS and text.isprintable() and text.isascii()
            yield Case(message, text if is_short else "")


def _messages(rule: Rule, row: CaseFields) -> list[str]:
    if "reads" in row:
        faults = read_json(row["text"], call=row.get("call", False)).faults
    else:
        faults = tuple(diagnostic.fault for diagnostic in found_in(row)[1])
    return [fault.message for fault in faults if fault.rule is rule][:1]


def _rendered(example: Example) -> str:
    text = "\n".join(plain(line).rstrip() for line in example_lines(example, _WIDTH))
    fence = "````" if "```" in text else "```"
    return f"{fence}text\n{text}\n{fence}"


def _other_cases(cases: Iterable[Case]) -> Iterator[str]:
    """The first cases with different messages, as a list."""
    messages = {case.message: case for case in reversed(list(cases))}
    for case in list(reversed(messages.values()))[:_MAX_OTHER_CASES]:
        yield f"- {_code(case.text)}: {case.message}" if case.text else f"- {case.message}"


def _code(text: str) -> str:
    """A text as inline code, even if it contains backticks."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
