"""The faults of a text while it is written: each is told as soon as it is known."""

from collections.abc import Iterator, Sequence

from inspector.diagnostics import Diagnostic
from inspector.formats.detection import detect_format
from inspector.model import ToolDefinition
from inspector.segmentation import AUTO, Segmenter
from inspector.text import LineIndex
from ui.views.diagnostic import diagnostic_lines
from ui.views.run import Line, Run

_FIRST_LOOK, _LAST_LOOK = 64, 65_536
_SURE = 0.7
_MOST_TOLD = 100  # each shows its line, for which the text so far is looked through


class LiveFaults:
    """Reads one text piece by piece; where no format was named, from the moment that the text shows one.

    It looks for that at 64 code points, 128, 256 and so on; at 65,536, or at the end, it takes what is likeliest.
    """

    def __init__(
        self,
        *,
        format: str = AUTO,
        model: str = "",
        prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        name: str = "",
        width: int = 80,
    ) -> None:
        self._model, self._prompt, self._tools = model, prompt, tools
        self._name, self._width = name, width
        self._pieces: list[str] = []
        self._length, self._look_at = 0, _FIRST_LOOK
        self._segmenter = None if format == AUTO else Segmenter(format, prompt=prompt, tools=tools)
        self.spans = self.calls = 0
        self.found: list[Diagnostic] = []

    @property
    def format(self) -> str:
        """The format's name; `""` while it is not known."""
        return "" if self._segmenter is None else self._segmenter.format.name

    def feed(self, text: str) -> list[Line]:
        """The lines that tell of the faults which this piece made known."""
        self._pieces.append(text)
        self._length += len(text)
        if self._segmenter is not None:
            return self._told(self._segmenter, text)
        return self._decide(at_end=False) if self._length >= self._look_at else []

    def close(self) -> list[Line]:
        """The lines that tell of the faults which the end made known."""
        lines = self._decide(at_end=True) if self._segmenter is None else []
        assert self._segmenter is not None  # it was decided
        self.spans += len(self._segmenter.close())
        return lines + self._taken(self._segmenter)

    def also(self, found: Sequence[Diagnostic], texts: dict[str, str]) -> list[Line]:
        """The lines of faults that others found, in parts whose texts these are, and that were not told yet."""
        told = {(one.rule.code, one.location) for one in self.found}
        new = [one for one in found if (one.rule.code, one.location) not in told]
        return [line for one in new for line in self._lines(one, LineIndex(texts.get(one.location.part, "")))]

    def _decide(self, *, at_end: bool) -> list[Line]:
        text = "".join(self._pieces)
        detection = detect_format(text[:_LAST_LOOK], self._model)
        self._look_at *= 2
        if detection.confidence < _SURE and self._length < _LAST_LOOK and not at_end:
            return []
        self._segmenter = Segmenter(detection.format, prompt=self._prompt, tools=self._tools)
        return self._told(self._segmenter, text)

    def _told(self, segmenter: Segmenter, text: str) -> list[Line]:
        self.spans += len(segmenter.feed(text))
        return self._taken(segmenter)

    def _taken(self, segmenter: Segmenter) -> list[Line]:
        calls, found = segmenter.take()
        self.calls += len(calls)
        if not found:
            return []
        index = LineIndex("".join(self._pieces)) if len(self.found) < _MOST_TOLD else None
        return [line for one in found for line in self._lines(one, index)]

    def _lines(self, one: Diagnostic, index: LineIndex | None) -> Iterator[Line]:
        self.found.append(one)
        if index is not None and len(self.found) <= _MOST_TOLD:
            yield from diagnostic_lines(one, index.text, width=self._width, file=self._name, lines=index)
            yield ()
        elif len(self.found) == _MOST_TOLD + 1:
            yield (Run(f"There are more than {_MOST_TOLD} faults; `weaklink show` shows the others."),)
