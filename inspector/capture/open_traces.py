"""The traces that are being recorded: the numbers of their turns, the tools they offer, and when they end."""

from dataclasses import replace

from inspector.capture.events import TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.capture.outlet import Outlet
from inspector.capture.redacting import Redacts
from inspector.checks.tools import OfferedTools
from inspector.formats.detection import detect_format
from inspector.formats.format import Format
from inspector.model import Role, ToolDefinition, Turn
from inspector.segmentation import Segmenter
from inspector.sessions.book import Placement

SOURCE = "record"
"""The source of traces that were recorded as they happened."""


class OpenTrace:
    """A trace that is being recorded; its turns count from 1, in the order in which they begin."""

    def __init__(self, model: str) -> None:
        self.spoken: Format | None = None
        self.open_answers = 0
        self.is_over = False
        self._model = model
        self._turns = 0
        self._requested = OfferedTools()
        self._defined = OfferedTools()

    def next_turn(self) -> int:
        """The number of a turn that begins."""
        self._turns += 1
        return self._turns

    def tools_for(self, offered: tuple[ToolDefinition, ...]) -> OfferedTools:
        """The tools that a request's calls are checked against: its own, else those that system prompts define."""
        if not offered:
            return self._defined
        if offered != self._requested.definitions:
            self._requested = OfferedTools(offered, told=self._requested.told)
        return self._requested

    def learn_tools(self, turn: Turn) -> None:
        """Take note of the tools that a system prompt defines."""
        text = turn.part("text") if turn.role is Role.SYSTEM else None
        if text is None or not text.text:
            return
        segmenter = Segmenter(detect_format(text.text, self._model).format, role=Role.SYSTEM)
        segmenter.feed(text.text)
        segmenter.close()
        found = segmenter.segmentation(text.text).definitions
        if found:
            self._defined = OfferedTools((*self._defined.definitions, *found), is_whole=False)


class OpenTraces:
    """All traces that are being recorded, by key; tells the sink how they begin and end."""

    def __init__(self, outlet: Outlet, redactor: Redacts) -> None:
        self._outlet, self._redactor = outlet, redactor
        self._open: dict[str, OpenTrace] = {}

    def of(self, placement: Placement) -> OpenTrace:
        """The trace of a placed request, with the turns that the request brought."""
        trace = self._open.get(placement.key)
        if trace is None:
            facts = placement.begins
            trace = self._open[placement.key] = OpenTrace(facts.model if facts is not None else "")
        if placement.begins is not None:
            provenance = replace(placement.begins.provenance, source=SOURCE)
            begins = replace(placement.begins, provenance=provenance)
            self._outlet.tell(TraceStarted(placement.key, self._redactor.trace(begins)))
        for turn in placement.turns:
            number = trace.next_turn()
            kept = self._redactor.turn(turn)
            self._outlet.tell(TurnStarted(placement.key, number, turn.role, kept.generation))
            self._outlet.tell(TurnEnded(placement.key, number, kept))
            if self._outlet.is_watched:
                self._learn_tools(trace, kept)
        return trace

    def end(self, key: str) -> None:
        """Nothing comes to that trace any more; with answers on their way it ends behind the last of them."""
        trace = self._open.get(key)
        if trace is None:
            return
        trace.is_over = True
        self._end_if_silent(key, trace)

    def close_answer(self, key: str) -> None:
        """One of the trace's answers has ended."""
        trace = self._open.get(key)
        if trace is not None:
            trace.open_answers -= 1
            self._end_if_silent(key, trace)

    def end_all(self) -> None:
        """End every trace."""
        for key in tuple(self._open):
            self.end(key)

    def _end_if_silent(self, key: str, trace: OpenTrace) -> None:
        if trace.is_over and trace.open_answers <= 0:
            del self._open[key]
            self._outlet.tell(TraceEnded(key))

    def _learn_tools(self, trace: OpenTrace, turn: Turn) -> None:
        try:
            trace.learn_tools(turn)
        except Exception as error:  # noqa: BLE001  # formats may be plug-ins; it is told
            self._outlet.trouble("The tools of a system prompt could not be read", error)
