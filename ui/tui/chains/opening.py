"""A list of chains from which other screens are opened: for the chain under the cursor, or for all."""

from collections.abc import Callable
from dataclasses import dataclass

from ui.tui.chains.watching import WatchedChains
from ui.tui.store_access import StoreAccess

OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""


@dataclass(frozen=True, slots=True)
class ChainDoors:
    """What opens other screens; a command without its door is not offered."""

    diff: Callable[[int], None] | None = None
    reread: Callable[[int], None] | None = None
    live: Callable[[int | None], None] | None = None
    rules: Callable[[], None] | None = None
    read_in: Callable[[], None] | None = None


class OpeningChains(WatchedChains):
    """A screen with a list of chains and doors to other screens."""

    def __init__(self, access: StoreAccess, doors: ChainDoors) -> None:
        super().__init__(access)
        self.doors = doors

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What no screen can do is not offered."""
        door = _DOORS.get(action)
        if door is not None and getattr(self.doors, door) is None:
            return False
        return super().check_action(action, parameters)

    def action_diff(self) -> None:
        """Compare the chain with the marked ones."""
        if self.doors.diff is not None and self.chains.current is not None:
            self.doors.diff(self.chains.current.id)

    def action_reread(self) -> None:
        """Read the chain's stream with other formats."""
        if self.doors.reread is not None and self.chains.current is not None:
            self.doors.reread(self.chains.current.id)

    def action_live(self) -> None:
        """Watch the chain while it is being recorded; where it has ended, the newest that is."""
        current = self.chains.current
        if self.doors.live is not None:
            self.doors.live(current.id if current is not None and current.is_open else None)

    def action_rules(self) -> None:
        """List the rules."""
        if self.doors.rules is not None:
            self.doors.rules()

    def action_import(self) -> None:
        """Ask for files to import."""
        if self.doors.read_in is not None:
            self.doors.read_in()


_DOORS = {"diff": "diff", "reread": "reread", "live": "live", "rules": "rules", "import": "read_in"}
