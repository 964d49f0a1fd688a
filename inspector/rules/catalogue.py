"""All rules, with look-ups by code, by name or by code prefix."""

from collections.abc import Iterable
from difflib import get_close_matches
from types import MappingProxyType

from weaklink.inspector.errors import UnknownRuleError
from weaklink.inspector.rules import (
    conversation,
    json_syntax,
    layers,
    markers,
    reasoning,
    recording,
    schema,
    training,
    verification,
)
from weaklink.inspector.rules.rule import Rule


def _by_code(*rules: Rule) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: rule.code))


FAMILIES: tuple[tuple[str, str, tuple[Rule, ...]], ...] = (
    ("J1", "JSON syntax of payloads", _by_code(*json_syntax.RULES, *json_syntax.CALL_SHAPE_RULES)),
    ("S2", "arguments against the tool's JSON Schema", schema.RULES),
    ("F3", "markers and spans", markers.RULES),
    ("T4", "calls and results across turns", conversation.RULES),
    ("C5", "the recording", recording.RULES),
    ("R6", "reasoning and context", reasoning.RULES),
    ("L8", "changes by the server, the agent and the history", layers.RULES),
    ("D7", "samples of training data", training.RULES),
    ("V9", "verifiers of training data", verification.RULES),
)
RULES: tuple[Rule, ...] = tuple(rule for _, _, rules in FAMILIES for rule in rules)
_BY_WORD = MappingProxyType({word: rule for rule in RULES for word in (rule.code, rule.name)})


def find_rule(word: str) -> Rule:
    """The rule with this code (in any case) or name.

    Raises UnknownRuleError with the nearest name if there is none.
    """
    rule = _BY_WORD.get(word.upper()) or _BY_WORD.get(word.lower())
    if rule is None:
        nearest = get_close_matches(word.lower(), [rule.name for rule in RULES], n=1)
        hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink rules` lists all rules"
        raise UnknownRuleError(f"unknown rule `{word}`{hint}")
    return rule


def select_rules(words: tuple[str, ...]) -> frozenset[Rule]:
    """The rules with these codes, names or code prefixes (`J`, `J1`, `J104`).

    Raises UnknownRuleError for a word without a rule.
    """
    chosen: set[Rule] = set()
    for word in words:
        by_prefix = {rule for rule in RULES if rule.code.startswith(word.upper())}
        chosen |= by_prefix or {find_rule(word)}
    return frozenset(chosen)


def words_of(values: Iterable[str]) -> tuple[str, ...]:
    """The words of an option that may be repeated, each value split at commas and spaces."""
    return tuple(word for value in values for word in value.replace(",", " ").split())


def chosen_rules(select: Iterable[str], ignore: Iterable[str]) -> frozenset[Rule]:
    """The rules that `select` names, all without one, but those that `ignore` names; raises as `select_rules`."""
    selected = words_of(select)
    return (select_rules(selected) if selected else frozenset(RULES)) - select_rules(words_of(ignore))
