"""Actions on a trace's page: mark, note, download, links, and going to the previous or next trace of the list."""

import asyncio
import shlex
from collections.abc import Coroutine, Iterable, Sequence
from itertools import islice
from threading import Event, Thread
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from msgspec import Struct, field

from weaklink.inspector.capture.replay_server import ReplayServer
from weaklink.inspector.capture.resending import ResendTarget
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import Role, Trace
from weaklink.storage.store import open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.experiments.ask_again import AskExperiment, AskPlan, AskResult
from weaklink.ui.experiments.ask_views import (
    AskForm,
    ResultTable,
    experiment_of,
    plan_lines,
    replay_server_of,
    result_table,
    sentences,
)
from weaklink.ui.experiments.serving import serving, serving_lines
from weaklink.ui.reports.html_page import html_page
from weaklink.ui.views.dissect.navigation import step_at
from weaklink.ui.views.links import Link, database_option
from weaklink.ui.views.styled_text import Line, Run, Style, visible_line
from weaklink.ui.web.components import ListingColumn, ListingRow, listing
from weaklink.ui.web.filter_bar import filter_menu
from weaklink.ui.web.markup import label, message, put_prose
from weaklink.ui.web.navigation import go_to_page, parameter, set_parameters
from weaklink.ui.web.stores import READS_ONLY, ShownTrace, current_options, require_write, store, visitor, writable
from weaklink.ui.web.watching import put_part, watch

_NOTE = "weaklink_note"
_MAX_IDS, _MAX_TEXT_CHARS = 4, 1_000

_WORK, _PREVIEW = "weaklink_ask_work", "weaklink_ask_preview"
_BESIDE, _ASK = "beside", "ask"
_EVERY_S = 1.0
_WIDTH = 160  # characters of a line


def trace_actions(shown: ShownTrace, location: Location | None) -> None:
    """Draw the buttons in a row; a note belongs to the whole trace, or to the turn or step at `location`."""
    id_ = shown.summary.id
    with st.container(horizontal=True, gap="xsmall", width="content", key="weaklink_trace_actions"):
        _adjacent_links(shown)
        filter_menu(shown.summary, shown.dissection, location)
        with st.popover(_mark_title(shown), key="weaklink_mark", on_change="rerun"):  # the selection may have moved
            _marks(shown, location)
        with st.popover("Link", icon=":material/content_copy:", key="weaklink_copy", on_change="rerun"):
            _copies(shown, location)
        st.download_button(
            "HTML file",
            data=lambda: "".join(html_page([(id_, shown.trace, shown.inspection)], title=f"trace {id_}")).encode(),
            file_name=f"weaklink-trace-{id_}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
        )
        if st.button("Compare", icon=":material/compare_arrows:"):
            go_to_page("compare", runs=id_)
        _ask_button(shown)


def _copies(shown: ShownTrace, location: Location | None) -> None:
    """Draw what users copy, each with a copy button: the address, the command, and the ids."""
    summary = shown.summary
    what = "the selected characters" if location is not None else "this trace"
    copies = {
        f"The address that opens {what}": _address(),
        f"The command that opens {what} in a terminal": _command(summary.id, location),
        **{label(name): value for name, value in islice(summary.external_ids.items(), _MAX_IDS)},
    }
    for caption, text in copies.items():
        st.caption(caption)
        st.code(visible_line(text[:_MAX_TEXT_CHARS]), language=None, wrap_lines=True)


def _adjacent_links(shown: ShownTrace) -> None:
    newer, older = adjacent_traces(shown.summary)
    links = ((newer, "Newer", ":material/chevron_left:", "{"), (older, "Older", ":material/chevron_right:", "}"))
    for to, direction, icon, key in links:
        hint = f"{direction}: the next {direction.lower()} trace that matches the filter; key {key} in the stream"
        if st.button(icon, key=f"weaklink_{direction}", disabled=to is None, help=hint) and to is not None:
            go_to_page("trace", trace=to, filter=parameter("filter"))


def _mark_title(shown: ShownTrace) -> str:
    return ":material/bookmark: Marked" if shown.summary.marked else ":material/bookmark_border: Mark"


def _marks(shown: ShownTrace, location: Location | None) -> None:
    """Draw the notes of the trace, and an input for a new one."""
    id_ = shown.summary.id
    marks = store().marks.of([id_]).get(id_, ())
    for mark in marks:
        by = f" ({visible_line(mark.author)})" if mark.author else ""
        st.text(f"● {_where(mark.turn, mark.step)}: {visible_line(mark.note) or 'marked'}{by}")
    may_write = visitor().may_write
    step = None if location is None else step_at(shown.dissection, location)
    targets: list[tuple[int | None, int | None]] = [(None, None)]
    targets += [(location.turn, None)] if location is not None else []
    targets += [(None, step.number)] if step is not None else []
    turn, number = st.radio(
        "On", targets, format_func=lambda mark: _where(*mark), horizontal=True, key=f"weaklink_marked_{id_}"
    )
    note = st.text_input("Note", key=f"{_NOTE}_{id_}", placeholder="What you found")
    save, drop = st.columns(2)
    has_note = any((mark.turn, mark.step) == (turn, number) and mark.note for mark in marks)
    title = "Replace the note" if has_note else "Save"  # a note that came meanwhile is seen before it is replaced
    if save.button(title, type="primary", width="stretch", disabled=not may_write):
        author = require_write().name
        with writable() as opened:
            opened.marks.put(id_, turn=turn, step=number, note=note, author=author)
        st.rerun()
    if drop.button("Remove all", disabled=not (may_write and shown.summary.marked), width="stretch"):
        require_write()
        with writable() as opened:
            opened.marks.remove(id_)
        st.rerun()
    if not may_write:
        st.caption(READS_ONLY)


def _where(turn: int | None, step: int | None) -> str:
    return f"step {step}" if step else f"turn {turn}" if turn else "whole trace"


def _address() -> str:
    base = str(st.context.url or "").partition("?")[0]
    return f"{base}?{urlencode(st.query_params.to_dict())}"


def _command(id_: int, location: Location | None) -> str:
    """The command that opens the trace in the terminal, at the characters that are selected."""
    words = str(id_) if location is None else str(Link(str(id_), location=location))
    return shlex.join(["weaklink", "tui", words, *database_option(current_options().where)])


def adjacent_traces(summary: TraceSummary) -> tuple[int | None, int | None]:
    """The ids of the newer and the older trace that match the filter of the address; None at an end."""
    filter_text, paging = parameter("filter"), store().paging()
    newer = paging.before(filter_text, start=summary.cursor)
    older = paging.page(filter_text, limit=1, after=summary.cursor)
    return newer.summary.id if newer else None, older[0].summary.id if older else None


class PageWork(Struct):
    """An experiment or a server in its own thread; it continues when the page is left, until it ends or `stop`."""

    trace: int
    table: ResultTable | None = None
    lines: list[Line] = field(default_factory=list)
    stopping: Event = field(default_factory=Event)
    thread: Thread | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _experiment: AskExperiment | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread is running."""
        return self.thread is not None and self.thread.is_alive()

    def state(self) -> str:
        """What is shown of it; another text when there is more."""
        return repr((self.is_running, self.table, self.lines))

    def ask(self, form: AskForm, plan: AskPlan, target: ResendTarget, where: str | None) -> None:
        """Send the requests of the previewed plan."""
        self._start(self._run_experiment(form, plan, target, where))

    def serve(self, server: ReplayServer, trace: Trace, upstream: str | None) -> None:
        """Answer requests from the recording of `trace`."""
        self._start(self._run_server(server, trace, upstream))

    def stop(self) -> None:
        """End the work; results that arrived are kept."""
        self.stopping.set()
        if self._loop is not None and self._experiment is not None and self.is_running:
            self._loop.call_soon_threadsafe(self._experiment.interrupt)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self.thread = Thread(target=self._run, args=(work,), name="weaklink-ask", daemon=True)
        self.thread.start()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run(work)
        except (WeaklinkError, OSError) as error:
            self.lines = [(Run(str(error), Style.ERROR),)]

    async def _run_experiment(self, form: AskForm, plan: AskPlan, target: ResendTarget, where: str | None) -> None:
        with open_store(where, create=False) as opened:
            bounds = form.spending()
            experiment = experiment_of(plan, target, opened, bounds, self._show_result)
            self._loop, self._experiment = asyncio.get_running_loop(), experiment
            self._show_result(await experiment.run())

    async def _run_server(self, server: ReplayServer, trace: Trace, upstream: str | None) -> None:
        async with serving(server, 0, upstream) as variables:
            while not self.stopping.is_set():
                self._show(serving_lines(server, variables, trace, _WIDTH))
                await asyncio.sleep(_EVERY_S / 4)
        self._show(serving_lines(server, {}, trace, _WIDTH))

    def _show_result(self, result: AskResult) -> None:
        self.table = result_table(result)
        self._show((Run(sentence),) for sentence in sentences(result))

    def _show(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)


def may_ask() -> bool:
    """Whether a turn can be asked again.

    Not if other machines can reach the page: anyone there could name a server, and it would receive the key of this
    machine's user. The same if a reverse proxy or stored tokens show that others use the page.
    """
    access = current_options().access
    return current_options().is_local and not (access.stored_tokens or access.user_header)


def is_asking(shown: ShownTrace) -> bool:
    """Whether the panel is open beside the stream: by the address, or because this trace's experiment has results."""
    return may_ask() and (parameter(_BESIDE) == _ASK or _work_of(shown) is not None)


def _ask_button(shown: ShownTrace) -> None:
    if may_ask():
        is_open = is_asking(shown)
        icon = ":material/right_panel_close:" if is_open else ":material/replay:"
        st.button("Ask again", icon=icon, key="weaklink_ask_toggles_details", on_click=_open_panel, args=(not is_open,))


def _open_panel(is_open: bool) -> None:  # noqa: FBT001  # a callback of Streamlit
    """Open or close the panel; closing it drops results, and leaves what is still running."""
    set_parameters(**{_BESIDE: _ASK if is_open else None})
    work = st.session_state.get(_WORK)
    if not is_open and isinstance(work, PageWork) and not work.is_running:
        del st.session_state[_WORK]


def ask_panel(shown: ShownTrace, location: Location | None) -> None:
    """Draw the form, and below it the preview, or the results while they come; nothing is sent before a preview."""
    id_, turn = shown.summary.id, _turn(shown, location)
    with st.container(key="weaklink_ask_panel"):
        with st.form(f"weaklink_ask_form_{id_}", border=False):
            st.markdown(f"**Ask again: {f'turn {turn}' if turn else 'the turn that broke the chain'}**")
            form = AskForm(
                st.text_input(
                    "Server",
                    placeholder="for example https://api.openai.com",
                    help="The key comes from the environment.",
                ),
                st.text_input("Number of times", value="20"),
                st.text_input("Model", placeholder="unchanged"),
                st.text_input("Settings", placeholder="temperature=0 top_p=1"),
                st.text_input("Maximum requests and tokens", placeholder="40 100000"),
                st.checkbox("Add advice about the turn's fault"),
            )
            preview, send, serve = st.columns(3)
            is_preview = preview.form_submit_button("Preview", width="stretch")
            is_send = send.form_submit_button("Send", type="primary", width="stretch")
            is_serve = serve.form_submit_button("Serve", width="stretch")
        try:
            if is_preview or is_send:
                _preview_or_send(form, id_, turn, is_send=is_send)
            elif is_serve:
                _serve(form, id_, turn)
        except WeaklinkError as error:
            st.error(message(str(error)))
        work = _work_of(shown)
        if work is not None:
            put_part(_results, work)


def _work_of(shown: ShownTrace) -> PageWork | None:
    """This session's experiment or server of a trace."""
    work = st.session_state.get(_WORK)
    return work if isinstance(work, PageWork) and work.trace == shown.summary.id else None


def _results(work: PageWork) -> None:
    state = work.state()
    if work.table is not None:
        _put_table(*work.table)
    put_prose(work.lines)
    if work.is_running:
        if st.button("Stop", key="weaklink_ask_stop", icon=":material/stop:"):
            work.stop()
        watch(work.state, state, key="ask", every_s=_EVERY_S)
    else:
        st.button("Close", key="weaklink_ask_hides_details", on_click=_open_panel, args=(False,))


def _put_table(heads: Sequence[str], rows: Sequence[tuple[Sequence[str], Style]]) -> None:
    listing(
        [ListingColumn(head) for head in heads],
        [ListingRow(cells[0], [(Run(cell, style),) for cell in cells]) for cells, style in rows],
        key="weaklink_ask_rates",
        label="Answers by rule",
        is_stacked=True,
    )


def _preview_or_send(form: AskForm, id_: int, turn: int | None, *, is_send: bool) -> None:
    plan = form.plan(store(), id_, turn)
    target = form.target(plan)
    form.spending()
    if not is_send or st.session_state.get(_PREVIEW) != (id_, turn, form):
        st.session_state[_PREVIEW] = (id_, turn, form)
        key = "with the key from the environment" if target.key else "without a key"
        put_prose([*plan_lines(plan, target.url), (Run(f"Press Send to send this {key}.", Style.STRONG),)])
        return
    _new_work(id_).ask(form, plan, target, current_options().where)
    st.rerun()


def _serve(form: AskForm, id_: int, turn: int | None) -> None:
    server, trace = replay_server_of(store(), id_)
    upstream = form.server.strip() or None
    if upstream is not None:
        server.fork_after = max((turn or 1) - 1, 0)
    _new_work(id_).serve(server, trace, upstream)
    st.rerun()


def _new_work(id_: int) -> PageWork:
    """The new work of this session; ends the previous one."""
    before = st.session_state.get(_WORK)
    if isinstance(before, PageWork):
        before.stop()
    work = PageWork(id_)
    st.session_state[_WORK] = work
    return work


def _turn(shown: ShownTrace, location: Location | None) -> int | None:
    """The turn of the selected answer; None if the selection is in no answer."""
    turns = shown.trace.turns
    is_answer = (
        location is not None and 0 < location.turn <= len(turns) and turns[location.turn - 1].role is Role.ASSISTANT
    )
    return location.turn if location is not None and is_answer else None
