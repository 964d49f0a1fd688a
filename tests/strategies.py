"""What hypothesis draws: texts that find faults, and whole traces of them."""

from decimal import Decimal
from typing import TypeVar

from hypothesis import strategies as st

from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    Chunks,
    ErrorPhase,
    ExternalId,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    InstantSource,
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    Part,
    Provenance,
    RecognisedBy,
    RecordedRun,
    ResultHeader,
    Role,
    SentBefore,
    SentMessage,
    SentPart,
    SentRequest,
    ToolDefinition,
    ToolsOrigin,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.model.exchange import compacted
from weaklink.inspector.text import Range

_Value = TypeVar("_Value")
_PIECES = (
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "[TOOL_CALLS]", "<|python_tag|>"),
    *("<|im_start|>assistant\n", "<function=f>", "</", "<tool_", "call>", "<|", ">>>", "Action: f\n", "```json\n"),
    *('{"name": "f", "arguments": {}}', '{"a": "', '"', "'", "\\", '\\"', "\\ud83d", "{", "}", "[", "]", ",", ":"),
    *("\n", "\r\n", "\r", "\t", "\0", "\x1b[31m", " ", "\u2028", "\ufeff", "\ud83d", "\udcff", "😀", "é", "東", "x"),
)


def texts(*, max_size: int = 12) -> st.SearchStrategy[str]:
    """Texts of up to `max_size` pieces: markers and halves of them, quotes, NUL, emoji, lone surrogates."""
    return st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=max_size).map("".join)


def json_values() -> st.SearchStrategy[Json]:
    """Decoded JSON values: non-finite floats and integers as Decimal among them, but no NaN, which equals nothing."""
    leaves: st.SearchStrategy[Json] = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | texts(max_size=3)
        | st.integers(min_value=10**30).map(Decimal)
    )
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(max_size=2), inner, max_size=3)
    )


@st.composite
def chunks_of(draw: st.DrawFn, text: str) -> Chunks | None:
    """Chunks that end where `text` does, or None."""
    if draw(st.booleans()):
        return None
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=5))
    ends = (*sorted(cuts), len(text))

    def column(values: st.SearchStrategy[_Value]) -> st.SearchStrategy[tuple[_Value | None, ...] | None]:
        return st.none() | st.lists(st.none() | values, min_size=len(ends), max_size=len(ends)).map(tuple)

    floats = st.floats(allow_nan=False)
    return Chunks(
        ends,
        tuple(draw(st.lists(st.integers(0, 2**40), min_size=len(ends), max_size=len(ends)))),
        draw(column(floats)),
        draw(column(st.lists(st.integers(0, 2**31), max_size=3).map(tuple))),
        draw(column(st.lists(floats, max_size=3).map(tuple))),
    )


@st.composite
def parts(draw: st.DrawFn, name: str = "text") -> Part:
    """A part of that name."""
    text = draw(texts())
    return Part(name, text, draw(chunks_of(text)))


def instants() -> st.SearchStrategy[Instant]:
    """Moments."""
    return st.builds(Instant, st.floats(allow_nan=False), st.sampled_from(InstantSource))


def tool_definitions() -> st.SearchStrategy[ToolDefinition]:
    """Tools with any JSON value as their schema."""
    ranges = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda ends: Range(*sorted(ends)))
    return st.builds(ToolDefinition, texts(max_size=3), texts(max_size=3), json_values(), texts(max_size=3), ranges)


def generations() -> st.SearchStrategy[Generation]:
    """Generation facts."""
    words = texts(max_size=2)
    counts = st.none() | st.integers(0, 2**40)
    return st.builds(
        Generation,
        api=words,
        requested_model=words,
        answered_model=words,
        parameters=words,
        tools=st.lists(tool_definitions(), max_size=2).map(tuple),
        tools_origin=st.none() | st.sampled_from(ToolsOrigin),
        attempt=st.integers(1, 9),
        retry_of=st.none() | words,
        started=st.none() | instants(),
        first_token=st.none() | instants(),
        ended=st.none() | instants(),
        usage=st.builds(Usage, counts, counts, counts, counts, st.booleans()),
        finish_reason=st.none() | words,
        finish=st.none() | st.sampled_from(FinishReason),
        error=st.none()
        | st.builds(GenerationError, st.sampled_from(ErrorPhase), words, st.none() | st.integers(0, 599), words),
        body=st.sampled_from(BodyState),
        request=st.none() | sent_requests(),
        response_id=words,
        context_window=st.none() | st.integers(1, 2**40),
    )


def sent_requests() -> st.SearchStrategy[SentRequest]:
    """Requests as read, whose references may lead anywhere."""
    words = texts(max_size=2)
    turns = st.integers(1, 3)
    header = st.builds(CallHeader, st.just("call:0"), st.none() | words, st.none() | words)
    message = st.builds(
        SentMessage,
        st.sampled_from(Role),
        st.lists(st.builds(SentPart, st.sampled_from(("text", "call:0")), words), max_size=2).map(tuple),
        st.none() | turns,
        words,
        st.lists(header, max_size=1).map(tuple),
        st.none() | st.builds(ResultHeader, words),
    )
    messages = st.lists(turns | message | st.builds(SentBefore, turns, st.integers(0, 2)), max_size=3).map(tuple)
    return st.builds(SentRequest, st.integers(0, 3), st.integers(0, 3), messages)


def recorded_runs() -> st.SearchStrategy[RecordedRun]:
    """Runs of tools."""
    words, maybe = texts(max_size=2), st.none() | texts(max_size=2)
    failed = st.none() | st.booleans()
    times = st.none() | instants()
    own_form = st.sampled_from(((), ("result",), ("arguments", "result")))
    return st.builds(RecordedRun, words, words, maybe, maybe, maybe, failed, times, times, own_form)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    """Turns of every role; calls have their part."""
    names = draw(st.lists(st.sampled_from(("text", "reasoning", "refusal", "wire:unread")), unique=True, max_size=3))
    calls = [f"call:{index}" for index in range(draw(st.integers(0, 2)))]
    words = st.none() | texts(max_size=2)
    return Turn(
        draw(st.sampled_from(Role)),
        tuple(draw(parts(name)) for name in [*names, *calls]),
        draw(texts(max_size=2)),
        tuple(CallHeader(name, draw(words), draw(words)) for name in calls),
        draw(st.none() | st.builds(ResultHeader, words, words, st.none() | st.booleans())),
        draw(st.none() | generations()),
        draw(st.frozensets(st.sampled_from(TurnFlag))),
        draw(st.none() | recorded_runs()),
    )


def traces() -> st.SearchStrategy[Trace]:
    """Traces of up to three turns, every field of theirs in use."""
    words = texts(max_size=2)
    ids = st.builds(ExternalId, words, words)
    return st.builds(
        Trace,
        turns=st.lists(turns(), max_size=3).map(tuple),
        name=words,
        model=words,
        format=words,
        started=st.none() | instants(),
        external_ids=st.lists(ids, max_size=2).map(tuple),
        recognised_by=st.sampled_from(RecognisedBy),
        parent=st.none() | st.builds(ParentTrace, ids, st.sampled_from(ParentWhy)),
        outcome=st.none()
        | st.builds(Outcome, st.none() | st.booleans(), st.none() | words, st.none() | st.floats(allow_nan=False)),
        provenance=st.builds(Provenance, words, words, words, words, words, st.lists(words, max_size=2).map(tuple)),
    ).map(compacted)
