"""Asking a turn again, and serving a trace, from its page: a form, and a table that fills while the page is open."""

import asyncio
from collections.abc import Coroutine, Iterable
from threading import Event, Thread
from typing import Any

import streamlit as st
from msgspec import Struct, field

from inspector.capture.replay_server import ReplayServer
from inspector.capture.resending import ResendTarget
from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from inspector.model import Role, Trace
from storage import open_store
from ui.experiments.ask_again import AskExperiment, AskPlan
from ui.experiments.ask_views import AskForm, experiment_of, plan_lines, replay_server_of, result_lines
from ui.experiments.serving import serving, serving_lines
from ui.views.styled_text import Line, Run, Style
from ui.web.markup import label, put_lines
from ui.web.options import current_options
from ui.web.stores import ShownTrace, store

_WORK, _PREVIEW = "weaklink_ask_work", "weaklink_ask_preview"
_EVERY_S = 1.0
_WIDTH = 160  # characters of a line


class PageWork(Struct):
    """An experiment, or a server, in a thread of its own; it goes on when the page is left, until it ends or `stop`."""

    trace: int
    lines: list[Line] = field(default_factory=list)
    stopping: Event = field(default_factory=Event)
    thread: Thread | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _experiment: AskExperiment | None = None

    @property
    def is_running(self) -> bool:
        """Whether it goes on."""
        return self.thread is not None and self.thread.is_alive()

    def ask(self, form: AskForm, plan: AskPlan, target: ResendTarget, where: str | None) -> None:
        """Send what was previewed."""
        self._start(self._asked(form, plan, target, where))

    def serve(self, server: ReplayServer, trace: Trace, upstream: str | None) -> None:
        """Answer requests from the recording of `trace`."""
        self._start(self._served(server, trace, upstream))

    def stop(self) -> None:
        """End it; what came is kept."""
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

    async def _asked(self, form: AskForm, plan: AskPlan, target: ResendTarget, where: str | None) -> None:
        with open_store(where, create=False) as opened:
            bounds = form.spending()
            experiment = experiment_of(plan, target, opened, bounds, lambda said: self._show(result_lines(said)))
            self._loop, self._experiment = asyncio.get_running_loop(), experiment
            self._show(result_lines(await experiment.run()))

    async def _served(self, server: ReplayServer, trace: Trace, upstream: str | None) -> None:
        async with serving(server, 0, upstream) as variables:
            while not self.stopping.is_set():
                self._show(serving_lines(server, variables, trace, _WIDTH))
                await asyncio.sleep(_EVERY_S / 4)

    def _show(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)


def ask_again(shown: ShownTrace, at: Location | None) -> None:
    """Draw the form in a popover; nothing is sent before it was previewed.

    Not where other machines can reach the page: whoever names a server would be sent the key of this machine's user.
    Nor where a reverse proxy or a token says that others look at it.
    """
    access = current_options().access
    if not current_options().is_local or access.stored_tokens or access.user_header:
        return
    id_, turn = shown.summary.id, _turn(shown, at)
    with st.popover("Ask again", icon=":material/replay:", key="weaklink_ask"):
        with st.form(f"weaklink_ask_form_{id_}", border=False):
            st.caption(f"Turn {turn}" if turn else "The turn that broke the chain")
            form = AskForm(
                st.text_input("Server", placeholder="https://api.openai.com", help="Its key is in the environment."),
                st.text_input("How often", value="20"),
                st.text_input("Model", placeholder="as it was"),
                st.text_input("Settings", placeholder="temperature=0 top_p=1"),
                st.text_input("Most requests and tokens", placeholder="40 100000"),
                st.checkbox("Add advice against the turn's fault"),
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
            st.error(label(str(error), most=1_000))


def ask_results(shown: ShownTrace) -> None:
    """Draw what the experiment or the server of this trace says, every second while it goes on."""
    work = st.session_state.get(_WORK)
    if isinstance(work, PageWork) and work.trace == shown.summary.id:
        st.fragment(_results, run_every=_EVERY_S if work.is_running else None)(work)


def _results(work: PageWork) -> None:
    put_lines(work.lines)
    if work.is_running:
        if st.button("Stop", key="weaklink_ask_stop", icon=":material/stop:"):
            work.stop()
    elif st.button("Close", key="weaklink_ask_close"):
        del st.session_state[_WORK]
        st.rerun()


def _preview_or_send(form: AskForm, id_: int, turn: int | None, *, is_send: bool) -> None:
    plan = form.plan(store(), id_, turn)
    target = form.target(plan)
    form.spending()
    if not is_send or st.session_state.get(_PREVIEW) != (id_, turn, form):
        st.session_state[_PREVIEW] = (id_, turn, form)
        key = "with the key from the environment" if target.key else "without a key"
        put_lines([*plan_lines(plan, target.url), (Run(f"Sent {key}, when you press Send.", Style.STRONG),)])
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
    """One at a time in a session: another one ends the one before."""
    before = st.session_state.get(_WORK)
    if isinstance(before, PageWork):
        before.stop()
    work = PageWork(id_)
    st.session_state[_WORK] = work
    return work


def _turn(shown: ShownTrace, at: Location | None) -> int | None:
    """The answer that is selected, None where the selection is in none."""
    turns = shown.trace.turns
    is_answer = at is not None and 0 < at.turn <= len(turns) and turns[at.turn - 1].role is Role.ASSISTANT
    return at.turn if at is not None and is_answer else None
