"""Every rule with the number of traces in which it was found, and an explanation of each."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from weaklink.inspector.chain.metrics_groups import GroupFigures, GroupKey
from weaklink.inspector.rules.catalogue import FAMILIES, RULES, find_rule
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.storage.schema import DatabaseGoneError, NoDatabaseYetError
from weaklink.ui.views.rule import example_lines, read_example, rule_paragraphs
from weaklink.ui.views.styled_text import Run, Style, style_of
from weaklink.ui.views.trace_columns import NOTHING
from weaklink.ui.web.components import LinkCell, ListingColumn, ListingRow, MinimumWidth
from weaklink.ui.web.filter_bar import field
from weaklink.ui.web.markup import page_head, put_laid_out, put_prose, put_sentence
from weaklink.ui.web.navigation import address_toggle, go_to_page, parameter, set_parameters
from weaklink.ui.web.queries import grouped, hits, wait_for
from weaklink.ui.web.trace_listing import SortedColumn, sorted_listing, table_and_details


class FoundRule(NamedTuple):
    """A rule, in how many traces it was found, and how many of those are broken."""

    rule: Rule
    traces: int
    broken: int

    @property
    def family(self) -> str:
        """The title of its family of rules."""
        return next(title for prefix, title, _ in FAMILIES if self.rule.code.startswith(prefix))


_COLUMNS: tuple[SortedColumn[FoundRule], ...] = (
    SortedColumn(ListingColumn("code", order="code"), lambda row: row.rule.code),
    SortedColumn(ListingColumn("name", order="name"), lambda row: row.rule.name),
    SortedColumn(ListingColumn("traces", order="traces"), lambda row: row.traces),
    SortedColumn(ListingColumn("broken", "end", room=MinimumWidth.MEDIUM, order="broken"), lambda row: row.broken),
    SortedColumn(
        ListingColumn("severity", room=MinimumWidth.MEDIUM, order="severity"),
        lambda row: -tuple(Severity).index(row.rule.severity),
    ),
    SortedColumn(ListingColumn("family", room=MinimumWidth.WIDE, order="family"), lambda row: row.family),
)


def show() -> None:
    """Draw the page: every rule, and beside them an explanation of the one in the address."""
    head = page_head("Rules")
    named = parameter("rule")
    chosen = find_rule(named) if named else None
    with head:
        groups = _counted()
    by_code = {group.keys[0]: (group.traces, hits(group, "broken")) for group in groups}
    only_found = address_toggle("Only rules that were found", "only", "found", key="weaklink_rules_found")
    most = max((traces for traces, _ in by_code.values()), default=1)
    table, beside = table_and_details("rules", is_open=chosen is not None)
    with table:
        done = sorted_listing(
            _COLUMNS,
            [
                FoundRule(rule, *by_code.get(rule.code, (0, 0)))
                for rule in RULES
                if rule.code in by_code or not only_found
            ],
            lambda row: rule_row(row, most),
            name="order",
            default="code",
            key="weaklink_rules",
            selected=chosen.code if chosen else None,
            label="Rules",
            has_details=True,
        )
        st.caption("Click a rule to see its explanation. Click a number of traces, or press Enter, to list the traces.")
    if done.opened is not None:
        is_row = any(rule.code == done.opened for rule in RULES)
        go_to_page("traces", filter=field("code", done.opened) if is_row else done.opened)
    if done.picked is not None:
        set_parameters(rule=done.picked)
        st.rerun()
    if chosen is not None:
        with beside:
            _explain(chosen, by_code.get(chosen.code, (0, 0))[0])


def _counted() -> Sequence[GroupFigures]:
    """The figures of each rule; none if there is no database yet: its rules can be read all the same."""
    try:
        return wait_for(grouped("", GroupKey.CODE))
    except DatabaseGoneError:
        raise
    except NoDatabaseYetError:
        put_sentence(aside="There is no database yet, so no traces are counted.")
        return ()


def rule_row(row: FoundRule, most: int) -> ListingRow:
    """A rule; a click on a number opens the traces that it counts, whose filter is the key of the cell."""
    rule, traces, broken = row
    return ListingRow(
        rule.code,
        (
            (Run(rule.code, style_of(rule.severity)),),
            (Run(rule.name, Style.STRONG),),
            LinkCell(field("code", rule.code), (Run(f"{traces:,}"),), traces / most) if traces else NOTHING,
            LinkCell(f"{field('code', rule.code)} status:broken", (Run(f"{broken:,}"),)) if broken else NOTHING,
            (Run(rule.severity.value, style_of(rule.severity)),),
            (Run(row.family, Style.DIM),),
        ),
    )


def _explain(rule: Rule, traces: int) -> None:
    with st.container(horizontal=True, gap="xsmall"):
        if traces and st.button(f"Traces with {rule.code}: {traces:,}", type="primary"):
            go_to_page("traces", filter=field("code", rule.code))
        if st.button("Close", key="weaklink_rule_hides_details", icon=":material/close:"):
            set_parameters(rule=None)
            st.rerun()
    put_prose(rule_paragraphs(rule))
    for text, heading in ((rule.bad, Run("Fails", Style.REMOVED)), (rule.good, Run("Passes", Style.ADDED))):
        if text:
            put_prose([(heading, Run(f" in the format {rule.format}", Style.DIM))])
            put_laid_out(partial(example_lines, read_example(text, rule.format)))
