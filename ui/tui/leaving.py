"""How a screen is left: once, however often it is told, and never with what lies above it."""

from textual.await_complete import AwaitComplete
from textual.screen import Screen, ScreenResultType


class LeftOnce(Screen[ScreenResultType]):
    """A screen that goes only from the top: a key that is pressed twice does not take the screen below along."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Leave it and hand the result over, if it is still there and nothing lies above it."""
        return super().dismiss(result) if self.is_active else AwaitComplete()
