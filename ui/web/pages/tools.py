"""Tools: how often calls of each are well-formed, fail and recover, and which arguments violate its schema."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from weaklink.inspector.chain.metrics import BY_NAME, FEWEST, Measure, MeasureKind, estimate
from weaklink.inspector.chain.metrics_groups import GroupFigures, GroupKey
from weaklink.inspector.checks.schema_complexity import SchemaComplexity
from weaklink.storage.statistics import Violations
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line
from weaklink.ui.views.triage import code_title, page_value_text
from weaklink.ui.web import queries
from weaklink.ui.web.charts import HIGH, LOW
from weaklink.ui.web.components import (
    BarCell,
    FilterCell,
    LinkCell,
    ListingCell,
    ListingColumn,
    ListingRow,
    MinimumWidth,
)
from weaklink.ui.web.filter_bar import field, filter_bar, narrowed, nothing_found
from weaklink.ui.web.markup import label, page_head
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.stores import store
from weaklink.ui.web.trace_listing import SortedColumn, sorted_listing, table_and_details, trace_list, trace_rows

_MAX_TOOLS = 200
_MAX_EXAMPLES = 5
_MEASURES = tuple(
    BY_NAME[name] for name in ("well_formed", "schema_compliance", "error_results", "error_recovery", "latency_ms")
)
_ORDER, _VIOLATIONS_ORDER = "order", "broken_order"
_TIMES = "times"
_VIOLATED: tuple[SortedColumn[Violations], ...] = (
    SortedColumn(ListingColumn("tool", order="tool"), lambda violation: violation.tool),
    SortedColumn(
        ListingColumn("argument", mono=True, order="argument", is_elastic=True), lambda violation: violation.path
    ),
    SortedColumn(ListingColumn("rule", order="rule", is_elastic=True), lambda violation: violation.code),
    SortedColumn(
        ListingColumn(_TIMES, "end", room=MinimumWidth.MEDIUM, order=_TIMES), lambda violation: violation.times
    ),
    SortedColumn(ListingColumn("traces", "end", order="traces"), lambda violation: violation.traces),
)


class _ToolFigures(NamedTuple):
    """A tool with the figures of its calls, and its schema if it was offered."""

    group: GroupFigures
    schema: SchemaComplexity | None

    def value(self, measure: Measure) -> float | None:
        """The value of a measure; None if nothing was counted."""
        return estimate(measure, self.group.tally(measure.name)).value


def _measure_column(measure: Measure, room: MinimumWidth) -> SortedColumn[_ToolFigures]:
    return SortedColumn(ListingColumn(measure.title, room=room, order=measure.name), lambda tool: tool.value(measure))


_COLUMNS: tuple[SortedColumn[_ToolFigures], ...] = (
    SortedColumn(ListingColumn("tool", order="tool"), lambda tool: tool.group.keys[0]),
    SortedColumn(ListingColumn("traces", "end", order="traces"), lambda tool: tool.group.traces),
    SortedColumn(
        ListingColumn("calls", "end", room=MinimumWidth.MEDIUM, order="calls"),
        lambda tool: tool.group.tally("calls_per_trace").hits,
    ),
    *(
        _measure_column(measure, MinimumWidth.MEDIUM if index < 2 else MinimumWidth.WIDE)
        for index, measure in enumerate(_MEASURES)
    ),
    SortedColumn(
        ListingColumn("schema", room=MinimumWidth.WIDE, order="schema"),
        lambda tool: tool.schema.properties if tool.schema else None,
    ),
)


def show() -> None:
    """Draw the page: every tool, and beside them the violations and examples of the selected tool.

    Without a selected tool, those of all tools are below.
    """
    head = page_head("Tools")
    filter_text = filter_bar("tools")
    if filter_text is None:
        return
    tool = parameter("tool")
    narrower = narrowed(filter_text, field("tool", tool)) if tool else filter_text
    groups, violations = queries.grouped(filter_text, GroupKey.TOOL), queries.violated(narrower)
    queries.start_queries(groups, violations)
    examples = _examples(narrower)
    if not examples and not tool:
        nothing_found(filter_text)
        return
    table, beside = table_and_details("tools", is_open=bool(tool))
    results = queries.page_results(groups, violations)
    with head:
        queries.put_progress(results)
        schemas = _schemas(results, groups)
    with table:
        _tools(results, groups, schemas, filter_text, tool)
    if groups not in results and not tool:
        return  # what is below the table would move when the table comes
    with beside:
        _violations(results, violations, filter_text, tool)
        _show_examples(examples)


def _schemas(
    results: queries.PageResults, query: queries.CountQuery[tuple[GroupFigures, ...]]
) -> Mapping[str, SchemaComplexity]:
    """The schemas of the tools that are shown, once these are counted."""
    if query not in results:
        return {}
    return queries.wait_for(queries.schemas_of([group.keys[0] for group in results[query][:_MAX_TOOLS]]))


def _tools(
    results: queries.PageResults,
    query: queries.CountQuery[tuple[GroupFigures, ...]],
    schemas: Mapping[str, SchemaComplexity],
    filter_text: str,
    tool: str,
) -> None:
    """Draw every tool with the figures of its calls."""
    if query not in results:
        queries.put_placeholder(HIGH)
        return
    groups = results[query]
    shown = groups[:_MAX_TOOLS]
    done = sorted_listing(
        _COLUMNS,
        [_ToolFigures(group, schemas.get(group.keys[0])) for group in shown],
        _row,
        name=_ORDER,
        default="traces",
        key="weaklink_tools",
        selected=parameter("tool"),
        label="Tools",
        has_details=True,
    )
    left_out = (
        f" Only the {_MAX_TOOLS} tools with the most traces are shown, of {len(groups):,}."
        if len(groups) > _MAX_TOOLS
        else ""
    )
    st.caption(
        f"Click a tool to see what breaks it. Click its number of traces, or press Enter, to list them.{left_out}"
    )
    if done.opened is not None:
        go_to_page("traces", filter=narrowed(filter_text, field("tool", done.opened)))
    _filter_by(filter_text, done.filtered)
    if done.picked is not None:
        set_parameters(tool=done.picked)
        st.rerun()
    if tool and st.button(
        f"All tools, not only {label(tool)}", key="weaklink_tool_hides_details", icon=":material/close:"
    ):
        set_parameters(tool=None)
        st.rerun()


def _filter_by(filter_text: str, term: str | None) -> None:
    """Open the traces with the value whose funnel was clicked."""
    if term is not None:
        go_to_page("traces", filter=narrowed(filter_text, term))


def _row(figures: _ToolFigures) -> ListingRow:
    group = figures.group
    tool = group.keys[0]
    cells: list[ListingCell] = [
        FilterCell(field("tool", tool), (Run(visible_line(tool) or "(no readable name)", Style.STRONG),)),
        LinkCell(tool, (Run(f"{group.traces:,}"),)),
        (Run(f"{group.tally('calls_per_trace').hits:,}"),),
    ]
    for measure in _MEASURES:
        measured = estimate(measure, group.tally(measure.name))
        share = measured.value if measure.kind is not MeasureKind.MEAN else None
        style = Style.DIM if measured.value is None else Style.PLAIN
        cells.append(BarCell(share, (Run(page_value_text(measured, FEWEST), style),)))
    return ListingRow(tool, (*cells, _schema_words(figures.schema)))


def _schema_words(schema: SchemaComplexity | None) -> Line:
    if schema is None:
        return (Run("in no request", Style.DIM),)  # though perhaps in the text of a prompt
    words = [
        f"depth {schema.depth}",
        counted(schema.properties, "property", "properties"),
        f"{schema.references} $ref" if schema.references else "",
        f"{schema.alternatives} anyOf" if schema.alternatives else "",
    ]
    return (Run(", ".join(filter(None, words))),)


def _violations(
    results: queries.PageResults, query: queries.CountQuery[tuple[Violations, ...]], filter_text: str, tool: str
) -> None:
    st.subheader("Schema violations", anchor=False)
    if query not in results:
        queries.put_placeholder(LOW)
        return
    found_violations = [violations for violations in results[query] if not tool or violations.tool == tool]
    if not found_violations:
        what = "No argument of the selected tool violates its schema." if tool else "No argument violates a schema."
        st.caption(f"{what} For schema compliance, calls that are not well-formed count too.")
        return
    done = sorted_listing(
        _VIOLATED,
        found_violations,
        violation_row,
        name=_VIOLATIONS_ORDER,
        default=_TIMES,
        key="weaklink_violations",
        label="Schema violations",
        is_eager=True,
    )
    st.caption("Click a row to list its traces.")
    _filter_by(filter_text, done.filtered)
    if done.opened is not None:
        go_to_page("traces", filter=narrowed(filter_text, done.opened))


def violation_row(violation: Violations) -> ListingRow:
    """A violated place of a schema; the key of the row and of its number of traces is these traces' filter."""
    term = violation_term(violation)
    cells: tuple[ListingCell, ...] = (
        FilterCell(field("tool", violation.tool), (Run(visible_line(violation.tool), Style.STRONG),)),
        (Run(visible_line(violation.path) or "(the arguments as a whole)", Style.KEY),),
        FilterCell(field("code", violation.code), (Run(code_title(violation.code), Style.ERROR),)),
        (Run(f"{violation.times:,}"),),
        LinkCell(term, (Run(f"{violation.traces:,}"),)),
    )
    return ListingRow(term, cells)


def violation_term(violation: Violations) -> str:
    """The filter term for the traces that a row counts."""
    return field("violates", f"{violation.code} {violation.tool} {violation.path}".rstrip(" "))


def _examples(filter_text: str) -> list[TraceSummary]:
    """The newest traces that match a filter, those that broke before the others."""
    broken = store().traces(narrowed(filter_text, "status:broken"), limit=_MAX_EXAMPLES)
    known = {summary.id for summary in broken}
    return [*broken, *(trace for trace in store().traces(filter_text, limit=_MAX_EXAMPLES) if trace.id not in known)]


def _show_examples(summaries: list[TraceSummary]) -> None:
    st.subheader("Examples", anchor=False)
    filter_text = parameter("filter")
    opened = trace_list(trace_rows(summaries, filter_text), filter_text, key="weaklink_examples", label="Examples")
    if opened is not None:
        go_to_page("trace", trace=opened, filter=filter_text)
