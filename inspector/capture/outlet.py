"""The recorder's door to sink and watch: whatever they do, recording goes on, and what they refused is counted."""

from collections.abc import Callable, Sequence

from inspector.capture.events import RecordEvent, Sink
from inspector.capture.watch import ExchangeFacts, Watch
from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall

_SILENCE_S = 60.0
_LONGEST = 300


class Outlet:
    """Hands events on; never raises. `clock` gives seconds, of any clock that never goes back."""

    def __init__(self, sink: Sink, watch: Watch | None, clock: Callable[[], float]) -> None:
        self._sink, self._watch = sink, watch
        self._clock = clock
        self._told_at: dict[str, float] = {}
        self.refused = 0
        self.failed = 0

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks on."""
        return self._watch is not None

    def tell(self, event: RecordEvent) -> None:
        """Hand an event to the sink."""
        try:
            self._sink.accept(event)
        except Exception as error:  # noqa: BLE001  # a foreign sink; it is counted and told
            self.refused += 1
            self.trouble("The sink refuses what was recorded", error, f" ({self.refused} so far)")

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.span_closed(key, turn, part, span, calls))

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.fault_found(key, turn, diagnostic))

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """See `Watch`."""
        self._call(lambda watch: watch.exchange_ended(facts))

    def trouble(self, message: str, error: Exception | None = None, more: str = "") -> None:
        """Tell that something goes wrong, `message` being a clause; the same once a minute."""
        self.failed += error is not None
        now_s = self._clock()
        if self._watch is None or now_s - self._told_at.get(message, now_s - _SILENCE_S) < _SILENCE_S:
            return
        self._told_at[message] = now_s
        sentence = f"{message}{more}: {_words(error)}." if error is not None else f"{message}{more}."
        try:
            self._watch.trouble(sentence)
        except Exception:  # noqa: BLE001  # nobody is left to be told; it is counted
            self.failed += 1

    def _call(self, call: Callable[[Watch], None]) -> None:
        if self._watch is None:
            return
        try:
            call(self._watch)
        except Exception as error:  # noqa: BLE001  # a foreign watch; it is counted and told
            self.trouble("Who watches the recording failed", error)


def _words(error: Exception) -> str:
    """An error's kind and first line; the others may quote what was to be written."""
    line = str(error).partition("\n")[0].strip().rstrip(".")
    return f"{type(error).__name__}: {line[:_LONGEST]}" if line else type(error).__name__
