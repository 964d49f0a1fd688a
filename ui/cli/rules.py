"""`weaklink rule` and `weaklink rules`: what the codes stand for."""

import sys

import click

from inspector.json_text import write_json
from inspector.rules.catalogue import FAMILIES, RULES, find_rule
from inspector.segmentation import segment
from ui.cli.options import color_option, json_option
from ui.cli.paint import put, screen_width
from ui.views.rule import rule_lines, rule_object, rule_table


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
    put(rule_lines(found, segment(found.bad) if found.bad else None, width=screen_width()), color=color)


@click.command("rules")
@json_option
@color_option
def rules(*, as_json: bool, color: str) -> None:
    """List every rule, by family."""
    if as_json:
        sys.stdout.write(write_json([rule_object(one) for one in RULES]) + "\n")
        return
    put(rule_table(FAMILIES, width=screen_width()), color=color)
