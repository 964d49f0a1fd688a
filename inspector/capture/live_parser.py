"""Reads an answer while it arrives: chooses its format, then reports spans as they close and faults as they appear."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from weaklink.inspector.capture.events import RecordingObserver
from weaklink.inspector.checks.arguments import check_structured_calls
from weaklink.inspector.checks.recording import check_recording, only_client_parses, stripped_stop_word
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.api.call_reading import read_structured_part
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format, expected_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.model import CallHeader, Chunk, Generation, Part, Role, Span, SpanKind, Turn
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON
from weaklink.inspector.segmentation import Segmenter, segment_whole
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import PROMPT_PART, WIRE_PREFIX

_FIRST_LOOK, _WINDOW, _STEP = 16, 512, 16  # code points: a call's markers are detected within so many
_MARKER = re.compile(r"[<>\[\]{}|`]")  # every call of a format has some of them, prose hardly any
_CERTAIN = 0.8  # confidence of a format whose calls the text contains, not only something like them


class FormatChoice:
    """Chooses the format of one answer of `model`; `spoken` is the format detected in the trace's earlier answers.

    `named` is the format that the source itself names; then nothing is detected, nor if a request `offers_tools` and
    the model's name shows in which format its server expects the calls.

    Looks at the beginning of the text, then at a window that moves with it as long as no format is certain: a model may
    write for long before its first call. Each look is at most `_WINDOW` and what is new, so in linear time.
    """

    def __init__(
        self,
        model: str,
        spoken: Format | None = None,
        *,
        named: Format | None = None,
        offers_tools: bool = False,
    ) -> None:
        self._model = model
        self._named = named = named or (expected_format(model) if offers_tools else None)
        by_name = detect_format(model=model)
        self._known = named or spoken or (by_name.format if by_name.confidence else None)
        self._confidence = 1.0 if self._known is not None else 0.0
        self._length = self._unseen = 0
        self._window = ""

    def grow(self, text: str) -> Format | None:
        """The format of an answer of which `text` arrived next; None if more of it must arrive first.

        It is another one than before if what arrived shows a format better.
        """
        if self._confidence >= _CERTAIN:
            return self._known
        self._window += text
        self._length += len(text)
        self._unseen += len(text)
        if self._length >= _FIRST_LOOK and self._unseen >= _STEP:
            if self._known is None or _MARKER.search(self._window, len(self._window) - self._unseen):
                self._look()
            self._window = self._window[-_WINDOW:]
            self._unseen = 0
        return self._known

    def _look(self) -> None:
        is_beginning = len(self._window) == self._length
        detection = detect_format(self._window if is_beginning else f".{self._window}", self._model)
        if detection.confidence > self._confidence or (self._known is None and self._length >= _WINDOW):
            self._known, self._confidence = detection.format, detection.confidence

    def settle(self, text: str) -> Format:
        """The format of the complete answer `text`."""
        return self._named or detect_format(text[:SAMPLE_CHARS], self._model).format


class LiveParser:
    """Reads the parts of turn `turn` of the trace `key`, and reports what it finds to `observer`.

    `sent` are the facts of its request. The part `text` is read as it grows, in the format that `choice` finds. The
    arguments of a call are read when the next call begins, unless they are truncated there, else at the end of the
    answer. A third-party format may raise; nothing else does.
    """

    def __init__(
        self,
        observer: RecordingObserver,
        key: str,
        turn: int,
        *,
        choice: FormatChoice,
        tools: OfferedTools,
        sent: Generation | None = None,
    ) -> None:
        self._observer = observer
        self._key, self._turn = key, turn
        self._choice = choice
        self._tools = tools
        self._sent = sent
        self._segmenter: Segmenter | None = None
        self._prompt = ""
        self._text: list[str] = []
        self._calls: dict[str, CallHeader] = {}
        self._arguments: dict[str, list[str]] = {}
        self._spans: set[tuple[SpanKind, Range, tuple[tuple[str | None, Range], ...]]] = set()
        self._reported: set[tuple[str, str, int, int]] = set()
        self._read: dict[str, str] = {}  # the text of other parts when they were read
        self._in_text: Counter[str] = Counter()
        self._elsewhere: Counter[str] = Counter()
        self.spoken: Format | None = None
        """The format detected in the answer, once it has ended; None if it has no text."""

    @property
    def faults(self) -> Counter[str]:
        """The codes of the faults so far, each with its count."""
        return self._in_text + self._elsewhere

    @property
    def open_span(self) -> Span | None:
        """The open span of the part `text`; None between spans, and before the format is known."""
        return self._segmenter.open_span if self._segmenter is not None else None

    def feed(self, chunks: Sequence[Chunk]) -> None:
        """Read new chunks."""
        self._prompt += "".join([chunk.text for chunk in chunks if chunk.part == PROMPT_PART])
        text = "".join([chunk.text for chunk in chunks if chunk.part == "text"])
        if text:
            self._take_text(text)
        for chunk in [chunk for chunk in chunks if chunk.part != "text"]:
            if chunk.part.startswith("call:"):
                self._arguments.setdefault(chunk.part, []).append(chunk.text)

    def begin_calls(self, calls: Iterable[CallHeader]) -> None:
        """Take the headers of new calls; the call before each is now probably complete, and is read."""
        for call in calls:
            if call.part not in self._calls and self._calls:
                self._read_call_early(next(reversed(self._calls.values())))
            self._calls[call.part] = call.filled(self._calls.get(call.part))

    def end(self, turn: Turn) -> None:
        """The answer is complete: read the rest of it."""
        for part in turn.parts:
            if part.name != "text":
                self._read_part(turn, part)
            elif part.text:
                self._end_text(turn, part)
        self._report_faults(check_recording(turn, self._turn))

    def _take_text(self, text: str) -> None:
        self._text.append(text)
        chosen = self._choice.grow(text)
        if self._segmenter is not None and self._segmenter.format is chosen:
            self._report(self._segmenter, self._segmenter.feed(text))
        elif chosen is not None:
            self._begin_text(chosen, "".join(self._text))

    def _begin_text(self, chosen: Format, text: str) -> None:
        self._in_text.clear()
        self._segmenter = Segmenter(chosen, prompt=self._prompt, tools=self._tools, turn=self._turn)
        self._report(self._segmenter, self._segmenter.feed(text))

    def _end_text(self, turn: Turn, part: Part) -> None:
        settled = self._choice.settle(part.text)
        is_current = self._segmenter is not None and self._segmenter.format is settled
        if not is_current or sum(map(len, self._text)) != len(part.text):
            self._begin_text(settled, part.text)
        segmenter = self._segmenter
        assert segmenter is not None

        def is_whole(rest: str) -> bool:
            return segment_whole(part.text + rest, settled, prompt=self._prompt, tools=self._tools).spans[-1].closed

        rest, end = stripped_stop_word(turn, is_whole), len(part.text)
        spans = [*segmenter.feed(rest), *segmenter.close()]
        self._report(segmenter, [span.up_to(end) for span in spans if span.range.start < end])
        self.spoken = settled

    def _report(self, segmenter: Segmenter, spans: list[Span]) -> None:
        calls, diagnostics = segmenter.take()
        index = 0
        for span in spans:
            begin = index
            while index < len(calls) and calls[index].range.start < span.range.end:
                index += 1
            within = calls[begin:index]
            key = (span.kind, span.range, tuple((call.name, call.range) for call in within))
            if key in self._spans:  # another format had read it so too
                continue
            self._spans.add(key)
            self._observer.span_closed(self._key, self._turn, "text", span, within)
        for diagnostic in diagnostics:
            if not only_client_parses(diagnostic, self._sent):
                self._in_text[diagnostic.rule.code] += 1
                self._report_fault(diagnostic)

    def _read_call_early(self, call: CallHeader) -> None:
        pieces = self._arguments.get(call.part)
        if pieces is None or call.part in self._read:
            return
        part = Part(call.part, "".join(pieces))
        reading = read_structured_part(Turn(Role.ASSISTANT, (part,), calls=(call,)), part)
        if not any(fault.rule is TRUNCATED_JSON for fault in reading.faults):
            self._read_part(Turn(Role.ASSISTANT, (part,), calls=(call,)), part)

    def _read_part(self, turn: Turn, part: Part) -> None:
        """Read a part other than `text`, unless it was read with the same text before."""
        if self._read.get(part.name) == part.text:
            return
        self._read[part.name] = part.text
        reading = read_structured_part(turn, part)
        for span in reading.spans if not part.name.startswith(WIRE_PREFIX) else ():
            self._observer.span_closed(self._key, self._turn, part.name, span, reading.calls)
        _, faults = check_structured_calls(reading.calls, reading.faults, self._tools)
        self._report_faults(fault.at(self._turn, part.name) for fault in faults)

    def _report_faults(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self._elsewhere[diagnostic.rule.code] += self._report_fault(diagnostic)

    def _report_fault(self, diagnostic: Diagnostic) -> bool:
        """Report a fault; False if it was reported before."""
        key = (diagnostic.rule.code, diagnostic.location.part, diagnostic.range.start, diagnostic.range.end)
        if key in self._reported:
            return False
        self._reported.add(key)
        self._observer.fault_found(self._key, self._turn, diagnostic)
        return True
