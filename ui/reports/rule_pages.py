"""Renders the Markdown pages of rules in the repository: one per rule, and an index."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from inspector.rules.rule import DATA_FORMAT, Rule
from ui.views.rule import Example, example_lines, read_example
from ui.views.styled_text import plain

_WIDTH = 100
_MADE = "<!-- Made by `make rule-pages` from the catalogue and the case files; changes belong there. -->"
_MOST = 6


class Case(Struct, frozen=True):
    """A case that breaks a rule: weaklink's message, and the case's text if it is one short line."""

    says: str
    text: str = ""


def rule_page(rule: Rule, family: str, cases: Sequence[Case], case_file: str) -> str:
    """The page of one rule; `case_file` is the path of its cases, relative to the page's folder."""
    bad, good = read_example(rule.bad, rule.format), read_example(rule.good, rule.format)
    lines = [
        f"# {rule.code} {rule.name}",
        _MADE,
        f"**{rule.severity.value}** · [{rule.code[:2]}xx, {family}](README.md) · examples in `{rule.format}`",
        f"**{rule.summary}**",
        rule.explanation,
        "## What to do",
        rule.remedy,
        "## Fails",
        _shown(bad),
        "## Passes",
        _shown(good),
    ]
    other_cases = list(_message_text(cases))
    if other_cases:
        lines += ["## In other cases", "\n".join(other_cases)]
    lines.append(
        f"[All cases]({case_file}) · `weaklink rule {rule.code}` shows this page in the terminal, "
        f"`weaklink {'data lint' if rule.format == DATA_FORMAT else 'check'} --ignore {rule.name}` leaves the rule out."
    )
    return "\n\n".join(lines) + "\n"


def index_page(families: Iterable[tuple[str, str, Sequence[Rule]]]) -> str:
    """The index: one table per family, each rule linked to its page."""
    pieces = ["# Rules", _MADE, "One code is one rule, and a code is never reused."]
    for prefix, title, rules in families:
        rows = [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} | {_cell(rule.summary)} |"
            for rule in rules
        ]
        head = ["| code | name | severity | what it says |", "| --- | --- | --- | --- |"]
        pieces += [f"## {prefix}xx: {title}", "\n".join((*head, *rows))]
    return "\n\n".join(pieces) + "\n"


def _shown(example: Example) -> str:
    rendered = "\n".join(plain(line).rstrip() for line in example_lines(example, width=_WIDTH))
    fence = "````" if "```" in rendered else "```"
    return f"{fence}text\n{rendered}\n{fence}"


def _message_text(cases: Iterable[Case]) -> Iterator[str]:
    """The first cases with different messages, as a list."""
    words = {case.says: case for case in reversed(list(cases))}
    for case in list(reversed(words.values()))[:_MOST]:
        yield f"- {_code(case.text)}: {case.says}" if case.text else f"- {case.says}"


def _code(text: str) -> str:
    """A text as inline code, even if it contains backticks."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
