"""Looks at one running trace in the store, again and again."""

from dataclasses import dataclass

from inspector.capture.events import RecordEvent, TraceEnded
from inspector.errors import StoreError
from storage import Store
from storage.running.following import Following
from ui.tui.live.growing import MOST_TURNS


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened since the last look; `is_anew` says that these events tell the trace from its beginning."""

    events: tuple[RecordEvent, ...]
    is_running: bool
    is_anew: bool = False


class Watched:
    """A trace that is followed from its last turns on; anew where another store takes the place of the first.

    For one thread at a time.
    """

    def __init__(self, id: int) -> None:
        self._id = id
        self._store: Store | None = None
        self._following: Following | None = None

    def look(self, store: Store) -> Seen:
        """What happened since the last look. StoreError."""
        is_anew = store is not self._store or self._following is None
        if self._following is None or is_anew:
            self._store, self._following = store, store.follow(f"id:{self._id}", from_start=True, most=MOST_TURNS)
        events = tuple(event for event in self._following.poll() if event.key == str(self._id))
        has_ended = any(isinstance(event, TraceEnded) for event in events)
        return Seen(events, not has_ended and (bool(events) or self._is_running(store)), is_anew)

    def _is_running(self, store: Store) -> bool:
        try:
            return store.summary(self._id).is_open
        except StoreError:
            if store.is_gone():
                raise
            return False
