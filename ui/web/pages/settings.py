"""Settings: where the data is, what pruning would delete, and what redaction removes from a text."""

import shlex
from collections.abc import Iterator
from time import time

import streamlit as st

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.version import __version__
from weaklink.storage.maintenance import Retention, StoreStats
from weaklink.storage.store import Store
from weaklink.ui.views.links import database_option, views_file
from weaklink.ui.views.stats import size_text, stored_traces
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible, visible_line
from weaklink.ui.web.components import LinkCell, ListingColumn, ListingRow, listing
from weaklink.ui.web.filter_bar import STATUSES, field, narrowed
from weaklink.ui.web.markup import message, put_lines, put_summary
from weaklink.ui.web.navigation import address_choice, address_toggle, go_to_page
from weaklink.ui.web.queries import CountQuery, counted_traces, data_version, wait_for
from weaklink.ui.web.stores import current_options, store

_AGES = {"7d": "a week", "30d": "30 days", "90d": "90 days", "365d": "a year"}
_DAY_S = 86_400
_MARKED = Style.REMOVED
_STATUS = "status"
_EVERY = "forks:yes"  # the answers of experiments, which lists leave out, are in the database too
_EXAMPLE = (
    "curl -H 'Authorization: Bearer sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8' https://api.example/v1?api_key=12345678abcd"
)


def show() -> None:
    """Draw the page."""
    st.title("Settings", anchor=False)
    _database()
    _retention()
    _redaction()
    _page()


def _database() -> None:
    st.subheader("Database", anchor=False)
    stats = _stats(current_options().where, data_version())
    columns = (ListingColumn("what"), ListingColumn("value"))
    done = listing(
        columns,
        list(_facts(stats, str(store().location))),
        key="weaklink_database",
        label="The database",
        is_eager=True,
    )
    if done.opened is not None and done.opened.startswith(f"{_STATUS}:"):
        go_to_page("traces", filter=done.opened)
    st.caption("This dashboard writes only marks, notes, imports and the answers to *Ask again* to the database.")
    st.code(_command("stats"), language=None, wrap_lines=True)


def _facts(stats: StoreStats, database: str) -> Iterator[ListingRow]:
    """The facts about the database; the row of a status opens its traces."""
    yield _fact("database", f"{visible_line(database)}, {size_text(stats.size_bytes)}")
    yield _fact("traces", stored_traces(stats))
    for status in (status for status in STATUSES if stats.by_status.get(status)):
        counted_traces = narrowed(field(_STATUS, status), _EVERY if stats.experiments else "")
        value = LinkCell(counted_traces, (Run(f"{stats.by_status[status]:,}"),))
        yield ListingRow(counted_traces, ((status_run(Status(status)),), value))
    for name in ("turns", "characters", "chunks", "tool_calls", "errors", "tools"):
        yield _fact(name.replace("_", " "), f"{getattr(stats, name):,}")
    if stats.not_indexed:
        yield _fact("not indexed", f"{stats.not_indexed:,}; the next search reads them")
    if stats.outdated:
        yield _fact("outdated", f"{stats.outdated:,}; weaklink db reinspect inspects them again")


def _fact(name: str, text: str) -> ListingRow:
    return ListingRow(name, ((Run(name, Style.DIM),), (Run(text),)))


@st.cache_resource(show_spinner="Counting …", ttl=60, max_entries=8)
def _stats(where: str | None, version: str) -> StoreStats:
    return store().maintenance.stats()


def _retention() -> None:
    st.subheader("Retention", anchor=False)
    st.text("weaklink deletes nothing automatically. The command below would delete:")
    ages = list(_AGES)
    age = address_choice("Traces older than", ages, "age", ages[1], titles=_AGES.__getitem__)
    keeps_broken = address_toggle("Keep broken traces", "keep_broken", "yes", key="weaklink_keep_broken")
    deleted = wait_for(_doomed(age, keeps_broken=keeps_broken))
    put_summary(f"{counted(deleted, 'trace')} would be deleted.")
    listed_filter = f"before:{age} {_EVERY}{' not status:broken' if keeps_broken else ''}"
    listed = wait_for(counted_traces(listed_filter)) if deleted else 0
    if deleted > listed:
        st.caption(
            f"{deleted - listed:,} of them have no recorded time: they are as old as their import, and no filter "
            "lists them."
        )
    title = "Show these traces" if deleted == listed else f"Show the other {listed:,}"
    if listed and st.button(title, key="weaklink_doomed", icon=":material/list:"):
        go_to_page("traces", filter=listed_filter)
    st.code(
        _command("prune", "--before", age, *(("--keep-broken",) if keeps_broken else ())),
        language=None,
        wrap_lines=True,
    )
    st.caption("The command asks for confirmation. It frees no disk space; `weaklink db vacuum` does.")


def _doomed(age: str, *, keeps_broken: bool) -> CountQuery[int]:
    """The number of traces that `prune` would delete."""

    def count(opened: Store) -> int:
        retention = Retention(time() - int(age.removesuffix("d")) * _DAY_S, keep_broken=keeps_broken)
        return opened.maintenance.count_to_prune(retention)

    return CountQuery(("doomed", age, keeps_broken), count)


def _redaction() -> None:
    st.subheader("Redaction", anchor=False)
    st.text("weaklink replaces secrets before it writes anything, at import and while recording. Try it with a text:")
    text = st.text_area("Text", key="weaklink_redacted", placeholder=_EXAMPLE, height=120, max_chars=100_000)
    pattern = st.text_input("Custom pattern", key="weaklink_pattern", placeholder="customer-[0-9]+")
    if not text:
        return
    try:
        redactor = Redactor((pattern,) if pattern else ())
    except ValueError as error:
        st.error(message(str(error)))
        return
    redacted = redactor.text(text)
    put_lines(_highlighted(text, redacted))
    st.caption(f"{counted(redactor.count, 'secret')} replaced. The text is not kept.")


def _highlighted(text: str, redacted: str) -> list[Line]:
    """The redacted text with the replaced characters highlighted; both texts have the same length."""
    lines: list[list[Run]] = [[]]
    for before, after in zip(text, redacted, strict=True):
        if after == "\n":
            lines.append([])
            continue
        style = _MARKED if before != after else Style.PLAIN
        last = lines[-1]
        if last and last[-1].style is style:
            last[-1] = Run(last[-1].text + visible(after), style)
        else:
            last.append(Run(visible(after), style))
    return [tuple(line) for line in lines]


def _page() -> None:
    st.subheader("This dashboard", anchor=False)
    reach = "this machine only" if current_options().is_local else "other machines too, with the token"
    facts = (
        ("weaklink", __version__),
        ("reachable from", reach),
        ("theme", "light or dark, as set in your browser or system"),
        ("usage statistics", "weaklink collects none, and the dashboard loads nothing from other hosts"),
        ("saved views", str(views_file())),
    )
    rows = [_fact(name, visible_line(text)) for name, text in facts]
    listing((ListingColumn("what"), ListingColumn("value")), rows, key="weaklink_this", label="This dashboard")


def _command(*words: str) -> str:
    return shlex.join(["weaklink", "db", *words, *database_option(current_options().where)])
