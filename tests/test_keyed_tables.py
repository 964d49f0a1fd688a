"""Tables that are indexed by a kind, a status or a severity have a row for each member of that enumeration.

A table indexed by plain strings fails only for the word that nobody tried. So a table whose keys are the values of one
of our enumerations has its members as keys, which the type checker follows; and if it is indexed, it is total, or a
reason below says why the other members never reach it. Keys of filters are left out: each of their tables is for the
keys of one kind, which the tests of `storage.filter` compare.
"""

import ast
import importlib
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from functools import cache
from types import ModuleType

import pytest

from tests.sources import ROOT, tree_of
from weaklink.inspector.chain.steps import Break, Status, StepOutcome
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.filter.terms import FilterKey
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import style_of
from weaklink.ui.web.markup import COLOUR_NAMES

_PACKAGES = ("inspector", "storage", "ui")

_PARTIAL = {
    ("weaklink.inspector.chain.steps", "_CONCEALED"): "guarded by `in`",
    ("weaklink.inspector.chain.steps", "OUTCOME_RULES"): "looked up for failed steps only",
    ("weaklink.inspector.checks.typed_arguments", "_KINDS"): "guarded by `in`",
    ("weaklink.inspector.formats.dialect", "_LABELS"): "between markers are calls, results or definitions",
    ("weaklink.inspector.json_scanner.string_ends", "_AS_OPENER"): "indexed by a constant",
    ("weaklink.inspector.json_scanner.string_ends", "_CLOSES"): "a value that is a whole text has its own reader",
    ("weaklink.inspector.sessions.gathering", "_ENDS"): "guarded by `in`",
    ("weaklink.storage.listing", "_VALUES"): "the order `broken` is split into two lists before",
    ("weaklink.storage.statistics", "_KEYS"): "days are computed before",
    ("weaklink.storage.statistics", "_OF_CODES"): "guarded by `in`",
    ("weaklink.ui.cli.console", "_SGR"): "guarded by `in`",
    ("weaklink.ui.cli.log", "_STREAM_TYPES"): "text is read without a decoder",
    ("weaklink.ui.cli.recording", "_ENDS"): "guarded by `in`",
    ("weaklink.ui.tui.dissector.side_pane", "_OF_PLACE"): "guarded by `in`",
    ("weaklink.ui.views.diagnostic", "_HELP"): "a break has a failed outcome",
    ("weaklink.ui.views.dissect.tree_rows", "_STYLES"): "objects and arrays are shown as counts before",
    ("weaklink.ui.views.run_diff_overview", "_SIGNS"): "a run without the step is shown before",
    ("weaklink.ui.views.status", "_TASK"): "an unknown outcome is not shown",
    ("weaklink.ui.web.markup", "COLOUR_NAMES"): "the style of a status; the test below",
}
_JSON_WORDS = ("weaklink.inspector.json_scanner.values", "LITERALS")
"""`true`, `false` and `null` are words of JSON here, and names of kinds elsewhere."""


@cache
def _modules() -> tuple[tuple[ModuleType, ast.Module], ...]:
    modules = []
    for package in _PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            if "migrations" in file.parts or file.parent.name == "script":
                continue
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            modules.append((importlib.import_module(f"weaklink.{name}"), tree_of(file)))
    return tuple(modules)


def _tables() -> Iterator[tuple[ModuleType, str, Mapping[object, object]]]:
    """The tables of each module, where they are defined."""
    for module, tree in _modules():
        for node in tree.body:
            for target in _targets(node):
                if isinstance(target, ast.Name) and isinstance(value := getattr(module, target.id, None), Mapping):
                    yield module, target.id, value


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        return [node.target]
    return node.targets if isinstance(node, ast.Assign) else []


@cache
def _indexed() -> frozenset[tuple[str, str]]:
    """The tables that are indexed somewhere, by module and name: an unknown key raises there."""
    tables: set[tuple[str, str]] = set()
    for module, tree in _modules():
        origins: dict[str, tuple[str, str]] = {}
        indexed: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                origins |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
            elif (
                isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
            ):
                indexed.add(node.value.id)
        tables |= {origins.get(name, (module.__name__, name)) for name in indexed}
    return frozenset(tables)


@cache
def _enumerations() -> set[type[Enum]]:
    return {
        value
        for module, _ in _modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Enum) and value.__module__.startswith("weaklink.")
    }


def test_a_table_of_an_enumerations_words_has_its_members_as_keys() -> None:
    words = {frozenset(kind.value for kind in kind): kind for kind in _enumerations() if issubclass(kind, StrEnum)}
    indexed = _indexed()
    wrong = [
        f"{module.__name__}.{name} is keyed by the words of {kind.__name__}"
        for module, name, table in _tables()
        for values, kind in words.items()
        if (module.__name__, name) in indexed - {_JSON_WORDS}
        and len(table) > 1
        and all(type(key) is str for key in table)
        and frozenset(table) <= values
    ]
    assert not wrong


def test_each_status_has_a_colour_in_the_browser() -> None:
    for status in Status:
        for outcome in (outcome for outcome in StepOutcome if outcome.failed):
            for broken in (None, Break(1, 1, None, outcome, "", "")):
                assert status_run(status, broken).style in COLOUR_NAMES


def test_a_table_that_is_indexed_by_an_enumeration_is_total() -> None:
    indexed, partial = _indexed(), {}
    for module, name, table in _tables():
        kinds = {type(key) for key in table if key is not None}
        if (module.__name__, name) not in indexed or len(kinds) != 1:
            continue
        kind = next((enumeration for enumeration in _enumerations() - {FilterKey} if enumeration in kinds), None)
        if kind is not None:
            missing = [str(member) for member in kind if member not in table]
            if missing:
                partial[module.__name__, name] = missing
    assert {key: value for key, value in partial.items() if key not in _PARTIAL} == {}
    assert partial.keys() == _PARTIAL.keys(), "a reason is no longer needed"


@pytest.mark.parametrize("kind", [Severity, SpanKind])
def test_each_severity_and_each_kind_of_span_has_a_style(kind: type[StrEnum]) -> None:
    assert [style_of(member).value for member in kind] == [member.value for member in kind]
