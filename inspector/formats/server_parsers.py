"""What the tool parsers of vLLM and SGLang return for a text, by a table that is measured with their own code.

`make server-table` runs every parser over thousands of texts of its format and writes `server_behaviour.json`. A row
says what a parser did, without an exception, with all texts of one kind:

    ["J103", ["several", "-after"], "none", "raw", 143]

A text's kind is exactly the set of faults of markers and JSON that weaklink finds in it (here J103 alone; "" for none;
`J103+*` is J103 with or without other faults, for a text that no exact row is about, if all such rows agree) and facts
about its layout that must hold, or must not (`-`): `FACTS` lists them. Where codes alone do not decide, a row names the
wording of the messages too, without what they quote: "F301: The call is not closed: the stream ends before ``.".
The outcomes of the whole text and of a stream
follow, each one `ParserOutcome` or several that say the same of the measured texts ("" where those of the stream vary),
and the number of texts. What varied among texts of one kind has no row, and nothing is said of a text without a row:
silence is better than a wrong sentence. Texts with reasoning have rows of their own, measured with the reasoning parser
that the model's documentation names.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.json.call_shape import values_in
from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.model.calls import ToolCall
from weaklink.inspector.model.trace import Span, SpanKind
from weaklink.inspector.rules.conversation import UNKNOWN_TOOL
from weaklink.inspector.rules.markers import (
    CALL_INSIDE_REASONING,
    CALL_LEFT_IN_CONTENT,
    INVENTED_RESULT,
    MALFORMED_HEADER,
    NEAR_MARKER,
    REASONING_OPENED_BY_PROMPT,
    STRAY_END_MARKER,
    TEXT_AFTER_CALL,
    UNTERMINATED_SPAN,
)
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range

_MAX_CHARS = 50_000
_TOO_VARIED = frozenset(rule.code for rule in (STRAY_END_MARKER, MALFORMED_HEADER, NEAR_MARKER))
_REASONING = ("<think", "</think", "[THINK]", "[/THINK]")
_NOT_OF_THE_TEXT = (CALL_LEFT_IN_CONTENT, INVENTED_RESULT, REASONING_OPENED_BY_PROMPT, TEXT_AFTER_CALL)
_MAY_BE_WRITTEN = frozenset([CALL_INSIDE_REASONING.code])
_NAME = lazy_pattern(r"[\w./-]+")
_OWN_HEADERS = ("<|message_model|>", "<|start|>assistant")
"""Headers within an answer that has several messages: Inkling's, and those of Muse, Beam and harmony."""
_QUOTED = lazy_pattern(r"`[^`]*`")
_COUNT = lazy_pattern(r"\b\d+\b(?: \w+)* (?:is|are)\b|\b\d+\b")
_PLAIN_TEXT = lazy_pattern(r"[\w .,'-]*\Z")

FACTS = {
    "none": "no call is read",
    "one": "there is one call",
    "last": "only the last call has a fault",
    "before": "text precedes the first call",
    "between": "text is between calls",
    "after": "text follows the last call",
    "open": "the reasoning is not closed",
    "drafted": "a call is written in closed reasoning",
    "prompted": "the prompt opened the reasoning",
    "spaced": "line ends and spaces beside markers are not those of the model's template",
    "odd": "a value has characters beyond letters, digits, spaces, and `.,'-`",
    "nested": "a value is an array or an object",
    "unknown": "a called tool was not offered",
    "bare": "a call has no arguments",
    "reversed": "the arguments of a call precede its name",
    "absent": "a call does not even write `{}` for its arguments",
    "apart": "white space is between a parameter's name and its value",
    "bracketed": "brackets around the calls are not those of the model's template",
    "lead": "the text begins with white space",
    "padded": "a value begins or ends with white space",
    "ended": "a token that ends a turn is in the text",
    "written": "the calls are written character by character as the model's template writes them",
}
"""Facts about a text that rows name."""

_BRACKETED = "bracketed"
"""The fact that a row must name to be about such texts: most rows were measured without them."""


class ParserOutcome(StrEnum):
    """What a parser returns, compared with the calls that weaklink reads; "faulty" calls are those with a fault."""

    NONE = "none"
    ALL = "all"
    SOUND = "sound"
    KNOWN = "known"
    SOUND_AND_KNOWN = "sound-and-known"
    FIRST = "first"
    FAULTY_RAW = "raw"
    FAULTY_EMPTY = "empty"
    FAULTY_OTHER = "other"
    NAMES = "names"
    WITH_DRAFTS = "with-drafts"
    ERROR = "error"


class BehaviourRow(Struct, frozen=True, array_like=True):
    """One row of the table, as the module describes it."""

    codes: str
    facts: tuple[str, ...]
    whole: str
    streamed: str
    texts: int

    def covers(self, kind: "TextKind") -> bool:
        """Whether the row is about texts of this kind."""
        is_about = self.codes in (kind.codes, kind.wordings)
        has_codes = self.leading in kind.codes.split("+") if self.leading else is_about
        is_bracketed = _BRACKETED in kind.facts and _BRACKETED not in self.facts
        return (
            has_codes
            and not is_bracketed
            and all((fact.removeprefix("-") in kind.facts) is not fact.startswith("-") for fact in self.facts)
        )

    @property
    def leading(self) -> str:
        """The fault that decides, whatever other faults the text has; "" if the row is about exactly its faults."""
        return self.codes.removesuffix("+*") if self.codes.endswith("+*") else ""


class ServerParser(Struct, frozen=True):
    """A parser, as a server's flags name it, measured on one format with a reasoning parser or (None) without."""

    server: str
    version: str
    name: str
    reasoning: str | None
    format: str
    rows: tuple[BehaviourRow, ...] = ()


class ReadCall(Struct, frozen=True):
    """A call that weaklink reads; `arguments` is JSON with sorted keys."""

    name: str | None
    arguments: str
    faulty: bool
    unknown: bool


class TextKind(Struct, frozen=True):
    """What decides which row is about a text: the codes of its faults, its facts, and its calls.

    `drafts` are the names of the calls that are written in closed reasoning; all come before the calls. `wordings` are
    the codes, each with its message but for what that quotes from the text.
    """

    codes: str
    facts: frozenset[str]
    calls: tuple[ReadCall, ...]
    has_reasoning: bool
    drafts: tuple[str, ...] = ()
    wordings: str = ""


PredictedCall: TypeAlias = tuple[str, str | None]
"""The name of a call and its arguments as text; None if they are not those that weaklink reads."""


class Prediction(Struct, frozen=True):
    """What a parser returns for a text: its calls in order, and the row that says so."""

    parser: ServerParser
    row: BehaviourRow
    outcome: ParserOutcome
    calls: tuple[PredictedCall, ...]
    streams_alike: bool

    @property
    def behaviour(self) -> str:
        """What the parser does, in words: a verb in the plural, and what is returned."""
        way = "" if self.streams_alike else ", for an answer that is not streamed"
        match self.outcome, len(self.calls):
            case ParserOutcome.ERROR, _:
                return f"fail with an error here{way}"
            case _, 0:
                return f"return no call here{way}"
            case outcome, count:
                calls = "1 call" if count == 1 else f"{count} calls"
                return f"return {calls} here{_ALTERED.get(outcome, '')}{way}"

    @property
    def reason(self) -> str:
        """What the prediction is based on."""
        others = " with or without other faults" if self.row.leading else ""
        faults = f"{self.row.leading}{others}" or self.row.codes.replace("+", ", ") or "no fault"
        facts = [f"{'not: ' if fact.startswith('-') else ''}{FACTS[fact.removeprefix('-')]}" for fact in self.row.facts]
        return f"so it was for all {self.row.texts} measured texts of this kind ({'; '.join([faults, *facts])})"


_ALTERED = {
    ParserOutcome.FAULTY_RAW: ", the faulty one with arguments that are not JSON",
    ParserOutcome.FAULTY_EMPTY: ", the faulty one without arguments",
    ParserOutcome.FAULTY_OTHER: ", the faulty one with other arguments than weaklink reads",
    ParserOutcome.WITH_DRAFTS: ", those drafted in the reasoning among them",
}

_FAULTY_ALTERED = (ParserOutcome.FAULTY_RAW, ParserOutcome.FAULTY_EMPTY, ParserOutcome.FAULTY_OTHER)


def sentences(predicted: Iterable[Prediction]) -> list[str]:
    """The predictions in words, one sentence for all parsers that do the same, in the order of the first of each."""
    parsers: dict[str, list[ServerParser]] = {}
    for prediction in predicted:
        parsers.setdefault(prediction.behaviour, []).append(prediction.parser)
    return [_sentence(behaviour, group) for behaviour, group in parsers.items()]


def _sentence(behaviour: str, parsers: Sequence[ServerParser]) -> str:
    servers: dict[str, list[ServerParser]] = {}
    for parser in parsers:
        servers.setdefault(f"{parser.server} {parser.version}", []).append(parser)
    names = " and ".join(f"{server} ({_names(group)})" for server, group in servers.items())
    verb, _, rest = behaviour.partition(" ")
    return f"The parsers of {names} {behaviour}." if len(parsers) > 1 else f"The parser of {names} {verb}s {rest}."


def _names(parsers: Sequence[ServerParser]) -> str:
    """The names of one server's parsers, each with the reasoning parsers that it was measured with."""
    tools: dict[str, list[str]] = {}
    for parser in parsers:
        tools.setdefault(parser.name, []).extend([f"`{parser.reasoning}`"] if parser.reasoning else [])
    return ", ".join(
        f"`{tool}` with the reasoning parser {' or '.join(reasoning)}" if reasoning else f"`{tool}`"
        for tool, reasoning in tools.items()
    )


def predictions(
    text: str, format: str, spans: Sequence[Span], calls: Sequence[ToolCall], faults: Iterable[Fault]
) -> tuple[Prediction, ...]:
    """What each measured parser for this format returns for a text that was read so; empty where it is not known."""
    parsers = [parser for parser in known_parsers() if parser.format == format]
    kind = text_kind(text, format, spans, calls, faults) if parsers else None
    if kind is None:
        return ()
    predicted = (_predicted(parser, kind) for parser in parsers if (parser.reasoning is not None) is kind.has_reasoning)
    return tuple(prediction for prediction in predicted if prediction is not None)


def wrong_predictions(
    text: str, format: str, spans: Sequence[Span], calls: Sequence[ToolCall], faults: Sequence[Fault]
) -> tuple[Prediction, ...]:
    """The predictions of parsers that do not return as many calls as the model wrote, attempts included."""
    written = len(calls) + sum(fault.call is not None for fault in faults)
    predicted = predictions(text, format, spans, calls, faults) if written else ()
    return tuple(prediction for prediction in predicted if len(prediction.calls) != written)


def is_parser_named(parser: ServerParser, word: str) -> bool:
    """Whether a parser has this name, as `formats_of_parser` takes it."""
    server, _, name = word.lower().rpartition(":")
    return parser.name == name and server in ("", parser.server.lower())


def formats_of_parser(word: str) -> tuple[str, ...]:
    """The formats of the parser with this name, `hermes` or `vllm:hermes`; UnknownFormatError if it is not known."""
    named = [parser for parser in known_parsers() if is_parser_named(parser, word)]
    if not named:
        known = ", ".join(dict.fromkeys(f"{parser.server.lower()}:{parser.name}" for parser in known_parsers()))
        raise UnknownFormatError(f"unknown server parser `{word}`; known are {known}")
    return tuple(dict.fromkeys(parser.format for parser in named))


@cache
def known_parsers() -> tuple[ServerParser, ...]:
    """The measured parsers. The file is part of the package."""
    content = files("weaklink.inspector.formats").joinpath("server_behaviour.json").read_bytes()
    return _decode_parsers(content)


_decode_parsers = msgspec.json.Decoder(tuple[ServerParser, ...]).decode


def _predicted(parser: ServerParser, kind: TextKind) -> Prediction | None:
    """What all rows about a text say; one that knows only the names, or no stream, leaves that to the others."""
    rows = [row for row in parser.rows if row.covers(kind)]
    exact = [row for row in rows if not row.leading]
    made = [_prediction(parser, row, kind) for row in exact or rows]
    agreed = [prediction for prediction in made if prediction is not None]
    if not made or len(agreed) < len(made):
        return None
    telling = [prediction for prediction in agreed if prediction.outcome is not ParserOutcome.NAMES] or agreed
    names = {tuple(name for name, _ in prediction.calls) for prediction in agreed}
    if len(names) > 1 or len({prediction.calls for prediction in telling}) > 1:
        return None
    streamed = [prediction for prediction in telling if prediction.row.streamed]
    return streamed[0] if streamed and all(prediction.streams_alike for prediction in streamed) else telling[0]


def _prediction(parser: ServerParser, row: BehaviourRow, kind: TextKind) -> Prediction | None:
    whole = _meant(row.whole, kind.calls)
    if whole is None:
        return None
    streamed = _meant(row.streamed, kind.calls) if row.streamed else None
    calls = _returned_calls(whole, kind)
    alike = streamed is not None and _returned_calls(streamed, kind) == calls
    return Prediction(parser, row, whole, calls, alike)


def _meant(outcomes: str, calls: Sequence[ReadCall]) -> ParserOutcome | None:
    """The first of the outcomes, if all mean the same for these calls."""
    alternatives = [ParserOutcome(part) for part in outcomes.split("/")]
    return alternatives[0] if len({_selected(outcome, calls) for outcome in alternatives}) == 1 else None


def _selected(outcome: ParserOutcome, calls: Sequence[ReadCall]) -> tuple[int, ...]:
    """The indexes of the calls that are returned."""
    match outcome:
        case ParserOutcome.NONE | ParserOutcome.ERROR:
            return ()
        case ParserOutcome.FIRST:
            return tuple(range(len(calls)))[:1]
        case ParserOutcome.SOUND:
            return tuple(index for index, call in enumerate(calls) if not call.faulty)
        case ParserOutcome.KNOWN:
            return tuple(index for index, call in enumerate(calls) if not call.unknown)
        case ParserOutcome.SOUND_AND_KNOWN:
            return tuple(index for index, call in enumerate(calls) if not (call.faulty or call.unknown))
        case _:
            return tuple(range(len(calls)))


def _returned_calls(outcome: ParserOutcome, kind: TextKind) -> tuple[PredictedCall, ...]:
    keeps_all = outcome is not ParserOutcome.NAMES
    keeps_faulty = keeps_all and outcome not in _FAULTY_ALTERED
    drafts = kind.drafts if outcome is ParserOutcome.WITH_DRAFTS else ()
    return tuple((name, None) for name in drafts) + tuple(
        (call.name or "", call.arguments if (keeps_faulty if call.faulty else keeps_all) else None)
        for call in (kind.calls[index] for index in _selected(outcome, kind.calls))
    )


def text_kind(
    text: str, format: str, spans: Sequence[Span], calls: Sequence[ToolCall], faults: Iterable[Fault]
) -> TextKind | None:
    """The kind of a text; None for one that no row can be about. Linear in the text, but for calls times faults.

    No row is about others' turns, names that the model padded, arguments beside the call's name, markers that the
    template does not write, reasoning in another family's tags, and garbled markers: what is read there is weaklink's
    leniency.
    """
    inner = (child for span in spans for child in (span, *span.children))
    parts = [
        span.range
        for span in inner
        if span.kind is SpanKind.TOOL_CALL or (span.kind is SpanKind.MARKUP and not span.label.startswith("turn"))
    ] or [Range(0, 0)]
    spacing, usual = _spacing(text[parts[0].start : parts[-1].end], format), _spacing_of_template(format)
    headers = (span for span in spans if span.kind is SpanKind.MARKUP and span.label.startswith("turn"))
    starts = [span.range.start for span in headers if span.label != "turn_end"]
    has_other_turns = not all(text.startswith(_OWN_HEADERS, start) for start in starts)
    is_odd = has_other_turns or any(_is_loose(call, text, format) for call in calls)
    others = {marker for _, marker, _ in spacing if marker.strip()} - {marker for _, marker, _ in usual}
    has_variants = any(sign.isalpha() for marker in others for sign in marker)
    if len(text) > _MAX_CHARS or is_odd or has_variants or _has_unread_calls(text, format, spans, calls):
        return None
    faults = list(faults)
    wordings, read = _read_calls(spans, calls, faults)
    drafts = list(_drafts(text, format, spans))
    wordings.update(_wording(fault) for _, draft in drafts for fault in draft.faults)
    wordings.update((UNTERMINATED_SPAN.code, "") for span, _ in drafts if not span.closed)
    codes = {code for code, _ in wordings}
    reasoning = any(span.kind is SpanKind.REASONING for span in spans)
    if not codes.isdisjoint(_TOO_VARIED) or (not reasoning and any(marker in text for marker in _REASONING)):
        return None
    drafted = [call for _, draft in drafts for call in draft.calls]
    leaves = [leaf for call in calls for leaf in values_in(call.arguments) if isinstance(leaf, str)]
    members = (call.arguments.values() if isinstance(call.arguments, dict) else (call.arguments,) for call in calls)
    ranges = ((call.name_range, call.arguments_range) for call in calls)
    parameters = (parameter for call in calls for parameter in call.parameters)
    gaps = (Range(parameter.name_range.end, parameter.range.start) for parameter in parameters if parameter.name_range)
    facts = {
        "none": not calls,
        "one": len(calls) == 1,
        "last": [index for index, call in enumerate(read) if call.faulty] == [len(read) - 1],
        "unknown": any(call.unknown for call in read),
        "odd": any(not _PLAIN_TEXT.match(leaf) for leaf in leaves),
        "padded": any(leaf != leaf.strip() for leaf in leaves),
        "nested": any(isinstance(value, dict | list) for values in members for value in values),
        "bare": any(not call.arguments for call in calls),
        "reversed": any(arguments.start < name.start for name, arguments in ranges if name and arguments),
        "absent": any(not call.raw_arguments for call in (*calls, *drafted)),
        "spaced": not spacing <= usual,
        "apart": any(sign.isspace() for gap in gaps for sign in gap.of(text)),
        _BRACKETED: bool(others),
        "lead": text[:1].isspace(),
        "prompted": any(fault.rule is REASONING_OPENED_BY_PROMPT for fault in faults),
        "ended": any(span.label == "turn_end" for span in spans),
        "written": codes <= _MAY_BE_WRITTEN and _is_written(text, format, [drafted, calls]),
        **_surroundings(text, spans, calls),
    }
    return TextKind(
        "+".join(sorted(codes)),
        frozenset(fact for fact, holds in facts.items() if holds),
        read,
        reasoning,
        tuple(call.name or "" for call in drafted),
        " + ".join(f"{code}: {words}" if words else code for code, words in sorted(wordings)),
    )


def _read_calls(
    spans: Sequence[Span], calls: Sequence[ToolCall], faults: Iterable[Fault]
) -> tuple[set[tuple[str, str]], tuple[ReadCall, ...]]:
    """The codes of a text's faults with the wording of their messages, and its calls."""
    wordings: set[tuple[str, str]] = set()
    unknown: set[int] = set()
    told: set[int] = set()
    holds_calls = any(spans[call.span].kind is SpanKind.REASONING for call in calls)
    reasoning = [span.range for span in spans if span.kind is SpanKind.REASONING]
    for fault in faults:
        index = _call_of(fault, spans, calls)
        if fault.rule is UNKNOWN_TOOL and index is not None:
            unknown.add(index)
        # That reasoning is not closed is a fact, not a code.
        of_reasoning = fault.rule is UNTERMINATED_SPAN and any(
            span_range.start <= fault.range.start < span_range.end for span_range in reasoning
        )
        if of_reasoning and holds_calls:
            wordings.add((CALL_INSIDE_REASONING.code, _wording(fault)[1]))
        if fault.rule.code[0] in "JF" and fault.rule not in _NOT_OF_THE_TEXT and not of_reasoning:
            wordings.add(_wording(fault))
            told |= {index} if index is not None else set()
    if any(not call.valid and index not in told for index, call in enumerate(calls)):
        wordings.add(("invalid", ""))
    return wordings, tuple(
        ReadCall(call.name, canonical_json(call.arguments), not call.valid or index in told, index in unknown)
        for index, call in enumerate(calls)
    )


def _wording(fault: Fault) -> tuple[str, str]:
    """The code of a fault, and its message up to the first semicolon, without what it quotes and counts."""
    return fault.rule.code, _COUNT.sub("#", _QUOTED.sub("``", fault.message).partition(";")[0])


def canonical_json(value: Json) -> str:
    """A value as JSON that is equal for equal values."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # a number that Python's `json` does not write
        return write_json(value)


def _drafts(text: str, format: str, spans: Sequence[Span]) -> Iterator[tuple[Span, ParseResult]]:
    """The calls in closed reasoning, with their faults."""
    closed = (span for span in spans if span.kind is SpanKind.REASONING and span.closed)
    for draft in (child for span in closed for child in span.children if child.kind is SpanKind.TOOL_CALL):
        yield draft, find_format(format).read_calls(SpanClosed(draft, draft.inner.of(text)))


def _has_unread_calls(text: str, format: str, spans: Sequence[Span], calls: Sequence[ToolCall]) -> bool:
    """Whether reasoning that is not closed has calls that are not read as such, or lack markers of the template.

    No fault tells of a marker that lacks there.
    """
    opened = [span for span in spans if span.kind is SpanKind.REASONING and not span.closed]
    drafts = [child for span in opened for child in span.children if child.kind is SpanKind.TOOL_CALL]
    lacks = bool(drafts) and not all(marker in text for marker in _markers_of_one_call(format))
    rest = drafts[-1].range.end if drafts else len(text)
    lacks = lacks or any(text.find(marker, rest) >= 0 for marker in _markers_of_each_call(format))
    is_cut = any(not draft.closed for draft in drafts)
    read = sum(any(draft.range.covers(call.range) for draft in drafts) for call in calls)
    return lacks or is_cut or read != len(drafts)


def _call_of(fault: Fault, spans: Sequence[Span], calls: Sequence[ToolCall]) -> int | None:
    """The index of the call that a fault belongs to: the one it lies in, or the only one of its span."""
    head = Range(fault.range.start, fault.range.start + 1)
    for index, call in enumerate(calls):
        if call.range.covers(head):
            return index
    same = [index for index, call in enumerate(calls) if spans[call.span].range.covers(head)]
    return same[0] if len(same) == 1 else None


def _surroundings(text: str, spans: Sequence[Span], calls: Sequence[ToolCall]) -> dict[str, bool]:
    texts = [span.range.start for span in spans if span.kind is SpanKind.TEXT and span.range.of(text).strip()]
    starts = [spans[call.span].range.start for call in calls] or [len(text)]
    reasoning = [span for span in spans if span.kind is SpanKind.REASONING]
    return {
        "before": any(start < starts[0] for start in texts),
        "after": any(start > starts[-1] for start in texts),
        "between": any(starts[0] < start < starts[-1] for start in texts),
        "open": bool(reasoning) and not reasoning[-1].closed,
        "drafted": any(child.kind is SpanKind.TOOL_CALL for span in reasoning for child in span.children),
    }


def _is_loose(call: ToolCall, text: str, format: str) -> bool:
    """Whether a name has white space around it, signs that names rarely have, or the arguments beside it."""
    if (call.arguments and not call.raw_arguments) or (call.name is not None and _NAME.fullmatch(call.name) is None):
        return True
    if call.name_range is None:
        return False
    written, start = call.name_range.of(text), call.name_range.start
    is_apart = written == call.name and text[start - 1 : start].isspace()
    return written.strip("\"'") != call.name or (is_apart and text[start - 1] not in _signs_before_names(format))


@cache
def _signs_before_names(format: str) -> frozenset[str]:
    """The signs that the format's template writes before tools' names."""
    calls = [ToolCall("f_x", {}, "", valid=True, range=Range(0, 0))] * 2
    return frozenset(before[-1:] for before in find_format(format).write_calls(calls).split("f_x")[:-1])


def _is_written(text: str, format: str, groups: Iterable[Sequence[ToolCall]]) -> bool:
    """Whether there are calls, and each group is in the text as the template writes it, one call after the other."""
    dialect = find_format(format)
    written = [group for group in groups if group]
    expressed = all(dialect.expresses(call) for group in written for call in group)
    return bool(written) and expressed and all(dialect.write_calls(group) in text for group in written)


def _spacing(body: str, format: str) -> frozenset[tuple[str, str, str]]:
    """The markers of a format in a text, each with the white space before and after it."""
    spacings: set[tuple[str, str, str]] = set()
    for marker in markers_of(find_format(format)).all:
        position = body.find(marker)
        while position >= 0:
            start, end = position, position + len(marker)
            while start and body[start - 1].isspace():
                start -= 1
            last = _SPACE.match(body, end)
            spacings.add((body[start:position], marker, last[0] if last else ""))
            position = body.find(marker, end)
    return frozenset(spacings)


@cache
def _spacing_of_template(format: str) -> frozenset[tuple[str, str, str]]:
    """The spacing in calls as the format's template writes them."""
    dialect = find_format(format)
    probes = [ToolCall("f", arguments, "", valid=True, range=Range(0, 0)) for arguments in _PROBES]
    texts = [dialect.write_calls(probes[:1]), dialect.write_calls(probes[1:]), dialect.write_calls(probes)]
    return frozenset().union(*(_spacing(text, format) for text in texts))


@cache
def _markers_of_one_call(format: str) -> frozenset[str]:
    """The markers that the format's template writes around any call."""
    dialect = find_format(format)
    text = dialect.write_calls([ToolCall("f", {}, "", valid=True, range=Range(0, 0))])
    return frozenset(marker for _, marker, _ in _spacing(text, format) if marker.strip())


@cache
def _markers_of_each_call(format: str) -> frozenset[str]:
    """The whole markers that the format's template writes again for a second call, but for single signs."""
    dialect = find_format(format)
    probe = ToolCall("f", {}, "", valid=True, range=Range(0, 0))
    alone, twice = dialect.write_calls([probe]), dialect.write_calls([probe, probe])
    markers = {marker.strip() for marker in _markers_of_one_call(format)}
    again = (marker for marker in markers if len(marker) > 1 and twice.count(marker) > alone.count(marker))
    return frozenset(marker for marker in again if sum(marker in other for other in markers) == 1)


_SPACE = lazy_pattern(r"\s*")
_PROBES: tuple[dict[str, Json], ...] = ({"a": "x", "b": 1}, {}, {"a": "x"})
