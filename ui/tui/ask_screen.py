"""The screen that sends a turn's request again: a form, a preview and a table of results; or serves the recording."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Label, Select

from weaklink.inspector.capture.resending import SpendingBounds
from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.store import Store, open_store
from weaklink.ui.experiments.ask_again import AskExperiment, AskPlan, AskResult
from weaklink.ui.experiments.ask_views import AskForm, experiment_of, plan_lines, replay_server_of, result_lines
from weaklink.ui.experiments.serving import serving, serving_lines
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import UpperScreen
from weaklink.ui.tui.line_bar import KeyFooter, StatusLine
from weaklink.ui.tui.line_view import LineInput, LineList, LineView
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.styled_text import Line, Run, Style, wrapped

ASK_COMMANDS = (
    Command("ask.preview", "Preview", "Preview the requests; send nothing.", ("enter",), footer="Preview"),
    Command("ask.send", "Send", "Send the previewed requests.", ("ctrl+s",), footer="Send"),
    Command("ask.serve", "Serve", "Answer requests from the recording.", ("ctrl+r",), footer="Serve"),
    Command("ask.stop", "Stop", "Stop; keep the results so far.", ("ctrl+t",), footer="Stop"),
    Command("ask.back", "Back", "Stop and go back to the trace.", ("escape",), footer="Back"),
)
"""The scope `ask`."""

_FIELDS = (
    ("server", "server (required; its key comes from the environment)", "for example https://api.openai.com"),
    ("times", "number of requests", "20 if empty"),
    ("model", "model", "the recorded one if empty"),
    ("settings", "settings", "the recorded ones if empty; for example temperature=0 top_p=1"),
    ("bounds", "maximum number of requests and tokens", "no limit if empty; for example 40 100000"),
)
_POLL_S = 0.5


class _FormField(LineInput, inherit_bindings=False):
    """A field of the form; enter in it is the screen's command, so footer, help and keymap have it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in Input.BINDINGS if isinstance(binding, Binding) and binding.key != "enter"
    ]


class AskScreen(UpperScreen):
    """Sends the request of turn `turn` of trace `id` again, by default of the turn that broke the chain."""

    ACTIONS: ClassVar[tuple[Command, ...]] = ASK_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ASK_COMMANDS)]
    DEFAULT_CSS = """
    AskScreen { background: $background; }
    AskScreen Input { border: none; height: 1; padding: 0 1; background: $surface; }
    AskScreen Label { color: $dim; }
    AskScreen Select:focus Static { background: $panel; text-style: bold underline; }
    AskScreen #table { height: 1fr; margin: 1 0 0 0; }
    """

    def __init__(self, access: StoreAccess, id: int, turn: int | None) -> None:
        super().__init__(access, "ask again")
        self._trace_id, self._turn = id, turn
        self._previewed: tuple[AskForm, AskPlan] | None = None
        self._experiment_running: AskExperiment | None = None

    def compose(self) -> ComposeResult:
        """The fields, each below its name, and the table."""
        yield StatusLine()
        for name, label, hint in _FIELDS:
            yield Label(f" {label}", markup=False)
            yield _FormField(placeholder=hint, id=name, compact=True)
        yield Label(" advice against the fault", markup=False)
        yield Select([("no", False), ("yes", True)], allow_blank=False, compact=True)  # words: a box is only coloured
        yield LineView(id="table")
        yield KeyFooter()

    @property
    def form(self) -> AskForm:
        """The form as it was typed."""
        text = {name: self.query_one(f"#{name}", Input).value for name, _, _ in _FIELDS}
        return AskForm(**text, is_advised=self.query_one(Select).value is True)

    def on_mount(self) -> None:
        """Focus the server."""
        self.query_one("#server", Input).focus()
        turn = f", turn {self._turn}" if self._turn else ""
        self.update_status((Run(f"trace {self._trace_id}{turn}"),))

    @on(Input.Changed)
    @on(Select.Changed)
    def discard_preview(self) -> None:
        """Discard the preview: the form has changed."""
        self._previewed = None

    def action_preview(self) -> None:
        """Show what would be sent."""
        start_work(self, self._preview, "preview")

    def action_send(self) -> None:
        """Send the previewed requests."""
        if self._experiment_running is not None:
            self.toast("The experiment is already running.")
        elif self._previewed is None:
            self.toast("Preview the requests first: press enter.")
        else:
            start_work(self, partial(self._send, *self._previewed), "experiment")

    def action_serve(self) -> None:
        """Answer requests from the recording."""
        if self._experiment_running is not None:
            self.toast("Stop the experiment first.")
        else:
            start_work(self, self._serve, "experiment")

    def action_stop(self) -> None:
        """Stop; keep the results so far."""
        if self._experiment_running is not None:
            self._experiment_running.interrupt()
        else:
            self.workers.cancel_group(self, "experiment")

    def stop_work(self) -> None:
        """Stop before the screen closes; an experiment still saves its results so far."""
        if self._experiment_running is not None:
            self._experiment_running.interrupt()
        super().stop_work()

    def show(self, lines: Iterable[Line]) -> None:
        """Show these lines in the table."""
        width = self._room()
        for view in self.query("#table").results(LineView):
            view.show(LineList(tuple(row for line in lines for row in (wrapped(line, width) if line else [line]))))

    def _room(self) -> int:
        """The width of the table in cells."""
        return max((view.size.width for view in self.query("#table").results(LineView)), default=0) or 40

    async def _preview(self) -> None:
        form = self.form
        try:
            plan = await self.access.query(partial(form.plan, id=self._trace_id, turn=self._turn))
            target = form.target(plan)
            form.spending()
        except WeaklinkError as error:
            self.show([(Run(error_sentence(error), Style.ERROR),)])
            return
        self._previewed = form, plan
        key = "with the key from the environment" if target.key else "without a key"
        self.show([*plan_lines(plan, target.url), (Run(f"ctrl+s sends the requests {key}.", Style.STRONG),)])

    async def _send(self, form: AskForm, plan: AskPlan) -> None:
        try:
            store = await asyncio.to_thread(open_store, self.access.where)
        except WeaklinkError as error:
            self.show([(Run(error_sentence(error), Style.ERROR),)])
            return
        try:
            result = await self._experiment(form, plan, store, form.spending())
            self.show(result_lines(result))
        finally:
            self._experiment_running = None
            self.work("")
            store.close()

    async def _experiment(self, form: AskForm, plan: AskPlan, store: Store, bounds: SpendingBounds) -> AskResult:
        self.work("asking")
        self._experiment_running = experiment_of(
            plan, form.target(plan), store, bounds, lambda result: self.show(result_lines(result))
        )
        self._previewed = None
        return await self._experiment_running.run()

    async def _serve(self) -> None:
        upstream = self.form.server.strip() or None
        try:
            server, trace = await self.access.query(partial(replay_server_of, id=self._trace_id))
            if upstream is not None:
                server.fork_after = max((self._turn or 1) - 1, 0)
            async with serving(server, 0, upstream) as variables:
                self.work("serving")
                try:
                    while True:
                        self.show(serving_lines(server, variables, trace, self._room()))
                        await asyncio.sleep(_POLL_S)
                finally:
                    self.show(serving_lines(server, {}, trace, self._room()))
        except (WeaklinkError, OSError) as error:
            self.show([(Run(f"{error}", Style.ERROR),)])
        finally:
            self.work("")
