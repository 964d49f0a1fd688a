"""The latest result of `weaklink probe` for each endpoint, side by side; every number opens the traces behind it."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import streamlit as st

from weaklink.inspector.json_text import object_of, objects_of, word_of
from weaklink.inspector.model import Json
from weaklink.inspector.probe.judging import KINDS, Owner
from weaklink.storage.probe_runs import ProbeRunRecord
from weaklink.ui.experiments.probing import measure_mark
from weaklink.ui.reports.probe_report import percent_text
from weaklink.ui.views.styled_text import Line, Run, Style
from weaklink.ui.views.trace_columns import NOTHING
from weaklink.ui.web.components import LinkCell, ListingColumn, ListingRow, MinimumWidth
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.stores import store
from weaklink.ui.web.trace_listing import SortedColumn, sorted_listing

_SHOWN = ("schema", "right", "stream", "api", "answered")


class Endpoint(NamedTuple):
    """One endpoint with the measures of its latest run, by name: the value and the title with the count."""

    key: str
    run: ProbeRunRecord
    shares: Mapping[str, float]
    counts: Mapping[str, str]
    findings: tuple[tuple[str, Mapping[str, int]], ...]

    @property
    def findings_count(self) -> int:
        """The number of findings."""
        return sum(sum(owners.values()) for _, owners in self.findings)


def show() -> None:
    """Draw the page: the endpoints, and the findings of the one in the address."""
    st.title("Endpoints", anchor=False)
    endpoints = [endpoint_of(run) for run in store().probe_runs.latest()]
    if not endpoints:
        st.info(
            "No endpoint was probed yet: `weaklink probe URL --model NAME` measures which tool calls a server breaks."
        )
        return
    chosen = next((endpoint for endpoint in endpoints if endpoint.key == parameter("endpoint")), endpoints[0])
    done = sorted_listing(
        _COLUMNS,
        endpoints,
        endpoint_row,
        name="order",
        default="endpoint",
        key="weaklink_endpoints",
        selected=chosen.key,
        label="Endpoints",
    )
    st.caption("Click an endpoint to see its findings. Click a number to list the answers with findings.")
    if done.opened is not None:
        filter_text = done.opened if done.opened.startswith("session:") else f"session:{chosen.run.session}"
        go_to_page("traces", filter=filter_text)
    if done.picked is not None:
        set_parameters(endpoint=done.picked)
        chosen = next((endpoint for endpoint in endpoints if endpoint.key == done.picked), chosen)
    _findings(chosen)


def endpoint_of(run: ProbeRunRecord) -> Endpoint:
    """The endpoint of a stored run; a summary that cannot be read has no measures."""
    try:
        own = object_of(object_of(json.loads(run.summary)).get("weaklink"))
    except (ValueError, RecursionError):
        own = {}
    measures = {word_of(measure.get("measure")): measure for measure in objects_of(own.get("measures"))}
    shares = {
        name: float(value)
        for name, measure in measures.items()
        if isinstance(value := measure.get("value"), int | float)
    }
    counts = {name: f"{measure.get('hits')}/{measure.get('of')}" for name, measure in measures.items()}
    findings = tuple((word_of(finding.get("kind")), _owners(finding)) for finding in objects_of(own.get("findings")))
    return Endpoint(run.session, run, shares, counts, findings)


def _owners(finding: Mapping[str, Json]) -> dict[str, int]:
    return {owner.value: count for owner in Owner if isinstance(count := finding.get(owner.value), int) and count}


def _by_share(name: str) -> Callable[[Endpoint], float]:
    return lambda endpoint: endpoint.shares.get(name, -1.0)


_COLUMNS: tuple[SortedColumn[Endpoint], ...] = (
    SortedColumn(ListingColumn("endpoint", order="endpoint"), lambda endpoint: endpoint.run.url),
    SortedColumn(ListingColumn("model", order="model"), lambda endpoint: endpoint.run.model),
    *(
        SortedColumn(
            ListingColumn(name, "end", room=MinimumWidth.MEDIUM if index > 1 else MinimumWidth.ANY, order=name),
            _by_share(name),
        )
        for index, name in enumerate(_SHOWN)
    ),
    SortedColumn(ListingColumn("findings", "end", order="findings"), lambda endpoint: endpoint.findings_count),
    SortedColumn(ListingColumn("probed", room=MinimumWidth.WIDE, order="probed"), lambda endpoint: endpoint.run.at_s),
)


def endpoint_row(endpoint: Endpoint) -> ListingRow:
    """An endpoint; a click on a number opens the answers that fail this measure, or those with findings."""
    wanted = f"session:{endpoint.run.session}"
    shares = (_share(endpoint, name) for name in _SHOWN)
    probed = datetime.fromtimestamp(endpoint.run.at_s, UTC)
    return ListingRow(
        endpoint.key,
        (
            (Run(endpoint.run.url, Style.STRONG),),
            (Run(endpoint.run.model),),
            *shares,
            LinkCell(wanted, (Run(f"{endpoint.findings_count:,}"),)) if endpoint.findings_count else NOTHING,
            (Run(f"{probed:%Y-%m-%d %H:%M} UTC", Style.DIM),),
        ),
    )


def _share(endpoint: Endpoint, name: str) -> Line | LinkCell:
    if name not in endpoint.shares:
        return NOTHING
    line = (Run(f"{percent_text(endpoint.shares[name])} ({endpoint.counts[name]})"),)
    return (
        LinkCell(f"session:{endpoint.run.session} name:*{measure_mark(name)}*", line)
        if endpoint.shares[name] < 1
        else line
    )


def _findings(endpoint: Endpoint) -> None:
    """The findings of an endpoint by kind, each with what is promised, its owners, and a button to its answers."""
    if not endpoint.findings:
        st.success("No findings.")
        return
    for kind, owners in endpoint.findings:
        words = ", ".join(f"{owner} {count}" for owner, count in owners.items())
        text, button = st.columns([5, 1])
        text.text(f"{kind} — {words}\n{KINDS.get(kind, 'Breaks the rule of this name.')}")
        if button.button(
            f"{sum(owners.values()):,}", key=f"weaklink_finding_{endpoint.key}_{kind}", help=f"Answers with {kind}"
        ):
            go_to_page("traces", filter=f"session:{endpoint.run.session} name:*{kind}*")
