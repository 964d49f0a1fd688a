"""Hand-made values that views are tried on; their sentences are of no one else's making, so goldens stay put."""

from weaklink.inspector.chain.steps import Break, Certainty, Chain, Reaction, Recovery, Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Edit, Fault, Fix, Location, Related
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import (
    CallHeader,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Instant,
    Outcome,
    Part,
    Provenance,
    ResultHeader,
    Role,
    Span,
    SpanKind,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.text import Range

CALL_TEXT = (
    "<think>日本 \x1b[31m I need the weather.</think>\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",\t"days": 3,}}\n</tool_call>\nBye'
)


def range_of(text: str, words: str, *, after: int = 0) -> Range:
    """Where `words` first stand in a text."""
    start = text.index(words, after)
    return Range(start, start + len(words))


def span(text: str, kind: SpanKind, opener: str, closer: str, label: str = "") -> Span:
    start, end = text.index(opener), text.index(closer, text.index(opener) + len(opener)) + len(closer)
    return Span(kind, Range(start, end), Range(start + len(opener), end - len(closer)), label=label)


def tiled(text: str, *spans: Span) -> tuple[Span, ...]:
    """Spans and the text between them."""
    tiles: list[Span] = []
    start = 0
    for span_ in (*spans, None):
        end = len(text) if span_ is None else span_.range.start
        if end > start:
            tiles.append(Span(SpanKind.TEXT, Range(start, end), Range(start, end)))
        if span_ is not None:
            tiles.append(span_)
            start = span_.range.end
    return tuple(tiles)


def call_spans(text: str = CALL_TEXT) -> tuple[Span, ...]:
    return tiled(
        text,
        span(text, SpanKind.REASONING, "<think>", "</think>", "think"),
        span(text, SpanKind.TOOL_CALL, "<tool_call>", "</tool_call>", "tool_call"),
    )


def trailing_comma(text: str = CALL_TEXT) -> Fault:
    comma = Range(text.index(",}"), text.index(",}") + 1)
    return Fault(
        find_rule("J104"),
        comma,
        "A comma appears before `}`, but nothing follows it.",
        "Delete the comma.",
        Fix((Edit(comma, ""),), safe=True),
        related=(Related(range_of(text, "<tool_call>"), "The call begins here."),),
    )


def weather_call(text: str = CALL_TEXT) -> ToolCall:
    payload = range_of(text, text[text.index('{"name"') : text.index("\n</tool_call>")])
    return ToolCall(
        "get_weather",
        {"city": "Oslo", "days": 3},
        '{"city": "Oslo",\t"days": 3,}',
        False,
        payload,
        recovered=True,
        span=2,
    )


def broken_trace() -> tuple[Trace, Inspection]:
    """A user asks, a call breaks, a structured call fails, another works, an injected turn, and an aborted end."""
    error = GenerationError(ErrorPhase.HTTP, "rate limit \x1b[2J reached", status=429)
    made = Generation(
        answered_model="hermes-4-70b",
        usage=Usage(output_tokens=1_204),
        started=Instant(1_700_000_000.0),
        ended=Instant(1_700_000_001.5),
        finish_reason="stop",
    )
    arguments = '{"city": "Oslo", "note": "' + "very long " * 60 + '"}'
    answer = "It is 3 degrees.\n" * 40
    turns = (
        Turn(Role.USER, (Part("text", "What is the weather in Oslo?"),), source_role="human"),
        Turn(Role.ASSISTANT, (Part("text", CALL_TEXT),), generation=made),
        Turn(Role.TOOL, (Part("text", "could not parse"),), result=ResultHeader("c1", "get_weather", is_error=True)),
        Turn(
            Role.ASSISTANT,
            (Part("reasoning", "Again."), Part("call:0", arguments), Part("call:1", "")),
            calls=(CallHeader("call:0", "get_weather", "c2"), CallHeader("call:1", "now", "c3")),
            generation=Generation(answered_model="other-model"),
        ),
        Turn(Role.TOOL, (Part("text", answer),), result=ResultHeader("c2")),
        Turn(Role.USER, (Part("text", "Go on."),), flags=frozenset({TurnFlag.INJECTED})),
        Turn(Role.ASSISTANT, (), generation=Generation(error=error)),
    )
    trace = Trace(
        turns,
        name="Oslo\u202e weather",
        model="hermes-4-70b",
        started=Instant(1_700_000_000.0),
        external_ids=(ExternalId("task_id", "12"),),
        outcome=Outcome(completed=False, reward=0.5),
        provenance=Provenance("openai-messages", "logs/run.jsonl", record="line 3", warnings=("It kept no times.",)),
    )
    return trace, _inspection(arguments, answer)


def _inspection(arguments: str, answer: str) -> Inspection:
    calls = (
        weather_call(),
        ToolCall(
            "get_weather",
            {"city": "Oslo", "note": "very long " * 60},
            arguments,
            True,
            Range(0, len(arguments)),
            id="c2",
        ),
        ToolCall("now", {}, "", True, Range(0, 0), id="c3"),
    )
    results = (
        ToolResult("could not parse", Range(0, 15), "c1", "get_weather", is_error=True),
        ToolResult(answer, Range(0, len(answer)), "c2"),
    )
    parts = (
        _part(1, "text", 28),
        PartInspection(2, "text", "hermes", call_spans(), (calls[0],)),
        _part(3, "text", 15, SpanKind.TOOL_RESULT, results=(results[0],)),
        _part(4, "reasoning", 6, SpanKind.REASONING),
        _part(4, "call:0", len(arguments), SpanKind.TOOL_CALL, calls=(calls[1],)),
        PartInspection(4, "call:1", "hermes", (), (calls[2],)),
        _part(5, "text", len(answer), SpanKind.TOOL_RESULT, results=(results[1],)),
        _part(6, "text", 6),
    )
    first = Location(2, "text", calls[0].range)
    steps = (
        Step(
            1,
            calls[0],
            first,
            StepOutcome.MALFORMED,
            results[0],
            Location(3, "text", results[0].range),
            recovered_by=2,
            recovery=Recovery.SAME_INTENT,
        ),
        Step(
            2,
            calls[1],
            Location(4, "call:0", calls[1].range),
            StepOutcome.OK,
            results[1],
            Location(5, "text", results[1].range),
        ),
        Step(3, calls[2], Location(4, "call:1", calls[2].range), StepOutcome.UNANSWERED),
    )
    said = "`now` never got a result, and the conversation continued without it."
    chain = Chain(steps, Status.BROKEN, Break(3, 4, "now", StepOutcome.UNANSWERED, "T404", said, Reaction.IGNORED))
    lost = Fault(find_rule("T404"), Range(0, 0), "The call of `now` got no result.", "Answer every call.")
    upstream = Fault(find_rule("C505"), Range(0, 0), "The server answered with status 429.")
    diagnostics = (trailing_comma().at(2, "text"), lost.at(4, "call:1"), upstream.at(7, "text"))
    return Inspection("0", "hermes", parts, chain, diagnostics)


def _part(
    turn: int,
    name: str,
    length: int,
    kind: SpanKind = SpanKind.TEXT,
    *,
    calls: tuple[ToolCall, ...] = (),
    results: tuple[ToolResult, ...] = (),
) -> PartInspection:
    whole = Range(0, length)
    return PartInspection(turn, name, "hermes", (Span(kind, whole, whole),), calls, results)


def step(number: int, outcome: StepOutcome, certainty: Certainty | None = None) -> Step:
    call = ToolCall("f", {}, "{}", True, Range(0, 2))
    return Step(number, call, Location(number, "text", Range(0, 2)), outcome, certainty=certainty)
