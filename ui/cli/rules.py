"""`weaklink rule` and `weaklink rules`: what the codes stand for."""

import sys

import click

from inspector.json_text import write_json
from inspector.rules.catalogue import FAMILIES, RULES, find_rule
from ui.cli.console import color_option, json_option, print_lines, screen_width
from ui.views.rule import read_example, rule_lines, rule_object, rule_table


@click.command("rule")
@click.argument("word", metavar="CODE_OR_NAME")
@json_option
@color_option
def rule(word: str, *, as_json: bool, color: str) -> None:
    """Explain one rule, by its code (J104) or its name (trailing-comma)."""
    found = find_rule(word)
    if as_json:
        sys.stdout.write(write_json(rule_object(found)) + "\n")
        return
    bad, good = (read_example(text, found.format) if text else None for text in (found.bad, found.good))
    print_lines(rule_lines(found, bad, good, width=screen_width()), color=color)


@click.command("rules")
@json_option
@color_option
def rules(*, as_json: bool, color: str) -> None:
    """List every rule, by family."""
    if as_json:
        sys.stdout.write(write_json([rule_object(one) for one in RULES]) + "\n")
        return
    print_lines(rule_table(FAMILIES, width=screen_width()), color=color)
