"""`weaklink rules`: list the rules, or explain one."""

import sys

import click

from weaklink.inspector.json_text import write_json
from weaklink.inspector.rules.catalogue import FAMILIES, RULES, find_rule
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, screen_width
from weaklink.ui.views.rule import read_example, rule_lines, rule_object, rule_table


@declaring.command("rules")
@click.argument("word", metavar="[CODE_OR_NAME]", required=False)
@declaring.json_option
@declaring.color_option
def rules(word: str | None, *, as_json: bool, color: str) -> None:
    """List every rule, by family; explain one by its code (J104) or its name (trailing-comma)."""
    if word is not None:
        _explain(word, as_json=as_json, color=color)
    elif as_json:
        sys.stdout.write(write_json([rule_object(rule) for rule in RULES]) + "\n")
    else:
        print_lines(rule_table(FAMILIES, width=screen_width()), color=color)


def _explain(word: str, *, as_json: bool, color: str) -> None:
    rule = find_rule(word)
    if as_json:
        sys.stdout.write(write_json(rule_object(rule)) + "\n")
        return
    bad, good = (read_example(text, rule.format) if text else None for text in (rule.bad, rule.good))
    print_lines(rule_lines(rule, bad, good, width=screen_width()), color=color)
