"""Who looks on while `weaklink record` runs: a line per request, and what keeps the record from being written."""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock

from inspector.capture.watch import ExchangeFacts
from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall
from ui.views.recording import request_line
from ui.views.run import Line
from ui.views.visible import visible_line


class RequestLines:
    """Puts a line per request to a model; the other requests are only counted."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = 0

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Nothing to say: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Nothing to say yet: the request's line counts them."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Say it."""
        if not facts.key:
            self.others += 1
            return
        self.requests += 1
        if not self._is_quiet:
            with self._lock:
                self._put(request_line(facts, datetime.now().astimezone().strftime("%H:%M:%S")))

    def trouble(self, message: str) -> None:
        """Say what keeps the recorder from its work."""
        self._say(message)

    def storing(self, trouble: Exception | None, backlog: int) -> None:
        """Say, when it changes, that the database refuses what is written, or takes it again."""
        if trouble is not None and backlog and self._is_storing:
            self._is_storing = False
            self._say(f"{trouble}. The traffic goes on; what is recorded waits in memory.")
        elif not backlog and not self._is_storing:
            self._is_storing = True
            self._say("The database takes the record again; nothing waits.")

    def _say(self, message: str) -> None:
        with self._lock:
            sys.stderr.write(f"weaklink: {visible_line(message)}\n")
            sys.stderr.flush()
