"""What pages ask of the database about many traces at once, as questions that are counted beside them."""

from collections.abc import Sequence

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.checks.schema_complexity import SchemaComplexity
from storage import Prompt, Violations
from ui.web.counter import CountQuery

_MOST_VIOLATIONS = 200


def grouped(wanted: str, *by: GroupKey) -> CountQuery[tuple[GroupFigures, ...]]:
    """What the traces that a filter lets through come to, group by group; one group of all where `by` is empty."""
    return CountQuery(("grouped", wanted, by), lambda store: tuple(store.figures(wanted, by=by)))


def sliced(wanted: str, aspect: Aspect) -> CountQuery[tuple[Slice, ...]]:
    """How many of the traces that a filter lets through show which value of an aspect."""
    return CountQuery(("sliced", wanted, aspect), lambda store: tuple(store.breakdown(aspect, wanted)))


def violated(wanted: str) -> CountQuery[tuple[Violations, ...]]:
    """Which places of which tools' schemas were broken, the most frequent first."""
    return CountQuery(("violated", wanted), lambda store: tuple(store.violations(wanted, limit=_MOST_VIOLATIONS)))


def schemas_of(tools: Sequence[str]) -> CountQuery[dict[str, SchemaComplexity]]:
    """How intricate the schemas of these tools are."""
    named = tuple(tool for tool in tools if tool)
    return CountQuery(("schemas", named), lambda store: store.schemas(named))


def prompts_of(hashes: Sequence[str]) -> CountQuery[dict[str, Prompt]]:
    """What the prompts with these hashes are known by."""
    named = tuple(one for one in hashes if one)
    return CountQuery(("prompts", named), lambda store: store.prompts(named))


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits
