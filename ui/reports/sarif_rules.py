"""weaklink's rules as SARIF's reporting descriptors."""

from collections.abc import Mapping
from types import MappingProxyType

from inspector.model import Json
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule, Severity
from ui.views.segment_json import JsonObject

LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)
"""SARIF 2.1.0, 3.27.10: how it calls our severities."""

RULE_INDEX: Mapping[str, int] = MappingProxyType({rule.code: index for index, rule in enumerate(RULES)})
"""At which place of the list of rules each code stands."""


def rule_objects() -> list[Json]:
    """Every rule there is: the list stands before the results, when it is not known yet which of them are needed."""
    return [_rule_object(rule) for rule in RULES]


def _rule_object(rule: Rule) -> JsonObject:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": _help(rule), "markdown": _help_in_markdown(rule)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.name]},
    }


def _help(rule: Rule) -> str:
    shown = (("Wrong", rule.bad), ("Right", rule.good))
    return "\n\n".join([rule.explanation, *(f"{word}:\n{text}" for word, text in shown if text)])


def _help_in_markdown(rule: Rule) -> str:
    shown = (("Wrong", rule.bad), ("Right", rule.good))
    return "\n\n".join([rule.explanation, *(f"{word}:\n\n{_indented(text)}" for word, text in shown if text)])


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
