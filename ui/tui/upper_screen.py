"""A screen that lies above the list or a trace: it says where one is, asks the store, and goes back."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from textual.screen import Screen

from inspector.errors import WeaklinkError
from storage import Store
from ui.tui.status_line import Said, StatusLine
from ui.tui.store_access import StoreAccess, sentence
from ui.views.run import Line
from ui.views.visible import visible_line

_Answer = TypeVar("_Answer")


class UpperScreen(Screen[None]):
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
        self.status.said = Said(("chains", *self.crumbs), about, right, problem)

    def tell(self, said: str, *, is_error: bool = False) -> None:
        """Say something for a moment."""
        self.notify(visible_line(said), severity="error" if is_error else "information", markup=False)

    def action_back(self) -> None:
        """Go back to where this was opened."""
        self.dismiss(None)

    async def answer(self, question: Callable[[Store], _Answer]) -> _Answer | None:
        """The store's answer; None where it gave none, and then the line at the top says why."""
        try:
            return await self.access.ask(question)
        except WeaklinkError as error:
            self.say(problem=sentence(error, self.access.name))
            return None

    @asynccontextmanager
    async def working(self, what: str) -> AsyncIterator[None]:
        """The line at the top says that this is going on, as long as it is."""
        self.status.working = what
        try:
            yield
        finally:
            if self.is_attached:
                self.status.working = ""
