"""The screen that opens a trace: which one it is stands in one line here."""

from collections.abc import Awaitable
from functools import partial
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from inspector.errors import WeaklinkError
from storage import Store
from ui.tui.commands import Command, bindings
from ui.tui.dissector.deeds import Doors
from ui.tui.dissector.screen import DissectorScreen
from ui.tui.footer import KeyFooter
from ui.tui.line_view import Lines, LineView
from ui.tui.status_line import Said, StatusLine
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.run import Line
from ui.views.trace import trace_lines


class Siblings(Protocol):
    """Where a trace stands among others."""

    def beside(self, id: int, by: int) -> Awaitable[int | None]:
        """The id of the trace that stands `by` places behind this one in its list; None at an end."""
        ...


class TraceScreenMaker(Protocol):
    """Makes the screen of one trace."""

    def __call__(
        self, access: StoreAccess, id: int, *, step: int | None, siblings: Siblings, doors: Doors | None = None
    ) -> Screen[None]:
        """The screen of trace `id`, on step `step` (from 1), or on its break, or at its beginning."""
        ...


class PlainTraceScreen(Screen[None]):
    """A trace as `weaklink show` prints it."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (
        Command("trace.back", "Back", "Goes back to the list.", ("escape", "q"), in_footer=True),
        Command("trace.next", "Next chain", "Opens the next chain of the list.", ("}",), in_footer=True),
        Command("trace.previous", "Previous chain", "Opens the chain before in the list.", ("{",), in_footer=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]

    def __init__(
        self, access: StoreAccess, id: int, *, step: int | None, siblings: Siblings, doors: Doors | None = None
    ) -> None:
        super().__init__()
        self._access = access
        self._trace = id
        self._siblings = siblings

    def compose(self) -> ComposeResult:
        """Status line, trace, keys."""
        yield StatusLine()
        yield LineView()
        yield KeyFooter()

    def on_mount(self) -> None:
        """Read the trace."""
        self._open(self._trace)

    def action_back(self) -> None:
        """Go back to the list."""
        self.app.pop_screen()

    async def action_next(self) -> None:
        """Open the next chain of the list."""
        self._open(await self._siblings.beside(self._trace, 1))

    async def action_previous(self) -> None:
        """Open the chain before in the list."""
        self._open(await self._siblings.beside(self._trace, -1))

    def _open(self, id: int | None) -> None:
        if id is None:
            self.notify("There is no further chain in this direction.")
            return
        self._trace = id
        begin(self, partial(self._read, id), "trace")

    async def _read(self, id: int) -> None:
        status = self.query_one(StatusLine)
        status.said, status.working = Said(("chains", f"trace {id}")), "reading the trace"
        try:
            lines = await self._access.ask(partial(_lines, id=id, width=max(self.size.width - 1, 40)))
            self.query_one(LineView).show(Lines(lines))
        except WeaklinkError as error:
            status.said = Said(("chains", f"trace {id}"), problem=sentence(error, self._access.name))
        finally:
            status.working = ""


TRACE_SCREEN: TraceScreenMaker = DissectorScreen
"""What opens a trace."""


def _lines(store: Store, *, id: int, width: int) -> tuple[Line, ...]:
    trace, inspection = store.inspected(id)
    return tuple(trace_lines(trace, inspection, id=id, width=width, running=store.summary(id).running))
