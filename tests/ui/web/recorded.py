"""Traces that are being recorded while a test looks at them, and what a dashboard's socket carries meanwhile."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from msgspec.structs import replace
from playwright.sync_api import Page, WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.storage.samples import GOOD_CALL, trace
from weaklink.inspector.capture.events import ChunksArrived, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.model import Chunk, Part, Role, Turn
from weaklink.storage.live import StoreSink


@contextmanager
def open_recordings(database: str, count: int) -> Iterator[StoreSink]:
    """A recorder in whose database `count` traces are running, each in its second answer."""
    with ExitStack() as stack:
        sink = StoreSink(database)
        stack.callback(sink.close)
        for number in range(1, count + 1):
            begin(sink, str(number))
        sink.flush()
        yield sink


def begin(sink: StoreSink, key: str) -> None:
    """Start a trace with one whole answer, and a second that is arriving."""
    known = trace(f"recording {key}", GOOD_CALL)
    sink.accept(TraceStarted(key, replace(known, outcome=None)))
    sink.accept(TurnStarted(key, len(known.turns) + 1, Role.ASSISTANT, None))
    grow(sink, key, f"answer of {key} ")


def grow(sink: StoreSink, key: str, text: str, sequence: int = 0) -> None:
    """Add text to the answer that is arriving."""
    turn = len(trace("", GOOD_CALL).turns) + 1
    sink.accept(ChunksArrived(key, turn, (Chunk(sequence, "text", text),)))


def finish(sink: StoreSink, key: str, text: str) -> None:
    """End the answer that is arriving; the trace goes on."""
    turn = len(trace("", GOOD_CALL).turns) + 1
    sink.accept(TurnEnded(key, turn, Turn(Role.ASSISTANT, (Part("text", text),))))


@dataclass
class Runs:
    """How often the script ran since the page was opened: whole, and for a part that a timer requested."""

    whole: int = 0
    parts: int = 0

    def note(self, socket: WebSocket) -> None:
        """Count what this socket carries."""
        socket.on("framereceived", self._count)

    def _count(self, frame: str | bytes) -> None:
        message = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
        if message.WhichOneof("type") == "script_finished":
            is_part = message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
            self.parts += is_part
            self.whole += not is_part


def counted_runs(page: Page) -> Runs:
    """Count the runs of a page that is opened from now on."""
    runs = Runs()
    page.on("websocket", runs.note)
    return runs
