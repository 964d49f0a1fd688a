"""Tools: how often calls of each are sound, answered and made good, and which arguments break its schema."""

from typing import NamedTuple

import streamlit as st

from inspector.chain.metrics import BY_NAME, FEWEST, Measure, MeasureKind, estimate
from inspector.chain.metrics_groups import GroupFigures, GroupKey
from inspector.checks.schema_complexity import SchemaComplexity
from storage import TraceSummary, Violations
from ui.views.styled_text import Line, Run, Style, visible_line
from ui.views.triage import code_title, page_value_text
from ui.web import queries
from ui.web.charts import HIGH, LOW
from ui.web.components import BarCell, FilterCell, LinkCell, ListingCell, ListingColumn, ListingRow, MinimumWidth
from ui.web.filter_bar import field, filter_bar, narrowed, nothing_found
from ui.web.markup import label
from ui.web.navigation import go_to_page, parameter, set_parameters
from ui.web.stores import store
from ui.web.trace_listing import SortedColumn, sorted_listing, trace_list, trace_rows

_MOST = 200
_EXAMPLES = 5
_MEASURES = tuple(
    BY_NAME[name] for name in ("well_formed", "schema_compliance", "error_results", "error_recovery", "latency_ms")
)
_ORDER, _VIOLATIONS_ORDER = "order", "broken_order"
_TIMES = "times"
_VIOLATED: tuple[SortedColumn[Violations], ...] = (
    SortedColumn(ListingColumn("tool", order="tool"), lambda one: one.tool),
    SortedColumn(ListingColumn("argument", mono=True, order="argument", is_elastic=True), lambda one: one.path),
    SortedColumn(ListingColumn("rule", order="rule", is_elastic=True), lambda one: one.code),
    SortedColumn(ListingColumn(_TIMES, "end", room=MinimumWidth.MEDIUM, order=_TIMES), lambda one: one.times),
    SortedColumn(ListingColumn("traces", "end", order="traces"), lambda one: one.traces),
)


class _ToolFigures(NamedTuple):
    """A tool with what its calls come to, and its schema where it was offered."""

    group: GroupFigures
    schema: SchemaComplexity | None

    def value(self, measure: Measure) -> float | None:
        """What a measure comes to; None where nothing was counted."""
        return estimate(measure, self.group.tally(measure.name)).value


def _measure_column(measure: Measure, room: MinimumWidth) -> SortedColumn[_ToolFigures]:
    return SortedColumn(ListingColumn(measure.title, room=room, order=measure.name), lambda one: one.value(measure))


_COLUMNS: tuple[SortedColumn[_ToolFigures], ...] = (
    SortedColumn(ListingColumn("tool", order="tool"), lambda one: one.group.keys[0]),
    SortedColumn(ListingColumn("traces", "end", order="traces"), lambda one: one.group.traces),
    SortedColumn(
        ListingColumn("calls", "end", room=MinimumWidth.MEDIUM, order="calls"),
        lambda one: one.group.tally("calls_per_trace").hits,
    ),
    *(
        _measure_column(one, MinimumWidth.MEDIUM if index < 2 else MinimumWidth.WIDE)
        for index, one in enumerate(_MEASURES)
    ),
    SortedColumn(
        ListingColumn("schema", room=MinimumWidth.WIDE, order="schema"),
        lambda one: one.schema.properties if one.schema else None,
    ),
)


def show() -> None:
    """Draw the page: every tool, and below them the violations and examples of the one that is chosen, else of all."""
    st.title("Tools")
    wanted = filter_bar("tools")
    if wanted is None:
        return
    tool = parameter("tool")
    narrower = narrowed(wanted, field("tool", tool)) if tool else wanted
    groups, violations = queries.grouped(wanted, GroupKey.TOOL), queries.violated(narrower)
    queries.start_queries(groups, violations)
    examples = _examples(narrower)
    if not examples and not tool:
        nothing_found(wanted)
        return
    above = st.container()
    _show_examples(examples)
    sheet = queries.page_results(groups, violations)
    with above:
        queries.put_progress(sheet)
        _tools(sheet, groups, wanted, tool)
        _violations(sheet, violations, wanted, tool)


def _tools(
    sheet: queries.PageResults, question: queries.CountQuery[tuple[GroupFigures, ...]], wanted: str, tool: str
) -> None:
    """Every tool with what its calls come to."""
    if question not in sheet:
        queries.put_placeholder(HIGH)
        return
    groups = sheet[question]
    shown = groups[:_MOST]
    schemas = queries.wait_for(queries.schemas_of([group.keys[0] for group in shown]))
    done = sorted_listing(
        _COLUMNS,
        [_ToolFigures(group, schemas.get(group.keys[0])) for group in shown],
        _row,
        name=_ORDER,
        default="traces",
        key="weaklink_tools",
        selected=parameter("tool"),
        label="Tools",
    )
    left_out = f" These are the {_MOST} tools of the most traces, of {len(groups):,}." if len(groups) > _MOST else ""
    st.caption(f"A click shows what breaks a tool; its number of traces, or Enter, opens them.{left_out}")
    if done.opened is not None:
        go_to_page("traces", filter=narrowed(wanted, field("tool", done.opened)))
    _filter_by(wanted, done.filtered)
    if done.picked is not None:
        set_parameters(tool=done.picked)
        st.rerun()
    if tool and st.button(f"All tools, not {label(tool)} alone", icon=":material/close:"):
        set_parameters(tool=None)
        st.rerun()


def _filter_by(wanted: str, term: str | None) -> None:
    """Leave for the traces that have the value whose funnel was clicked."""
    if term is not None:
        go_to_page("traces", filter=narrowed(wanted, term))


def _row(one: _ToolFigures) -> ListingRow:
    group = one.group
    tool = group.keys[0]
    cells: list[ListingCell] = [
        FilterCell(field("tool", tool), (Run(visible_line(tool) or "(no readable name)", Style.STRONG),)),
        LinkCell(tool, (Run(f"{group.traces:,}"),)),
        (Run(f"{group.tally('calls_per_trace').hits:,}"),),
    ]
    for measure in _MEASURES:
        found = estimate(measure, group.tally(measure.name))
        share = found.value if measure.kind is not MeasureKind.MEAN else None
        style = Style.DIM if found.value is None else Style.PLAIN
        cells.append(BarCell(share, (Run(page_value_text(found, FEWEST), style),)))
    return ListingRow(tool, (*cells, _schema_words(one.schema)))


def _schema_words(schema: SchemaComplexity | None) -> Line:
    if schema is None:
        return (Run("not offered", Style.DIM),)
    further = [
        f"{schema.references} $ref" if schema.references else "",
        f"{schema.alternatives} anyOf" if schema.alternatives else "",
    ]
    return (Run(", ".join([f"depth {schema.depth}, {schema.properties} properties", *filter(None, further)])),)


def _violations(
    sheet: queries.PageResults, question: queries.CountQuery[tuple[Violations, ...]], wanted: str, tool: str
) -> None:
    st.subheader("Where schemas are broken", anchor=False)
    if question not in sheet:
        queries.put_placeholder(LOW)
        return
    found = [one for one in sheet[question] if not tool or one.tool == tool]
    if not found:
        st.caption("No call of the chosen tool broke its schema." if tool else "No call broke the schema of its tool.")
        return
    done = sorted_listing(
        _VIOLATED,
        found,
        violation_row,
        name=_VIOLATIONS_ORDER,
        default=_TIMES,
        key="weaklink_violations",
        label="Broken schemas",
        is_eager=True,
    )
    st.caption("A click shows the traces.")
    _filter_by(wanted, done.filtered)
    if done.opened is not None:
        go_to_page("traces", filter=narrowed(wanted, done.opened))


def violation_row(one: Violations) -> ListingRow:
    """A broken place of a schema; its key, which its number of traces opens too, is the filter of those traces."""
    term = violation_term(one)
    cells: tuple[ListingCell, ...] = (
        FilterCell(field("tool", one.tool), (Run(visible_line(one.tool), Style.STRONG),)),
        (Run(visible_line(one.path) or "(the arguments as a whole)", Style.KEY),),
        FilterCell(field("code", one.code), (Run(code_title(one.code), Style.ERROR),)),
        (Run(f"{one.times:,}"),),
        LinkCell(term, (Run(f"{one.traces:,}"),)),
    )
    return ListingRow(term, cells)


def violation_term(one: Violations) -> str:
    """The term of the filter that lets through the traces that a row counts."""
    return field("violates", f"{one.code} {one.tool} {one.path}".rstrip(" "))


def _examples(wanted: str) -> list[TraceSummary]:
    """The newest traces that a filter lets through, those that broke first."""
    broken = store().traces(narrowed(wanted, "status:broken"), limit=_EXAMPLES)
    known = {one.id for one in broken}
    return [*broken, *(one for one in store().traces(wanted, limit=_EXAMPLES) if one.id not in known)]


def _show_examples(found: list[TraceSummary]) -> None:
    st.subheader("Examples", anchor=False)
    wanted = parameter("filter")
    opened = trace_list(trace_rows(found), wanted, key="weaklink_examples", label="Examples")
    if opened is not None:
        go_to_page("trace", trace=opened, filter=wanted)
