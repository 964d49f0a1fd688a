"""Filters by the values of a trace: each of them narrows the list to the traces that have the same value."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import streamlit as st

from inspector.chain.endings import task_outcome
from inspector.diagnostics import Location
from inspector.json_text import write_json
from inspector.model import Json, TaskOutcome
from inspector.text import Range, lazy_pattern
from storage import TraceSummary, check_filter
from storage.derived_rows import argument_leaves
from storage.packing.blobs import unescaped
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.navigation import call_at
from ui.web.markup import label
from ui.web.navigation import go_to_page, parameter

_MOST_ARGUMENTS, _MOST_CODES, _MOST_IDS = 12, 8, 4
_LONGEST = 200  # characters of a value
_PLAIN = lazy_pattern(r"[A-Za-z0-9_./-]+")
_CHOICE = lazy_pattern(r"\bor\b", re.IGNORECASE)


class ValueFilter(NamedTuple):
    """A value with its name as people read them, and the term that lets through the traces that have it."""

    name: str
    value: str
    term: str


def field(key: str, value: str) -> str:
    """`key:value`, quoted where the value needs it."""
    return f"{key}:{_written(value)}"


def _written(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    said = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{said}"'


def narrowed(wanted: str, *terms: str) -> str:
    """A filter with further terms that must hold too; those that it says already are not said twice."""
    further = " ".join(term for term in terms if term and f" {term} " not in f" {wanted} ")
    if not wanted.strip() or not further:
        return wanted.strip() or further
    return f"({wanted.strip()}) {further}" if _CHOICE.search(wanted) else f"{wanted.strip()} {further}"


def column_terms(one: TraceSummary) -> Mapping[str, str]:
    """The terms of the values in the columns of a list, by the key of the column; none where a cell has no value."""
    task = task_outcome(one.outcome)
    terms = {
        "status": "" if one.liveness or one.damaged else field("status", one.status.value),
        "model": field("model", one.model) if one.model else "",
        "outcome": field("outcome", task.value) if one.outcome and task is not TaskOutcome.UNKNOWN else "",
        "project": field("project", one.project) if one.project else "",
        "break": field("break", one.broken.code) if one.broken and one.broken.code else "",
    }
    return {key: term for key, term in terms.items() if term}


def trace_filters(one: TraceSummary) -> Iterator[ValueFilter]:
    """The values of a whole trace."""
    named = column_terms(one)
    facts = {"status": one.status.value, "model": one.model, "outcome": task_outcome(one.outcome).value}
    yield from (ValueFilter(name, value, named[name]) for name, value in facts.items() if name in named)
    tool = (one.broken.tool or "") if one.broken else ""
    broke = {"break": one.broken.code if one.broken else "", "break_tool": tool}
    described = {"project": one.project, "source": one.source, "format": one.format, "name": one.name}
    for name, value in (broke | described).items():
        if value and len(value) <= _LONGEST:
            yield ValueFilter(name, value, field(name, value))
    for name, value in islice(one.external_ids.items(), _MOST_IDS):
        if 0 < len(value) <= _LONGEST:
            yield ValueFilter(name, value, field("session", value))


def position_filters(dissection: Dissection, at: Location) -> Iterator[ValueFilter]:
    """The values at a position: the rules of the faults there, the tool of the call, its arguments."""
    part = dissection.part(at.turn, at.part)
    place = Range(at.range.start, max(at.range.end, at.range.start + 1))
    codes = dict.fromkeys(one.rule.code for one in part.wrong_in(place)) if part else {}
    yield from (ValueFilter("rule", code, field("code", code)) for code in islice(codes, _MOST_CODES))
    call = call_at(dissection, at)
    if call is None:
        return
    if call.name and len(call.name) <= _LONGEST:
        yield ValueFilter("tool", call.name, field("tool", call.name))
    if isinstance(call.arguments, dict):
        yield from islice(_arguments(call.arguments), _MOST_ARGUMENTS)


def _arguments(arguments: Json) -> Iterator[ValueFilter]:
    for _, kept, leaf in argument_leaves(arguments):
        path = unescaped(kept)
        text = leaf if isinstance(leaf, str) else write_json(leaf)
        term = f"arg:{path}={_written(text)}"
        if len(text) <= _LONGEST and check_filter(term) is None:
            yield ValueFilter(path, text, term)


def filter_menu(one: TraceSummary, dissection: Dissection | None = None, at: Location | None = None) -> None:
    """Draw the menu of the values of a trace, and of the call at a position; a click opens the list of such traces."""
    with st.popover("Filter by", icon=":material/filter_alt:", key="weaklink_filter_by", on_change="rerun") as menu:
        if not menu.open:
            return
        found = [] if dissection is None or at is None else list(position_filters(dissection, at))
        for title, filters in (("The selection", found), ("The trace", list(trace_filters(one)))):
            if filters:
                st.caption(title)
            with st.container(gap=None):
                for index, each in enumerate(filters):
                    said = f"{label(each.name)}: {label(each.value)}"
                    if st.button(said, key=f"weaklink_by_{title}_{index}", type="tertiary"):
                        go_to_page("traces", filter=narrowed(parameter("filter"), each.term))
