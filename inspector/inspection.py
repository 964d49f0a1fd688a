"""Inspection of a trace: parses its parts, pairs calls with results, and runs every check."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

from msgspec.structs import replace

from weaklink.inspector.apis.openai.tool_lists import loaded_tools
from weaklink.inspector.chain import layers
from weaklink.inspector.chain.analysis import analyse
from weaklink.inspector.chain.compaction import compaction_diagnostics
from weaklink.inspector.chain.data_flow import DataFlow, step_values, trace_values
from weaklink.inspector.chain.emitted import emitted_differences, emitted_text
from weaklink.inspector.chain.faults import argument_diagnostics, chain_diagnostics, ending_diagnostics
from weaklink.inspector.chain.history import added_observation, history_diagnostics
from weaklink.inspector.chain.pairing import EchoFilter, LocatedCall, LocatedResult, pair, with_attempts
from weaklink.inspector.chain.plain_chain import plain_chain
from weaklink.inspector.chain.steps import Chain, Speech, Step, tool_named
from weaklink.inspector.checks.arguments import check_structured_calls
from weaklink.inspector.checks.attempted.call_search import call_search
from weaklink.inspector.checks.context import check_context
from weaklink.inspector.checks.quoted_calls import quoted_spans
from weaklink.inspector.checks.reasoning import check_reasoning, reasoned_turns
from weaklink.inspector.checks.recording import (
    check_arrivals,
    check_finish,
    check_recording,
    only_client_parses,
    repeated_turns,
    stripped_stop_word,
)
from weaklink.inspector.checks.text_calls import SessionTools
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import SENT_PART, Diagnostic, Fault, Location, Related
from weaklink.inspector.formats.api.call_reading import read_structured_part
from weaklink.inspector.formats.api.refused_calls import read_error
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format, expected_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, known_format
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Part, Role, SpanKind, ToolCall, ToolDefinition, ToolResult, Trace, Turn
from weaklink.inspector.model.exchange import whole_text, with_model_ids
from weaklink.inspector.model.trace import RECORDING_ID, SentMessage
from weaklink.inspector.rules.catalogue import select_rules
from weaklink.inspector.rules.conversation import CALL_WITHOUT_RESULT, REPEATED_CALL
from weaklink.inspector.rules.layers import CALL_DELIVERED_TWICE, CALL_LOST_BY_SERVER
from weaklink.inspector.rules.markers import CALL_LEFT_IN_CONTENT, NEAR_MARKER, TEXT_AFTER_CALL
from weaklink.inspector.rules.recording import ERROR_INSIDE_200, UPSTREAM_ERROR
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmentation import AUTO, Segmentation, segment_whole
from weaklink.inspector.text import REFUSED_CALL, Range
from weaklink.inspector.version import __version__
from weaklink.inspector.wire.events import ERROR_PART, PROMPT_PART, TOKENS_PART

REASONING_BUDGET = 30_000
"""The default limit on the tokens of reasoning in one turn."""
_CALLS_APART = frozenset({"claude-code", "claude-code-output", "codex", "codex-output", "hermes-sessions"})
"""The sources whose logs store calls apart from the text, by the definition of their format."""
_RAW_BESIDE_CALLS = frozenset({"tau-bench"})
"""The sources that keep the model's raw text beside the calls that were read from it: no server delivered both."""
_MAX_CACHED_CHARS, _CACHE_SIZE = 16_384, 256  # the cache of parsed texts: longest text in code points, entries


def inspect_trace(
    trace: Trace,
    *,
    format: str = AUTO,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    error_patterns: Sequence[str] = (),
    reasoning_budget: int = REASONING_BUDGET,
    context_window: int | None = None,
) -> Inspection:
    """Parse every part of a trace, pair calls with results, and find the break.

    `format` overrides the trace's own; `auto` detects it if the trace has none. `select` and `ignore` are rule
    codes, names or code prefixes: only diagnostics of selected rules (all if none is named) that are not ignored
    are reported; the verdict on the chain uses all rules. `error_patterns` are regular expressions (Python's `re`): a
    result with a match in its first or last 65,536 code points is an error, judged by its words. `reasoning_budget` is
    the maximum number of reasoning tokens in a turn (R601). `context_window` is the size of the model's context window
    in tokens (R603); None takes the size that the source or the request states, else 131,072. Raises
    UnknownFormatError, UnknownRuleError and InvalidPatternError; the content of the trace never raises.
    """
    trace = replace(trace, turns=tuple(with_model_ids(trace.turns)))
    chosen = format_of(trace, format)
    read = list(_read_turns(trace, chosen))
    parts = tuple(inspected for inspected, _ in read)
    diagnostics = [diagnostic for _, faults in read for diagnostic in faults]
    chain, found = analyse_parts(
        trace,
        parts,
        diagnostics,
        error_patterns=error_patterns,
        reasoning_budget=reasoning_budget,
        context_window=context_window,
    )
    ordered = _in_order(trace, _chosen((*diagnostics, *found), select, ignore))
    return Inspection(__version__, chosen.name, parts, chain, tuple(ordered))


def analyse_parts(
    trace: Trace,
    parts: Sequence[PartInspection],
    faults: Sequence[Diagnostic],
    *,
    error_patterns: Sequence[str] = (),
    reasoning_budget: int = REASONING_BUDGET,
    context_window: int | None = None,
) -> tuple[Chain, list[Diagnostic]]:
    """The chain of a trace whose parts are parsed, and the faults in its recording, calls and results.

    `faults` are the faults of the parts. Raises InvalidPatternError as `inspect_trace` does.
    """
    if not faults and not error_patterns and not _is_reasoned(parts):
        plain = plain_chain(trace, _events(trace, parts), _definitions(parts), context_window)
        if plain is not None:
            return plain, []
    pairing = with_attempts(pair(_events(trace, parts)), _attempts(faults))
    speeches, definitions = tuple(_speeches(trace, parts)), _definitions(parts)
    analysis = analyse(trace, pairing, faults, speeches, error_patterns=error_patterns, definitions=definitions)
    diagnostics: list[Diagnostic] = []
    called = {part.turn for part in parts if part.calls} | {fault.location.turn for fault in faults if fault.fault.call}
    repeated = repeated_turns(trace.turns)
    for number, turn in enumerate(trace.turns, 1):
        diagnostics += check_recording(turn, number, was_repeated=number in repeated)
        diagnostics += check_finish(turn, number) if number not in called else ()
        diagnostics += check_arrivals(turn, number)
    diagnostics += check_reasoning(trace, tuple(reasoned_turns(trace, parts)), reasoning_budget)
    diagnostics += check_context(trace, context_window)
    diagnostics += chain_diagnostics(trace, pairing, analysis.chain, analysis.flow)
    diagnostics += ending_diagnostics(trace, analysis.chain, speeches, analysis.invented_at)
    diagnostics += argument_diagnostics(trace, analysis.chain.steps, analysis.flow)
    diagnostics = layers.without_consequences(diagnostics, faults, CALL_WITHOUT_RESULT)
    diagnostics = _without_refusals(diagnostics, parts)
    differences = [
        *layers.run_differences(trace, analysis.chain.steps),
        *history_diagnostics(trace),
        *compaction_diagnostics(trace, analysis.chain.steps, analysis.flow),
    ]
    from_server = (fault for fault in faults if fault.rule.owner)
    chain = layers.with_layer_causes(trace, analysis.chain, analysis.flow, (*from_server, *differences))
    return chain, diagnostics + differences


def _is_reasoned(parts: Iterable[PartInspection]) -> bool:
    for part in parts:
        for span in part.spans:
            if span.kind is SpanKind.REASONING:
                return True
    return False


def _without_refusals(diagnostics: Sequence[Diagnostic], parts: Iterable[PartInspection]) -> list[Diagnostic]:
    """The diagnostics without what follows from a refused call: the server's error, and that the call has no result."""
    refused = {part.turn for part in parts if part.part == ERROR_PART and part.calls}
    return [
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.location.turn not in refused
        or not (
            diagnostic.rule in (UPSTREAM_ERROR, ERROR_INSIDE_200)
            or (diagnostic.rule is CALL_WITHOUT_RESULT and diagnostic.location.part == ERROR_PART)
        )
    ]


def data_flow_of(trace: Trace, inspection: Inspection) -> DataFlow:
    """The origins of the values in a trace's calls; computed again, because an inspection does not store them."""
    return trace_values(trace, inspection.chain.steps, _definitions(inspection.parts))


def step_flow_of(
    trace: Trace, inspection: Inspection, step: Step, is_left: Callable[[], bool] = bool
) -> DataFlow | None:
    """The data flow of one step only, in little memory for any size of trace; None once `is_left` returns true."""
    inputs = (part for part in inspection.parts if trace.turns[part.turn - 1].role is not Role.ASSISTANT)
    return step_values(trace, inspection.chain.steps, step, _definitions(inputs), is_left=is_left)


def _definitions(parts: Iterable[PartInspection]) -> Iterator[Location]:
    """The locations of tool definitions in texts."""
    for part in parts:
        for span in part.spans:
            if span.kind is SpanKind.TOOL_DEFINITIONS:
                yield Location(part.turn, part.part, span.range)


def format_of(trace: Trace, format: str = AUTO) -> Format:
    """The format to parse a trace with: the named one, else the trace's own, else the expected or the detected one.

    In a recorded session whose requests offer tools, the server has to find the calls, in the format of the model. A
    trace's own format may come from a chat template or a plug-in that is not registered here; then it is detected.
    """
    if format != AUTO:
        return find_format(format)
    if trace.format and (own := known_format(trace.format)) is not None:
        return own
    if any(id_.name == RECORDING_ID for id_ in trace.external_ids) and _offers_tools(trace):
        expected = expected_format(trace.model or _requested_model(trace))
        if expected is not None:
            return expected
    sample, room = [], SAMPLE_CHARS
    for turn in trace.turns:
        if turn.role is Role.ASSISTANT and room > 0:
            texts = [part.text[:room] for part in turn.parts if part.name == "text"]
            sample += texts
            room -= sum(map(len, texts))
    return detect_format("\n".join(sample), trace.model).format


def _offers_tools(trace: Trace) -> bool:
    return any(turn.generation is not None and turn.generation.tools for turn in trace.turns)


def _requested_model(trace: Trace) -> str:
    return next((turn.generation.requested_model for turn in trace.turns if turn.generation is not None), "")


_ReadPart: TypeAlias = tuple[PartInspection, Sequence[Diagnostic]]


def _read_turns(trace: Trace, chosen: Format) -> Iterator[_ReadPart]:
    """Every part, checked against the tools that its turn's request offered, else those that earlier texts define."""
    turns = _TurnReader(trace, chosen)
    for number, turn in enumerate(trace.turns, 1):
        yield from turns.read(turn, number)


class _TurnReader:
    """Reads the turns of one trace in order; keeps the tools and the texts that the later ones need."""

    def __init__(self, trace: Trace, chosen: Format) -> None:
        self._chosen = chosen
        self._model = trace.model or _requested_model(trace)
        self._is_apart = stores_calls_apart(trace)
        self._is_delivered = trace.provenance.source not in _RAW_BESIDE_CALLS
        self._session_tools = SessionTools(trace.turns)
        self._repeated = repeated_turns(trace.turns)
        self._reported: set[str] = set()
        self._defined, self._requested = OfferedTools(), OfferedTools(reported=self._reported)
        self._loaded: tuple[ToolDefinition, ...] = ()
        self._request = ""
        self._echoes = EchoFilter()
        self._unheard: list[tuple[Turn, list[_ReadPart]]] = []  # by the filter, which most traces do not need

    def read(self, turn: Turn, number: int) -> Iterator[_ReadPart]:
        """The parts of turn `number` (from 1)."""
        self._loaded += loaded_tools(turn)
        tools = turn.generation.tools if turn.generation is not None else ()
        if tools and (tools != self._requested.definitions or self._loaded != self._requested.loaded):
            self._requested = OfferedTools(tools, reported=self._reported, loaded=self._loaded)
        offered = self._requested if tools else self._defined
        read = (
            [read_part(turn, number, part, self._chosen, offered) for part in turn.parts]
            if offered.definitions or offered.loaded
            else list(_read_without_tools(turn, number, self._chosen))
        )
        is_apart = self._is_apart and turn.role is Role.ASSISTANT
        for index, part in enumerate(turn.parts):
            if part.name == ERROR_PART and number not in self._repeated:
                read[index] = _with_refused_call(part, *read[index])
            elif is_apart and part.name == "text":
                read[index] = _without_quoted(part, *read[index], self._request)
        if turn.role is Role.USER:
            self._request = "\n".join([part.text for part in turn.parts if part.name == "text"]) or self._request
        for part, (inspected, faults) in zip(turn.parts, read, strict=True):
            diagnostics = self._without_echoes(faults, part.text, read) if faults else faults
            if inspected.definitions and turn.role in (Role.SYSTEM, Role.USER):
                self._define(inspected, diagnostics)
            if is_apart and part.name == "text":
                diagnostics = [
                    *diagnostics,
                    *self._left_in_content(turn, part, inspected, diagnostics, _calls_in(read, "call:")),
                ]
            elif part.name == TOKENS_PART and (text := emitted_text(turn)) is not None:
                own = detect_format(text, self._model).format
                written = segment_whole(text, own, tools=offered).calls
                diagnostics = [*diagnostics, *emitted_differences(turn, number, written, _calls_in(read, "call:"))]
            yield inspected, diagnostics
        self._unheard.append((turn, read))

    def _without_echoes(
        self, faults: Sequence[Diagnostic], text: str, read: Sequence[_ReadPart]
    ) -> Sequence[Diagnostic]:
        for turn, parts in self._unheard:
            self._echoes.add(turn, _calls_in(parts))
        self._unheard.clear()
        return list(self._echoes.without(faults, text, _calls_in(read)))

    def _define(self, inspected: PartInspection, diagnostics: Iterable[Diagnostic]) -> None:
        is_whole = self._defined.is_whole and not any(
            diagnostic.rule.severity is Severity.ERROR for diagnostic in diagnostics
        )
        tools = (*self._defined.definitions, *inspected.definitions)
        self._defined = OfferedTools(tools, reported=self._reported, is_whole=is_whole)

    def _left_in_content(
        self,
        turn: Turn,
        part: Part,
        inspected: PartInspection,
        diagnostics: Sequence[Diagnostic],
        parsed: Sequence[ToolCall],
    ) -> Iterator[Diagnostic]:
        """The faults of calls in the content of an answer; those that are `parsed` are in fields of their own."""
        is_declared = self._defined.definitions or (turn.generation is not None and turn.generation.tools)
        if not is_declared:
            known = [
                *(call.range for call in inspected.calls),
                *(diagnostic.range for diagnostic in diagnostics if diagnostic.fault.call),
            ]
            lost = self._session_tools.calls_in(part.text, call_search(self._chosen), known, self._request)
            yield from (fault.at(inspected.turn, part.name) for fault in lost)
        differences = _left_in_content(turn, inspected, parsed) if inspected.calls else ()
        yield from (
            difference
            for difference in differences
            if self._is_delivered or difference.rule is not CALL_DELIVERED_TWICE
        )


def _calls_in(read: Iterable[_ReadPart], prefix: str = "") -> list[ToolCall]:
    """The calls in the parts of a turn whose names begin with `prefix`."""
    return [call for inspected, _ in read if inspected.part.startswith(prefix) for call in inspected.calls]


def stores_calls_apart(trace: Trace) -> bool:
    """Whether a call in the text of an answer is none that the agent could run.

    That is so if the log's format has a place of its own for calls, whether the session has one or not, and if some
    answer of the session has structured calls.
    """
    return trace.provenance.source in _CALLS_APART or any(turn.calls for turn in trace.turns)


def _with_refused_call(
    part: Part, inspected: PartInspection, faults: Sequence[Diagnostic]
) -> tuple[PartInspection, Sequence[Diagnostic]]:
    """The inspection of a server's error with the call that it refuses, if it refuses one."""
    refused = read_error(part.text) if part.name == ERROR_PART else None
    if refused is None:
        return inspected, faults
    diagnostics = [fault.at(inspected.turn, part.name) for fault in refused.faults]
    return replace(inspected, spans=refused.spans, calls=refused.calls), diagnostics


def _without_quoted(
    part: Part, inspected: PartInspection, faults: Sequence[Diagnostic], request: str
) -> tuple[PartInspection, Sequence[Diagnostic]]:
    """The inspection of an answer's text without the calls that it only quotes, and without their faults."""
    if part.name != "text":
        return inspected, faults
    quoted = quoted_spans(part.text, inspected.spans, request)
    if not quoted:
        return inspected, faults
    calls = tuple(call for call in inspected.calls if not any(range_.covers(call.range) for range_ in quoted))
    left = [fault for fault in faults if not any(range_.covers(fault.range) for range_ in quoted)]
    if not calls:
        left = [fault for fault in left if fault.rule is not TEXT_AFTER_CALL]
    return replace(inspected, calls=calls), left


def _left_in_content(turn: Turn, inspected: PartInspection, parsed: Sequence[ToolCall]) -> Iterator[Diagnostic]:
    """The faults of calls that are in an answer's content although its server parses calls into structured fields."""
    valid = [call for call in inspected.calls if call.valid]
    reply = layers.compare_reply(valid, parsed)
    yield from layers.server_differences(turn, inspected.turn, reply, parsed, _drafts(turn, inspected))
    for call in inspected.calls:
        if call in reply.lost:
            message = f"The model's call of {tool_named(call.name)} was correct; the server left it in the content."
            hint = "Change the server's tool parser, or update it."
            place = Location(inspected.turn, "text", call.range)
            lost = Fault(CALL_LOST_BY_SERVER, call.range, message, hint, related=(_f311(call),), against=place)
            yield lost.at(inspected.turn, inspected.part)
        elif not call.valid:
            what = f"a call of `{call.name}`" if call.name else "a call"
            message = f"The content contains {what}: the server's parser left it there, so the client never saw a call."
            hint = f"Let the server parse `{inspected.format}` calls, and check whether this call has other faults."
            yield Fault(CALL_LEFT_IN_CONTENT, call.range, message, hint).at(inspected.turn, inspected.part)


def _drafts(turn: Turn, inspected: PartInspection) -> str:
    """The text of the calls that are drafted in reasoning within a part."""
    part = turn.part(inspected.part)
    drafts = (
        child.range.of(part.text)
        for span in inspected.spans
        if part is not None and span.kind is SpanKind.REASONING
        for child in span.children
    )
    return "\n".join(drafts)


def _f311(call: ToolCall) -> Related:
    words = f"{CALL_LEFT_IN_CONTENT}: the content contains the call, so the client never saw it."
    return Related(call.range, words)


@memoized
def _read_without_tools(turn: Turn, number: int, chosen: Format) -> Sequence[_ReadPart]:
    """The parts of a turn whose request offered no tools, parsed."""
    return [read_part(turn, number, part, chosen, _NO_TOOLS) for part in turn.parts]


_NO_TOOLS = OfferedTools()


def read_part(
    turn: Turn, number: int, part: Part, chosen: Format, offered: OfferedTools
) -> tuple[PartInspection, Sequence[Diagnostic]]:
    """Parse one part of turn `number` (from 1): its content, and the faults that show in it alone."""
    if part.name != "text":
        reading = read_structured_part(turn, part)
        calls, faults = check_structured_calls(reading.calls, reading.faults, offered, chosen.builtin_tools)
        results = _content_result(turn, part)
        inspected = PartInspection(number, part.name, chosen.name, reading.spans, calls, results)
        return inspected, [fault.at(number, part.name) for fault in faults]
    prompt = turn.part(PROMPT_PART)
    words = prompt.text if prompt else ""
    segmentation = None
    if turn.role in (Role.SYSTEM, Role.USER) and not words and len(part.text) <= _MAX_CACHED_CHARS:
        segmentation = plain_reading(part.text, chosen, turn.role)
    if segmentation is None:
        read = partial(segment_whole, own=chosen, prompt=words, tools=offered, role=turn.role, turn=number)
        segmentation = _up_to_stop_word(read, read(part.text), turn)
    results = tuple(_with_header(result, turn) for result in segmentation.results or _silence(turn, part.text))
    return (
        PartInspection(
            number, part.name, chosen.name, segmentation.spans, segmentation.calls, results, segmentation.definitions
        ),
        [diagnostic for diagnostic in segmentation.diagnostics if not _is_left_out(diagnostic, turn)],
    )


def _up_to_stop_word(read: Callable[[str], Segmentation], cut: Segmentation, turn: Turn) -> Segmentation:
    """The segmentation of an answer without its stop word, as if it had it; `cut` if it lacks none."""
    if not cut.spans or cut.spans[-1].closed:
        return cut

    def is_whole(rest: str) -> bool:
        return bool(rest) and read(cut.text + rest).spans[-1].closed

    rest, end = stripped_stop_word(turn, is_whole), len(cut.text)
    if not rest:
        return cut
    whole = read(cut.text + rest)
    spans = [span.up_to(end) for span in whole.spans if span.range.start < end]
    known = tuple(diagnostic for diagnostic in whole.diagnostics if diagnostic.range.end <= end)
    return replace(whole, text=cut.text, spans=tuple(spans), diagnostics=known)


def _is_left_out(diagnostic: Diagnostic, turn: Turn) -> bool:
    """Whether to drop what the chain reports (a repeated call), or what no server reads.

    That is a near marker in a prompt that explains a format, and a call for the agent alone.
    """
    if diagnostic.rule is REPEATED_CALL or only_client_parses(diagnostic, turn.generation):
        return True
    return diagnostic.rule is NEAR_MARKER and turn.role in (Role.SYSTEM, Role.USER)


@lru_cache(_CACHE_SIZE)
def plain_reading(text: str, chosen: Format, role: Role) -> Segmentation | None:
    """A text's segmentation if it is the same in any turn and with any tools, else None.

    Many traces of a log begin with the same system prompt, and many samples of a task with the same text.
    """
    segmentation = segment_whole(text, chosen, role=role)
    return None if segmentation.calls or segmentation.results or segmentation.diagnostics else segmentation


def _content_result(turn: Turn, part: Part) -> tuple[ToolResult, ...]:
    """The result of a tool that returned no text but other content, such as an image: its first block."""
    if turn.role is not Role.TOOL or turn.part("text") is not None:
        return ()
    first = next((one.name for one in turn.parts if one.name.startswith("content:")), None)
    return (_with_header(ToolResult(part.text, Range(0, len(part.text))), turn),) if part.name == first else ()


def _silence(turn: Turn, text: str) -> tuple[ToolResult, ...]:
    """An empty result if the tool returned no text: it has answered nevertheless."""
    is_silent = turn.role is Role.TOOL and (not text or text.isspace())
    return (ToolResult(text, Range(0, len(text))),) if is_silent else ()


def _with_header(result: ToolResult, turn: Turn) -> ToolResult:
    """The result, with the structured source's fields for what the text itself does not state."""
    header = turn.result
    if header is None:
        return result
    return replace(
        result,
        call_id=result.call_id or header.call_id,
        name=result.name or header.name,
        is_error=header.is_error if result.is_error is None else result.is_error,
        recorded=header.recorded,
    )


def _events(trace: Trace, parts: Sequence[PartInspection]) -> Iterator[LocatedCall | LocatedResult]:
    """The calls and results in order; a call that is in the content and in the server's reply counts once."""
    answered: list[LocatedCall] = []  # the structured calls of the last answer that has any
    written: list[LocatedCall] = []  # the calls in the text of the last answer, until the user's words after it
    parsed: dict[int, list[ToolCall]] = {}
    for part in parts:
        if part.calls and part.part.startswith("call:"):
            parsed.setdefault(part.turn, []).extend(part.calls)
    for part in parts:
        calls: Sequence[ToolCall] = part.calls
        if calls and part.turn in parsed and part.part == "text":
            lost = layers.compare_reply([call for call in calls if call.valid], parsed[part.turn]).lost
            calls = [call for call in calls if not call.valid or call in lost]
        if not calls and not part.results:
            yield from _observed(trace.turns, part, answered)
            yield from _executed(trace.turns, part, written)
            written = [] if part.part == "text" and trace.turns[part.turn - 1].role is not Role.SYSTEM else written
            continue
        calling = [LocatedCall(call, Location(part.turn, part.part, call.range)) for call in calls]
        written = calling if part.part == "text" else written
        if part.part.startswith("call:"):
            answered = [*(one for one in answered if one.location.turn == part.turn), *calling]
        located: list[LocatedCall | LocatedResult] = [*calling]
        located += [LocatedResult(result, Location(part.turn, part.part, result.range)) for result in part.results]
        if len(located) == 1 and calling and part.part == "text":
            located += _sent_back(trace.turns, part.turn)
        yield from sorted(located, key=lambda placed: placed.location.range) if len(located) > 1 else located


def _sent_back(turns: Sequence[Turn], number: int) -> Iterator[LocatedResult]:
    """The result of the one call of an answer's text that the next request has behind that text, if it has one there.

    It is at the end of the text, and empty there: the model's own words do not contain it.
    """
    own = turns[number - 1].part("text")
    following = next((turn.generation for turn in turns[number:] if turn.generation is not None), None)
    if own is None or following is None or following.request is None:
        return
    for message in following.request.messages:
        if isinstance(message, SentMessage) and message.turn == number:
            sent = next((whole_text(part, turns[number - 1]) for part in message.parts if part.name == own.name), "")
            content = added_observation(own.text, sent)
            if content is not None:
                end = Range(len(own.text), len(own.text))
                yield LocatedResult(ToolResult(content, end), Location(number, own.name, end))


def _observed(turns: Sequence[Turn], part: PartInspection, calls: Sequence[LocatedCall]) -> Iterator[LocatedResult]:
    """The results that an agent writes as words of the user after structured calls: smolagents (`ActionStep`).

    `Observation:` before what the calls returned, a line each, or `Error:` before why the step failed. All calls share
    an error, and lines that are not as many as the calls. At its step limit, another system prompt is before them.
    """
    turn = turns[part.turn - 1]
    text = turn.part("text") if turn.role is Role.USER and part.part == "text" else None
    head = _OBSERVATION.match(text.text) if text is not None and calls else None
    if text is None or head is None:
        return
    if any(between.role is not Role.SYSTEM for between in turns[calls[0].location.turn : part.turn - 1]):
        return
    whole = Range(head.end(), len(text.text))
    lines = [Range(line.start(), line.end()) for line in _LINE.finditer(text.text, whole.start)]
    is_error = True if head[1] == "Error" else None
    ranges = lines if len(lines) == len(calls) and not is_error else [whole] * len(calls)
    for call, place in zip((placed.call for placed in calls), ranges, strict=True):
        result = ToolResult(place.of(text.text), place, call_id=call.id, name=call.name, is_error=is_error)
        yield LocatedResult(result, Location(part.turn, part.part, place))


def _executed(turns: Sequence[Turn], part: PartInspection, calls: Sequence[LocatedCall]) -> Iterator[LocatedResult]:
    """The result of a call in an answer's text that an agent writes as words of the user, or its refusal of the call.

    OpenHands refuses a call with wrong arguments, and leaves the answer out of its next request (fn_call_converter.py).
    SWE-agent's `xml_function_calling` and R2E-Gym have the same calls; the latter begins with the exit code.
    """
    text = turns[part.turn - 1].part("text") if turns[part.turn - 1].role is Role.USER and part.part == "text" else None
    head = _EXECUTED.match(text.text) if text is not None and len(calls) == 1 else None
    if text is None or head is None:
        return
    refused = head["refusal"] is not None
    content = Range(0 if refused or head["exit"] else head.end(), len(text.text))
    result = ToolResult(content.of(text.text), content, name=calls[0].call.name, is_error=True if refused else None)
    yield LocatedResult(result, Location(part.turn, part.part, content))


_EXECUTED = lazy_pattern(
    rf"""
    EXECUTION[ ]RESULT[ ]of[ ]\[[^\]\n]{{1,200}}\]:\n
    | (?P<exit> Exit[ ]code:[ ]-?\d{{1,10}}\n )? Execution[ ]output[ ]of[ ]\[[^\]\n]{{1,200}}\]:\n
    | OBSERVATION:\n
    | (?P<refusal> Your[ ]action[ ]could[ ]not[ ]be[ ]parsed[ ]properly\b | (?-x:{REFUSED_CALL}) )
    """,
    re.VERBOSE,
)
_OBSERVATION = lazy_pattern(r"(?:Call id: \S{1,200}\n)?(Observation|Error):\n")
_LINE = lazy_pattern(r"[^\n]+")


def _attempts(faults: Iterable[Diagnostic]) -> Iterator[LocatedCall]:
    """The calls that the model tried to make in a shape that their format does not parse."""
    for fault in faults:
        call = fault.fault.call
        if call is not None and call.is_step:
            arguments = call.arguments if call.recovered else call.raw_arguments
            attempted = ToolCall(
                call.name, arguments, call.raw_arguments, valid=False, range=call.range, recovered=call.recovered
            )
            yield LocatedCall(attempted, replace(fault.location, range=call.range))


def _speeches(trace: Trace, parts: Iterable[PartInspection]) -> Iterator[Speech]:
    """The agent's text outside of calls and reasoning."""
    for inspected in parts:
        turn = trace.turns[inspected.turn - 1]
        part = turn.part(inspected.part) if turn.role is Role.ASSISTANT and inspected.part == "text" else None
        if part is not None:
            texts = (span.inner.of(part.text) for span in inspected.spans if span.kind is SpanKind.TEXT)
            kinds = {span.kind for span in inspected.spans if span.range.of(part.text).strip()}
            is_reasoning = SpanKind.REASONING in kinds and kinds <= {SpanKind.REASONING, SpanKind.MARKUP}
            yield Speech(inspected.turn, "".join(texts), is_reasoning)


def _chosen(diagnostics: Sequence[Diagnostic], select: Sequence[str], ignore: Sequence[str]) -> Sequence[Diagnostic]:
    if not select and not ignore:
        return diagnostics
    selected, ignored = select_rules(tuple(select)), select_rules(tuple(ignore))
    return [
        diagnostic
        for diagnostic in diagnostics
        if (not select or diagnostic.rule in selected) and diagnostic.rule not in ignored
    ]


def _in_order(trace: Trace, diagnostics: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The diagnostics by location; those of a turn's request, message by message, come before those of its texts."""
    if len(diagnostics) < 2:
        return diagnostics
    order = {
        (number, part.name): index
        for number, turn in enumerate(trace.turns, 1)
        for index, part in enumerate(turn.parts)
    }

    def sort_key(diagnostic: Diagnostic) -> tuple[int, int, int, Range, str]:
        turn, part = diagnostic.location.turn, diagnostic.location.part
        message = part.removeprefix(SENT_PART).partition(":")[0] if part.startswith(SENT_PART) else ""
        number = int(message) if message.isdecimal() else 0
        return turn, -1 if number else order.get((turn, part), 0), number, diagnostic.range, diagnostic.rule.code

    return sorted(diagnostics, key=sort_key)
