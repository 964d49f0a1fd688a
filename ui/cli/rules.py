"""`weaklink rule` and `weaklink rules`: explain rules and list them."""

import sys

from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.catalogue import FAMILIES, RULES, find_rule
from weaklink.ui.cli.console import print_lines, screen_width
from weaklink.ui.views.rule import read_example, rule_lines, rule_object, rule_table


def rule(word: str, *, as_json: bool, color: str) -> None:
    """`weaklink rule`; see its help."""
    found = find_rule(word)
    if as_json:
        sys.stdout.write(write_json(rule_object(found)) + "\n")
        return
    bad, good = (read_example(text, found.format) if text else None for text in (found.bad, found.good))
    print_lines(rule_lines(found, bad, good, width=screen_width()), color=color)


def rules(*, as_json: bool, color: str) -> None:
    """`weaklink rules`; see its help."""
    if as_json:
        sys.stdout.write(write_json([rule_object(one) for one in RULES]) + "\n")
        return
    print_lines(rule_table(FAMILIES, width=screen_width()), color=color)
