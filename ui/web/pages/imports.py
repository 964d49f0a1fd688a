"""Imports: the logs of agents on this machine, and files of any known source, with a report for each.

A page that other machines can reach offers no logs of this machine: its visitors need not be who runs it.
"""

import time
from collections.abc import Sequence
from typing import IO, BinaryIO, cast

import streamlit as st

from weaklink.inspector.importers.reading import signs_of
from weaklink.inspector.importers.registry import importers
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.engine import location_of
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.store import open_store
from weaklink.ui.importing.discovered_logs import (
    LOG_COLUMNS,
    NUMBER_COLUMNS,
    LogGroup,
    discovered_logs,
    found_sentence,
    import_in_turn,
)
from weaklink.ui.importing.files import import_file, read_file, save_file
from weaklink.ui.importing.input_files import held_file, sample_files
from weaklink.ui.reports.import_report import IMPORT_HEADS, IMPORT_NUMBERS, FileReport, import_rows, import_sentences
from weaklink.ui.views.styled_text import Run, Style, counted
from weaklink.ui.web.components import ListingColumn, ListingRow, listing
from weaklink.ui.web.markup import message, page_head, put_prose
from weaklink.ui.web.navigation import go_to_page
from weaklink.ui.web.stores import READS_ONLY, current_options, require_write, store, visitor

_REPORTS = "weaklink_import_reports"
_ROUND = "weaklink_import_round"
_LOGS = "weaklink_import_logs"
_FRESH_S = 10.0  # a list of logs; looking for them reads the beginning of each
_LISTED_REM = 24


def show() -> None:
    """Draw the page: the logs of agents on this machine, the form for uploads, and the reports of this session."""
    page_head("Imports")
    st.text("Logs of agents and gateways. weaklink detects the source of a file from its content.")
    st.caption("weaklink replaces secrets before it writes anything, and does not import the same traces twice.")
    newest_id = _newest_id()
    if newest_id is None:  # other pages lead here, also from a mistyped `--db`
        database = message(f"`{location_of(current_options().where)}`")
        st.info(f"There is no database at {database} yet; the first import creates it.", icon=":material/database:")
    if not visitor().may_write:
        st.caption(READS_ONLY)
        return
    if current_options().is_local:
        _offer_logs(_discovered(current_options().where))
    round_ = st.session_state.setdefault(_ROUND, 0)
    uploads = st.file_uploader("Log files", accept_multiple_files=True, key=f"weaklink_upload_{round_}")
    if uploads and st.button(f"Import {counted(len(uploads), 'file')}", type="primary", icon=":material/upload:"):
        with st.spinner("Importing …"):
            st.session_state[_REPORTS] = [_imported(file.name, file) for file in uploads]
        st.session_state[_ROUND] = round_ + 1
        st.rerun()
    reports: list[FileReport] = st.session_state.get(_REPORTS, [])
    if not reports and not uploads:
        if not newest_id:
            st.caption("The sample traces show what weaklink finds; they need no network.")
            if st.button("Import the sample traces", key="weaklink_samples", icon=":material/science:"):
                with st.spinner("Importing …"):
                    st.session_state[_REPORTS] = _imported_samples()
                st.rerun()
        with st.expander("Supported sources"):
            listing(
                (ListingColumn("source"), ListingColumn("detected by")),
                _sources(),
                key="weaklink_sources",
                label="Sources",
            )
        return
    if reports:
        _show_reports(reports)
    if any(report.counts.traces for report in reports) and st.button("Show traces", icon=":material/list:"):
        go_to_page("traces")


def _show_reports(reports: Sequence[FileReport]) -> None:
    """Draw what was imported as a table, and below it what was skipped or refused, and the totals."""
    rows = import_rows(reports)
    if rows:
        columns = [
            ListingColumn(head, "end" if number in IMPORT_NUMBERS else "", is_elastic=head == "path")
            for number, head in enumerate(IMPORT_HEADS)
        ]
        listing(  # the path first: it names the row
            [columns[-1], *columns[:-1]],
            [ListingRow(str(number), (cells[-1], *cells[:-1])) for number, cells in enumerate(rows)],
            key="weaklink_imported",
            label="Imported files",
            most_rem=_LISTED_REM,
            is_stacked=True,
        )
    put_prose(import_sentences(reports))


@st.cache_resource(show_spinner=False, max_entries=1, ttl=_FRESH_S)
def _discovered(where: str | None) -> list[LogGroup]:
    return discovered_logs(where)


def _offer_logs(groups: Sequence[LogGroup]) -> None:
    """The list of agents and projects, and a button to import all of it, or the selected row; nothing without logs."""
    if not groups:
        return
    st.subheader("Logs on this machine", anchor=False)
    st.text(f"{found_sentence(groups)}.")
    rows = {"\0".join((group.source, group.project)): group for group in groups}
    now_s = time.time()
    done = listing(
        [
            ListingColumn(title, "end" if number in NUMBER_COLUMNS else "", is_elastic=title == "where")
            for number, title in enumerate(LOG_COLUMNS)
        ],
        [ListingRow(key, group.cells(now_s)) for key, group in rows.items()],
        key="weaklink_logs",
        selected=st.session_state.get(_LOGS),
        label="Logs on this machine",
        most_rem=_LISTED_REM,
    )
    if done.picked is not None:
        st.session_state[_LOGS] = done.picked
    selected = rows.get(st.session_state.get(_LOGS, ""))
    chosen: Sequence[LogGroup] = ()
    if any(group.new for group in groups) and st.button(
        "Import what is new", key="weaklink_logs_all", type="primary", icon=":material/download:"
    ):
        chosen = groups
    if selected and selected.new and st.button(f"Import only {selected.name}", key="weaklink_logs_selected"):
        chosen = [selected]
    if chosen:
        with st.spinner("Importing …"):
            st.session_state[_REPORTS] = _imported_logs([path for group in chosen for path in group.paths])
        _discovered.clear()
        st.rerun()


def _imported_logs(paths: Sequence[str]) -> list[FileReport]:
    require_write()
    with open_store(current_options().where) as opened:
        reports = [report for reports in import_in_turn(opened, paths) for report in reports]
        opened.search.index_pending()
        return reports


def _sources() -> list[ListingRow]:
    return [
        ListingRow(importer.name, ((Run(importer.name),), (Run(signs_of(importer), Style.DIM),)))
        for importer in importers()
    ]


def _newest_id() -> int | None:
    """The id of the newest trace, 0 in a database without traces; None if there is no database."""
    try:
        return store().paging().version().newest_id
    except NoDatabaseYetError:
        return None


def _imported_samples() -> list[FileReport]:
    require_write()
    with open_store(current_options().where) as opened, sample_files() as paths:
        reports = [import_file(opened, path, None, Redactor()) for path in paths]
        opened.search.index_pending()
        return reports


def _imported(name: str, file: IO[bytes]) -> FileReport:
    """Import one file and return its report; the file name comes from the user."""
    require_write()
    with held_file(cast("BinaryIO", file), name, name) as placed, open_store(current_options().where) as opened:
        (done,) = save_file(opened, read_file(placed, None, Redactor()))
        opened.search.index_pending()
        return done
