"""How intricate tools' schemas are, against how often calls keep them."""

from collections.abc import Iterator, Sequence

from inspector.chain.metrics import estimate
from inspector.chain.metrics_groups import GroupKey
from inspector.chain.metrics_measures import BY_NAME
from inspector.chain.metrics_tallies import Tally
from inspector.checks.schema_complexity import SchemaComplexity
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.stats_report import Statistics
from ui.views.stats_wording import bar, dim, value_text
from ui.views.table import table_lines
from ui.views.visible import visible_line

_MOST = 12
_BAR = 16
_COMPLIANCE = BY_NAME["schema_compliance"]


def schema_lines(found: Statistics, *, width: int) -> Iterator[Line]:
    """Compliance by the depth of schemas, and the tools with the most intricate ones; nothing but of groups by tool."""
    told = [(tool, schema, tally) for tool, schema, tally in _told(found) if tally.trials]
    if not told:
        return
    yield from _by_depth(told, found.fewest, width)
    yield ()
    intricate = sorted(told, key=lambda one: (-one[1].depth, -one[1].references, -one[1].properties, one[0]))
    rows = [
        (
            (Run(visible_line(tool), Style.STRONG),),
            *((Run(f"{count:,}"),) for count in (one.depth, one.properties, one.references, one.alternatives)),
            (Run(value_text(estimate(_COMPLIANCE, tally, found.fewest), found.fewest)), *dim(f" n={tally.trials:,}")),
        )
        for tool, one, tally in intricate[:_MOST]
    ]
    heads = ("most intricate", "depth", "properties", "$ref", "anyOf", "schema compliance")
    yield from table_lines(rows, width=width, heads=heads, numbers=(1, 2, 3, 4), widest=max(width - 56, 12))


def _told(found: Statistics) -> Iterator[tuple[str, SchemaComplexity, Tally]]:
    """Each tool whose schema is known, with the tally of its compliance over all groups that it is in."""
    at = list(found.by).index(GroupKey.TOOL) if GroupKey.TOOL in found.by else None
    sums: dict[str, Tally] = {}
    for group in found.groups if at is not None else ():
        tool = group.keys[at or 0]
        sums[tool] = sums.get(tool, Tally()) + group.tally(_COMPLIANCE.name)
    yield from ((tool, found.schemas[tool], tally) for tool, tally in sums.items() if tool in found.schemas)


def _by_depth(told: Sequence[tuple[str, SchemaComplexity, Tally]], fewest: int, width: int) -> Iterator[Line]:
    """One row for each depth; a trace counts once for each tool of that depth."""
    rows = []
    for depth in sorted({schema.depth for _, schema, _ in told}):
        same = [(schema, tally) for _, schema, tally in told if schema.depth == depth]
        one = estimate(_COMPLIANCE, sum((tally for _, tally in same), Tally()), fewest)
        rows.append(
            (
                (Run(str(depth)),),
                (Run(f"{len(same):,}"),),
                (Run(f"{sum(schema.references > 0 for schema, _ in same):,}"),),
                (Run(f"{one.tally.trials:,}"),),
                (Run(value_text(one, fewest)),),
                (Run(bar(one.value or 0.0, _BAR), Style.KEY),),
            )
        )
    heads = ("schema depth", "tools", "with $ref", "calls", "schema compliance", "")
    yield from table_lines(rows, width=width, heads=heads, numbers=(0, 1, 2, 3))
