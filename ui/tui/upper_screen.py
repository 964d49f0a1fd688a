"""A screen that lies above the list or a trace: it says where one is, asks the store, and goes back."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from inspector.errors import WeaklinkError
from storage import Store
from ui.tui.dialogs import ClosesOnce
from ui.tui.line_bar import StatusLine, StatusText
from ui.tui.store_access import StoreAccess, error_sentence
from ui.views.styled_text import Line, visible_line

_Answer = TypeVar("_Answer")


class UpperScreen(ClosesOnce[None]):
    """Its first widget is a `StatusLine`. `crumbs` are the way to it."""

    def __init__(self, access: StoreAccess, *crumbs: str) -> None:
        super().__init__()
        self.access = access
        self.crumbs = crumbs

    @property
    def status(self) -> StatusLine:
        """The line at the top."""
        return self.query_one(StatusLine)

    def say(self, about: Line = (), right: Line = (), problem: str = "") -> None:
        """Say this in the line at the top."""
        for line in self.query(StatusLine):  # none while the screen goes
            line.said = StatusText(("chains", *self.crumbs), about, right, problem)

    def tell(self, said: str, *, is_error: bool = False) -> None:
        """Say something for a moment."""
        self.notify(visible_line(said), severity="error" if is_error else "information", markup=False)

    def action_back(self) -> None:
        """Go back to where this was opened."""
        self.let_go()
        self.dismiss(None)

    def let_go(self) -> None:
        """Leave the work that goes on: what it would be shown in goes away."""
        self.workers.cancel_node(self)

    async def answer(self, question: Callable[[Store], _Answer], *, of_traces: bool = False) -> _Answer | None:
        """The store's answer; None where it gave none, and then the line at the top says why.

        One that is made `of_traces` as a whole waits for others that are.
        """
        ask = self.access.ask_for_trace if of_traces else self.access.ask
        try:
            return await ask(question)
        except WeaklinkError as error:
            self.say(problem=error_sentence(error, self.access.name))
            return None

    @asynccontextmanager
    async def working(self, what: str) -> AsyncIterator[None]:
        """The line at the top says that this is going on, as long as it is."""
        self.work(what)
        try:
            yield
        finally:
            self.work("")

    def work(self, what: str) -> None:
        """The line at the top says that this is going on; nothing is where it is empty."""
        for line in self.query(StatusLine):
            line.working = what
