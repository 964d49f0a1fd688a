"""Decides who made a fault, the model or its server, by what the model wrote.

The model's own text comes from the same answer (the tokens of `logprobs`, llama.cpp's `__verbose`) or from a second
answer to the same prompt (`RawMethod`). weaklink reads the calls in that text itself and compares them with the calls
that the server delivered. A call that is right in the text, and lost, changed, repeated or invented in the delivery, is
the server's fault; a fault that is in the text as well is the model's, and clears the server. Nothing is guessed: with
no text, or one that a second answer cannot vouch for, the owner stays unknown, and the finding says why.

Example: the text is `<tool_call>{"name": "f", "arguments": {"a": "1"}}</tool_call>`, the reply has the arguments
`{"a": 1}`, the schema wants a string. The reply violates the schema, the text does not: the server's parser changed it.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct, structs

from weaklink.inspector.chain.layers import compare_reply, same_arguments, same_call
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.server_parsers import (
    Prediction,
    canonical_json,
    formats_of_parser,
    is_parser_named,
    predictions,
    sentences,
)
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, ToolCall, Turn
from weaklink.inspector.probe.judging import JudgedAnswer, Owner, ProbeFinding, answer_fits, quoted_line, trace_of
from weaklink.inspector.rules.markers import CALL_LEFT_IN_CONTENT, SPECIAL_TOKEN_LEAK, TEXT_AFTER_CALL
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import segment_whole

_LEAKS = frozenset({"special-token-in-content", "reasoning-in-content"})
_CONTENT_KINDS = frozenset({"wrong-text", "wrong-json", "streamed-differs"})
_ENDS_REASONING = ("</think>", "[/THINK]", "</thinking>", "</reasoning>")


class RawMethod(StrEnum):
    """How the model's own text was had."""

    VERBOSE = "__verbose"
    LOGPROBS = "logprobs"
    TEMPLATE = "/apply-template"
    TOKENIZE = "/tokenize"
    UNPARSED = "tool_choice: none, skip_special_tokens: false"


SAME_ANSWER = frozenset({RawMethod.VERBOSE, RawMethod.LOGPROBS})
"""The methods that give the text of the very answer that is judged."""


class RawText(Struct, frozen=True):
    """The model's text, before any parser of its server, and how it was had.

    `is_repeated`: the judged answer is a repetition of the one that failed first.
    """

    text: str
    method: RawMethod
    is_repeated: bool = False

    @property
    def words(self) -> str:
        """Where the text comes from, as the beginning of a sentence."""
        if self.is_repeated:
            return f"The request was repeated, and failed again; in the tokens of that answer (`{self.method}`)"
        if self.method in SAME_ANSWER:
            return f"In the tokens of this answer (`{self.method}`)"
        return f"In a second answer to the same prompt (`{self.method}`)"


class ComparedDelivery:
    """A judged answer beside the model's own text."""

    def __init__(self, judged: JudgedAnswer, raw: RawText, server_parser: str = "") -> None:
        """`server_parser` is the parser that the server is said to use (`vllm:hermes`), "" if none is named."""
        self.judged, self.raw, self._server_parser = judged, raw, server_parser

    @cached_property
    def written(self) -> tuple[ToolCall, ...]:
        """The calls that the model wrote, malformed ones too."""
        return tuple(call for part in self._inspection.parts if self._is_raw(part.turn) for call in part.calls)

    @cached_property
    def faults(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the text itself."""
        return tuple(
            diagnostic
            for diagnostic in self._inspection.diagnostics
            if self._is_raw(diagnostic.location.turn)
            and diagnostic.rule.severity is Severity.ERROR
            and diagnostic.rule.code[0] in "JF"
            and diagnostic.rule not in (CALL_LEFT_IN_CONTENT, TEXT_AFTER_CALL, SPECIAL_TOKEN_LEAK)
        )

    @property
    def content(self) -> str:
        """The content of the text: without calls, reasoning and markers."""
        for end in _ENDS_REASONING:
            if end in self.raw.text and end not in self.judged.content:
                return self.raw.text.rpartition(end)[2].strip()
        return segment_whole(self.raw.text, find_format(self._inspection.format)).content.strip()

    @property
    def is_right(self) -> bool:
        """Whether the text is a right answer to the request."""
        return answer_fits(self.judged.request.expected, self.written, self.content)

    def faithful(self, call: ToolCall, *, exactly: bool = False) -> bool:
        """Whether the model wrote a delivered call: with the same characters or, unless `exactly`, the same values."""
        return any(
            (written.name == call.name and written.raw_arguments.strip() == call.raw_arguments.strip())
            or (not exactly and same_call(written, call))
            for written in self.written
        )

    def difference(self) -> str:
        """The first way in which the delivered calls differ from the written ones, as a clause; `""` if none does."""
        return next(self._differences(), "")

    def content_difference(self) -> str:
        """How the delivered content differs from that of the text, as a clause; `""` if it does not."""
        delivered = " ".join(self.judged.content.split())
        written = " ".join(self.content.split())
        if delivered == written:
            return ""
        return f"the model wrote the content {quoted_line(written)}, and the server delivered {quoted_line(delivered)}"

    @cached_property
    def prediction(self) -> Prediction | None:
        """What the named parser returns for the text; None if none is named, or that was not measured."""
        if not self._server_parser:
            return None
        for format in formats_of_parser(self._server_parser):
            read = segment_whole(self.raw.text, find_format(format))
            last = read.spans[-1] if read.spans else None
            if last is not None and last.label == "turn_end":  # a server's parser gets the text without it
                read = segment_whole(self.raw.text[: last.range.start], find_format(format))
            faults = [diagnostic.fault for diagnostic in read.diagnostics]
            for prediction in predictions(read.text, format, read.spans, read.calls, faults):
                is_named = is_parser_named(prediction.parser, self._server_parser)
                if is_named and (prediction.streams_alike or not self.judged.answer.asked_stream):
                    return prediction
        return None

    @property
    def is_as_predicted(self) -> bool:
        """Whether the server delivered the calls that `prediction` has."""
        predicted = self.prediction.calls if self.prediction is not None else ()
        return len(predicted) == len(self.judged.calls) and all(
            call.name == name and (text is None or canonical_json(call.arguments) == text)
            for call, (name, text) in zip(self.judged.calls, predicted, strict=True)
        )

    def _is_raw(self, turn: int) -> bool:
        return turn == len(self.judged.trace.turns)

    @cached_property
    def _inspection(self) -> Inspection:
        turn = Turn(Role.ASSISTANT, (Part("text", self.raw.text),), generation=Generation())
        return inspect_trace(trace_of(self.judged.answer.body, turn))

    def _differences(self) -> Iterator[str]:
        delivered = list(self.judged.calls)
        broken = [fault.location.range for fault in self.faults]
        sound = [
            call for call in self.written if call.valid and not any(call.range.overlaps(range_) for range_ in broken)
        ]
        reply = compare_reply(sound, delivered)
        for written, changed in reply.changed:
            yield (
                f"the model wrote {_shown(written)} at characters {_range_words(written)}, and the server delivered "
                f"{quoted_line(changed.raw_arguments)}"
            )
        for lost in reply.lost:
            yield (
                f"the model wrote the call {_shown(lost)} at characters {_range_words(lost)}, and the server "
                "did not deliver it"
            )
        for extra in _unmatched(sound, delivered):
            if not self.faithful(extra):
                yield f"the model did not write the call {_shown(extra)} that the server delivered"
            elif _count(delivered, extra) > _count(self.written, extra):
                yield f"the model wrote the call {_shown(extra)} once, and the server delivered it again"


def owned(finding: ProbeFinding, compared: ComparedDelivery) -> ProbeFinding:
    """The finding with its owner, as far as the model's text shows it."""
    raw = compared.raw
    difference = _difference_for(finding, compared)
    if raw.method not in SAME_ANSWER:
        return _by_second_answer(finding, compared, difference)
    return _predicted(_by_same_answer(finding, compared, difference), compared)


def _by_same_answer(finding: ProbeFinding, compared: ComparedDelivery, difference: str) -> ProbeFinding:
    raw = compared.raw
    if difference:
        return _with(finding, Owner.SERVER, f"{raw.words}, {difference}.")
    if compared.faults:
        words = compared.faults[0].fault.message
        return _with(finding, Owner.MODEL, f"{raw.words}, the model's text has the same fault: {words}")
    return _with(finding, Owner.MODEL, f"{raw.words}, the model wrote exactly what the server delivered.")


def _predicted(finding: ProbeFinding, compared: ComparedDelivery) -> ProbeFinding:
    """The finding with what the named server parser does with the model's text, if that was measured."""
    prediction = compared.prediction
    if prediction is None:
        return finding
    as_predicted = compared.is_as_predicted
    words = "This server did the same" if as_predicted else "This server did something else"
    evidence = f"{finding.evidence} {sentences([prediction])[0]} {words}."
    return structs.replace(finding, evidence=evidence, as_predicted=as_predicted)


def _by_second_answer(finding: ProbeFinding, compared: ComparedDelivery, difference: str) -> ProbeFinding:
    """A second answer may differ by chance: only a right text beside a wrong delivery, or the same fault, counts."""
    raw, expected = compared.raw, compared.judged.request.expected
    has_expectation = expected.calls is not None or expected.text or expected.json_schema is not None
    if difference and not compared.faults and compared.written and (compared.is_right or not has_expectation):
        return _with(finding, Owner.SERVER, f"{raw.words}, the model's text is right: {difference}.")
    has_text = compared.written if finding.kind not in _CONTENT_KINDS else compared.content
    if not difference and has_text:
        return _with(finding, Owner.MODEL, f"{raw.words}, the model wrote the same.")
    return finding


def _difference_for(finding: ProbeFinding, compared: ComparedDelivery) -> str:
    """How the delivery differs from the text, if that explains the finding."""
    calls = compared.judged.calls
    index = finding.part.removeprefix("call:")
    if finding.part.startswith("call:") and index.isdecimal() and int(index) < len(calls):
        call = calls[int(index)]
        if finding.kind in ("call-repeated", "call-unwanted"):
            return compared.difference()
        if compared.faithful(call, exactly=finding.code.startswith("J")):
            return ""
        return compared.difference() or f"the model did not write the call {_shown(call)} that the server delivered"
    if finding.kind in _LEAKS and finding.range is not None:
        token = finding.range.of(compared.judged.content)
        is_written = token in compared.raw.text
        return f"`{token}` is markup, and the server left it in the content" if is_written else ""
    difference = compared.difference()
    if difference or finding.kind not in _CONTENT_KINDS:
        return difference
    return compared.content_difference()


def _with(finding: ProbeFinding, owner: Owner, evidence: str) -> ProbeFinding:
    return structs.replace(finding, owner=owner, evidence=evidence)


def _unmatched(sound: Sequence[ToolCall], delivered: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """The delivered calls beyond those that are written soundly."""
    left = list(sound)
    for call in delivered:
        match = next((candidate for candidate in left if same_call(candidate, call)), None)
        if match is None:
            yield call
        else:
            left.remove(match)


def _count(calls: Sequence[ToolCall], call: ToolCall) -> int:
    return sum(
        candidate.name == call.name and same_arguments(candidate.raw_arguments, call.raw_arguments)
        for candidate in calls
    )


def _range_words(call: ToolCall) -> str:
    return f"{call.range.start} to {call.range.end}"


def _shown(call: ToolCall) -> str:
    return f"`{call.name}` with {quoted_line(call.raw_arguments)}"
