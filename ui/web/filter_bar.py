"""The filter bar of every page: a text input kept in the address, with completion, and facets that narrow it by clicks.

Beside it is the menu of saved views.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import streamlit as st
from msgspec.structs import replace

from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.chain.metrics_groups import GroupFigures, GroupKey
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, TaskOutcome
from weaklink.inspector.text import Range
from weaklink.storage.derived_rows import argument_leaves
from weaklink.storage.filter import FilterCompletion, FilterError, check_filter
from weaklink.storage.packing.blobs import unescaped
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.navigation import call_at
from weaklink.ui.views.links import SavedView, forget_view, save_view, saved_views
from weaklink.ui.views.styled_text import Run, Style, visible_line
from weaklink.ui.views.triage import code_title, percent
from weaklink.ui.web.components import LinkCell, ListingColumn, ListingRow, listing
from weaklink.ui.web.markup import label, message, put_lines
from weaklink.ui.web.navigation import go_to_page, is_page, parameter, set_parameters
from weaklink.ui.web.queries import grouped, hits, page_results, put_progress
from weaklink.ui.web.stores import require_write, store, visitor

_KEY = "weaklink_filter_text"
_LINE = "weaklink_filter_line"
_OFFERED = "weaklink_filter_offered"
_EXAMPLE = "status:broken model:hermes* code:J104 Oslo"
_MAX_OFFERED = 12
_WORD_BEGUN = re.compile(r"(?:\A|[\s(-])(\w{2,})\Z")
_END_OF_TERM = re.compile(r"\s|\Z")
_FACETS_KEY = "weaklink_facet"
_CLOSE = "weaklink_facet_close"
_STATUS = "status"
_BROKEN = "broken "
_KEYS = (GroupKey.MODEL, GroupKey.CODE, GroupKey.TOOL, GroupKey.SOURCE, GroupKey.FORMAT, GroupKey.REASONING)
_MAX_VALUES = 100
STATUSES = ("broken", "aborted", "recovered", "unknown", "ok")
"""The statuses of traces, the worst first."""

_NAME = "weaklink_view_name"
_CHOSEN = "weaklink_view_chosen"
_FAULT = "weaklink_view_fault"

_MAX_ARGUMENTS, _MAX_CODES, _MAX_IDS = 12, 8, 4
_MAX_VALUE_CHARS = 200  # characters of a value
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)


def filter_bar(page: str) -> str | None:
    """Draw the bar for the page with this path; return the filter, or None (and show the error) if it is invalid."""
    filter_text = parameter("filter")
    with st.container(horizontal=True, gap="xsmall"):
        _field(page, filter_text)
        if filter_text:
            st.button("Clear", icon=":material/close:", on_click=clear_filter, help="Remove the filter")
        views_menu(page)
    error = check_filter(filter_text)
    if error is not None:
        _explain(filter_text, error)
        _offer(filter_text, _replacements(filter_text, error.position))
        return None
    if _WORD_BEGUN.search(filter_text):
        _offer(
            filter_text, [completion for completion in store().complete(filter_text) if completion.text.endswith(":")]
        )
    facets(filter_text)
    return filter_text


def clear_filter() -> None:
    """Remove the filter, on this page and on the next ones."""
    set_parameters(filter=None, after=None, look=None)


def nothing_found(filter_text: str) -> None:
    """Show why the page is empty: no trace matches the filter, or the database has no traces yet."""
    if not filter_text:
        st.info("The database contains no traces yet. Import logs or the sample traces, or run `weaklink import PATH`.")
        if st.button("Import files or sample traces", type="primary", icon=":material/upload:"):
            go_to_page("imports")
        return
    st.info("No trace matches this filter.")
    st.button("Clear the filter", on_click=clear_filter)


def _field(page: str, filter_text: str) -> None:
    """Draw the text input; it gets a new key whenever something other than the user changed the filter.

    A page that polls for figures sends the previous values of its inputs. With the same key, Streamlit would take such
    a value for text that the user typed.
    """
    line: tuple[str, str, int] = st.session_state.get(_LINE, ("", "", 0))
    if line[:2] != (page, filter_text):
        line = (page, filter_text, line[2] + 1)
        st.session_state[_LINE] = line
    st.text_input(
        "Filter",
        value=filter_text,  # in every run: a value of the session state is sent once, in a run that may be interrupted
        key=f"{_KEY}_{line[2]}",
        placeholder=_EXAMPLE,
        on_change=_changed,
        args=line,
        label_visibility="collapsed",
        width="stretch",
    )


def _changed(page: str, _before: str, number: int) -> None:
    text = st.session_state[f"{_KEY}_{number}"].strip()
    if not text:
        clear_filter()
    set_parameters(filter=text, after=None, look=None)
    st.session_state[_LINE] = (page, text, number)


def _explain(filter_text: str, error: FilterError) -> None:
    """Show the filter with a caret below the character at which the error is, and the error."""
    before = visible_line(filter_text[: error.position])
    put_lines(((Run(visible_line(filter_text)),), (Run(f"{' ' * len(before)}^", Style.ERROR),)))
    st.error(message(str(error)))


def _replacements(filter_text: str, position: int) -> list[FilterCompletion]:
    """Completions of the term with the error; if there are none, everything that is valid at its position."""
    match = _END_OF_TERM.search(filter_text, min(position, len(filter_text)))
    end = match.start() if match else len(filter_text)
    return store().complete(filter_text, end) or [
        replace(completion, end=end) for completion in store().complete(filter_text, position)
    ]


def _offer(filter_text: str, completions: list[FilterCompletion]) -> None:
    """Draw the completions; a click inserts one."""
    offered = completions[:_MAX_OFFERED]
    if not offered:
        return
    chosen = st.pills(
        "Completions",
        range(len(offered)),
        format_func=lambda index: label(offered[index].text),
        key=f"{_OFFERED}_{filter_text}",
        label_visibility="collapsed",
    )
    if chosen is not None:
        completion = offered[chosen]
        set_parameters(
            filter=filter_text[: completion.start] + completion.text + filter_text[completion.end :], after=None
        )
        st.rerun()


_NAMES = (_STATUS, *(key.value for key in _KEYS))


def facets(filter_text: str) -> None:
    """Draw the names of the facets, and the values of the one that is open; a click on a value narrows the filter."""
    if st.session_state.pop(_CLOSE, False):
        st.session_state[_FACETS_KEY] = None
    name = st.pills("Narrow by", _NAMES, key=_FACETS_KEY, label_visibility="collapsed")
    if name is None:
        return
    query = grouped(filter_text) if name == _STATUS else grouped(filter_text, GroupKey(name))
    results = page_results(query)
    put_progress(results, key="facet")
    if query not in results:
        return
    rows = facet_rows(name, results[query])
    if not rows:
        st.caption(f"None of the traces has a value for `{name}`.")
        return
    columns = (ListingColumn(name), ListingColumn("traces", "end"), ListingColumn("broken"))
    done = listing(
        columns,
        [row.drawn(index) for index, row in enumerate(rows)],
        key=f"weaklink_facet_{name}",
        label=f"Values of {name}",
        is_eager=True,
        most_rem=18,
    )
    if len(rows) == _MAX_VALUES:
        st.caption(f"Only the {_MAX_VALUES} most frequent values are shown.")
    if done.opened is not None:
        st.session_state[_CLOSE] = True
        row = rows[int(done.opened.removeprefix(_BROKEN))]
        terms = broken_terms(name, row.value) if done.opened.startswith(_BROKEN) else (field(name, row.value),)
        set_parameters(filter=narrowed(filter_text, *terms), after=None, look=None)
        st.rerun()


class FacetRow(NamedTuple):
    """A value of a facet, how many traces have it, and how many of those are broken."""

    value: str
    title: str
    traces: int
    broken: int

    def drawn(self, index: int) -> ListingRow:
        """The row; a click on its number of broken traces opens them."""
        if not self.broken:
            return ListingRow(str(index), ((Run(self.title),), (Run(f"{self.traces:,}"),), (Run("-", Style.DIM),)))
        share = self.broken / self.traces
        words = (Run(f"{self.broken:,} ({percent(share)} %)"),)
        opens = LinkCell(f"{_BROKEN}{index}", words, share)
        return ListingRow(str(index), ((Run(self.title),), (Run(f"{self.traces:,}"),), opens))


def broken_terms(name: str, value: str) -> tuple[str, ...]:
    """The filter terms for the broken traces of a facet's value; for a tool, those that broke at its calls."""
    return (field("break_tool", value),) if name == GroupKey.TOOL.value else (field(name, value), "status:broken")


def facet_rows(name: str, groups: Sequence[GroupFigures]) -> list[FacetRow]:
    """The values of a facet, the most frequent first; of statuses, those that occur, the worst first."""
    if name == _STATUS:
        counts = {status: hits(groups[0], status) for status in STATUSES} if groups else {}
        rows = [FacetRow(status, status, count, count * (status == "broken")) for status, count in counts.items()]
        return [row for row in rows if row.traces]
    named = [group for group in groups if group.keys[0]][:_MAX_VALUES]
    return [
        FacetRow(figures.keys[0], _title(GroupKey(name), figures.keys[0]), figures.traces, hits(figures, "broken"))
        for figures in named
    ]


def _title(key: GroupKey, value: str) -> str:
    return code_title(value) if key is GroupKey.CODE else visible_line(value)


def views_menu(page: str) -> None:
    """Draw the menu of saved views on the page with this path."""
    with st.popover("Views", icon=":material/bookmarks:"):
        try:
            views = [view for view in saved_views() if is_page(view.page)]
        except WeaklinkError as error:
            st.error(message(str(error)))
            return
        if views:
            _choose(views)
        may_write = visitor().may_write
        st.text_input("Save this view as", key=_NAME, max_chars=80, disabled=not may_write)
        st.button("Save", icon=":material/bookmark_add:", on_click=_save, args=(page,), disabled=not may_write)
        if fault := st.session_state.pop(_FAULT, ""):
            st.error(message(fault))


def _choose(views: list[SavedView]) -> None:
    chosen = st.selectbox(
        "Saved views", views, format_func=lambda view: visible_line(f"{view.name} ({view.page})"), key=_CHOSEN
    )
    with st.container(horizontal=True):
        if st.button("Open", type="primary", key="weaklink_view_open"):
            go_to_page(chosen.page, **chosen.state)
        st.button("Delete", on_click=_forget, args=(chosen.name,), disabled=not visitor().may_write)


def _save(page: str) -> None:
    try:
        require_write()
        told = save_view(SavedView(st.session_state[_NAME], page, st.query_params.to_dict()))
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)
        return
    st.session_state[_NAME] = ""
    st.toast(message(told))


def _forget(name: str) -> None:
    try:
        require_write()
        forget_view(name)
    except WeaklinkError as error:
        st.session_state[_FAULT] = str(error)


class ValueFilter(NamedTuple):
    """A value with its name, both for display, and the filter term for the traces with this value."""

    name: str
    value: str
    term: str


def field(key: str, value: str) -> str:
    """`key:value`, quoted if the value needs it."""
    return f"{key}:{_written(value)}"


def _written(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def narrowed(filter_text: str, *terms: str) -> str:
    """A filter narrowed by further terms; terms that it already contains are not repeated."""
    further = " ".join(term for term in terms if term and f" {term} " not in f" {filter_text} ")
    if not filter_text.strip() or not further:
        return filter_text.strip() or further
    return f"({filter_text.strip()}) {further}" if _CHOICE.search(filter_text) else f"{filter_text.strip()} {further}"


def column_terms(trace: TraceSummary) -> Mapping[str, str]:
    """The filter terms for a trace's values in a list, by column key; columns without a value have none."""
    task = task_outcome(trace.outcome)
    terms = {
        "status": "" if trace.liveness or trace.damaged else field("status", trace.status.value),
        "model": field("model", trace.model) if trace.model else "",
        "outcome": field("outcome", task.value) if trace.outcome and task is not TaskOutcome.UNKNOWN else "",
        "project": field("project", trace.project) if trace.project else "",
        "break": field("break", trace.broken.code) if trace.broken and trace.broken.code else "",
    }
    return {key: term for key, term in terms.items() if term}


def trace_filters(trace: TraceSummary) -> Iterator[ValueFilter]:
    """Filters for the values of a whole trace."""
    named = column_terms(trace)
    facts = {"status": trace.status.value, "model": trace.model, "outcome": task_outcome(trace.outcome).value}
    yield from (ValueFilter(name, value, named[name]) for name, value in facts.items() if name in named)
    tool = (trace.broken.tool or "") if trace.broken else ""
    broke = {"break": trace.broken.code if trace.broken else "", "break_tool": tool}
    described = {"project": trace.project, "source": trace.source, "format": trace.format, "name": trace.name}
    for name, value in (broke | described).items():
        if value and len(value) <= _MAX_VALUE_CHARS:
            yield ValueFilter(name, value, field(name, value))
    for name, value in islice(trace.external_ids.items(), _MAX_IDS):
        if 0 < len(value) <= _MAX_VALUE_CHARS:
            yield ValueFilter(name, value, field("session", value))


def position_filters(dissection: Dissection, location: Location) -> Iterator[ValueFilter]:
    """Filters for the values at a position: the rules of the faults there, the tool of the call, its arguments."""
    part = dissection.part(location.turn, location.part)
    range_ = Range(location.range.start, max(location.range.end, location.range.start + 1))
    codes = dict.fromkeys(diagnostic.rule.code for diagnostic in part.wrong_in(range_)) if part else {}
    yield from (ValueFilter("rule", code, field("code", code)) for code in islice(codes, _MAX_CODES))
    call = call_at(dissection, location)
    if call is None:
        return
    if call.name and len(call.name) <= _MAX_VALUE_CHARS:
        yield ValueFilter("tool", call.name, field("tool", call.name))
    if isinstance(call.arguments, dict):
        yield from islice(_arguments(call.arguments), _MAX_ARGUMENTS)


def _arguments(arguments: Json) -> Iterator[ValueFilter]:
    for _, kept, leaf in argument_leaves(arguments):
        path = unescaped(kept)
        text = leaf if isinstance(leaf, str) else write_json(leaf)
        term = f"arg:{path}={_written(text)}"
        if len(text) <= _MAX_VALUE_CHARS and check_filter(term) is None:
            yield ValueFilter(path, text, term)


def filter_menu(trace: TraceSummary, dissection: Dissection | None = None, location: Location | None = None) -> None:
    """Draw the menu of filters for a trace and for the call at a position; a click lists the matching traces."""
    with st.popover("Filter by", icon=":material/filter_alt:", key="weaklink_filter_by", on_change="rerun") as menu:
        if not menu.open:
            return
        of_selection = [] if dissection is None or location is None else list(position_filters(dissection, location))
        for title, filters in (("The selection", of_selection), ("The trace", list(trace_filters(trace)))):
            if filters:
                st.caption(title)
            with st.container(gap=None):
                for index, each in enumerate(filters):
                    text = f"{label(each.name)}: {label(each.value)}"
                    if st.button(text, key=f"weaklink_by_{title}_{index}", type="tertiary"):
                        go_to_page("traces", filter=narrowed(parameter("filter"), each.term))
