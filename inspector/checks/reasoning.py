"""R6xx checks: reasoning that is too long, missing, empty or incomplete."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import msgspec
from msgspec import Struct

from weaklink.inspector.checks.wording import at_end, at_start
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import BodyState, Json, Part, Role, Span, SpanKind, Trace, Turn, TurnFlag
from weaklink.inspector.rules import reasoning as rules
from weaklink.inspector.rules.reasoning import REASONING_OVER_BUDGET
from weaklink.inspector.text import Range

_MAX_SETTINGS_CHARS = 65_536  # settings are short; a longer text is something else (Ollama's `context`)
_NESTED = ("chat_template_kwargs", "extra_body", "options", "generationConfig", "generation_config", "thinkingConfig")
_OFF_WORDS = frozenset(("none", "disabled", "off", "false"))
_NOT_WRITTEN_HERE = frozenset((TurnFlag.INJECTED, TurnFlag.SYNTHETIC))
_MIN_TURNS = 5  # how many turns of its kind a turn is compared with, at least
_RARE = 10  # turns without reasoning are an exception if they are at most one in so many of their kind
_PARTS = ("goal", "actions", "observation", "reflection")
_HINT = "Check its end for a loop; limit thinking in the request, or give the model a smaller step."
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))  # of UTF-8

BYTES_PER_TOKEN = 4
"""UTF-8 bytes per token, a rule of thumb for byte-level vocabularies: close for English; code takes more tokens."""


class ReasoningSwitch(StrEnum):
    """How a request set reasoning: `on` (the model must think), `free` (as much as it likes, or hidden), `off`."""

    ON = "on"
    FREE = "free"
    OFF = "off"


@lru_cache(maxsize=256)
def requested_reasoning(parameters: str) -> ReasoningSwitch | None:
    """The setting in a generation's `parameters` (compact JSON); None if they have none or are too long for settings.

    Known settings: `enable_thinking` and `thinking` of chat templates (vLLM, SGLang), Ollama's `think`, Anthropic's
    `thinking`, OpenAI's `reasoning_effort` and `reasoning`, which OpenRouter shares, Gemini's `thinkingBudget`.
    """
    if not parameters or len(parameters) > _MAX_SETTINGS_CHARS:
        return None
    try:
        settings: Json = msgspec.json.decode(parameters)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    switches = list(_requested_switches(settings, 0))
    order = (ReasoningSwitch.OFF, ReasoningSwitch.ON, ReasoningSwitch.FREE)
    return next((switch for switch in order if switch in switches), None)


def _requested_switches(settings: Json, depth: int) -> Iterator[ReasoningSwitch]:
    if not isinstance(settings, dict):
        return
    for key in ("enable_thinking", "thinking", "think"):
        if settings.get(key) is not None:
            yield _switch(settings[key])
    for key in ("reasoning_effort", "reasoning"):
        if settings.get(key) is not None:
            yield _effort(settings[key])
    if isinstance(budget := settings.get("thinkingBudget", settings.get("thinking_budget")), int):
        yield ReasoningSwitch.FREE if budget else ReasoningSwitch.OFF
    for key in _NESTED if depth < len(_NESTED) else ():
        yield from _requested_switches(settings.get(key), depth + 1)


def _switch(value: Json) -> ReasoningSwitch:
    """A switch: a boolean, a word, or Anthropic's object, whose type `adaptive` leaves it to the model."""
    word = value.get("type") if isinstance(value, dict) else value
    if word is False or (isinstance(word, str) and word.lower() in _OFF_WORDS):
        return ReasoningSwitch.OFF
    is_on = word is True or word == "enabled"
    return ReasoningSwitch.ON if is_on else ReasoningSwitch.FREE


def _effort(value: Json) -> ReasoningSwitch:
    """An effort: services that take one keep the reasoning to themselves, or spend none on an easy question."""
    word = value.get("effort", value.get("enabled")) if isinstance(value, dict) else value
    is_off = word is False or (isinstance(word, str) and word.lower() in _OFF_WORDS)
    return ReasoningSwitch.OFF if is_off else ReasoningSwitch.FREE


class InspectedPart(Protocol):
    """The fields of an inspected part: its turn (from 1), its name, and the spans that tile its text."""

    @property
    def turn(self) -> int:
        """The number of its turn."""
        ...

    @property
    def part(self) -> str:
        """The name of the part."""
        ...

    @property
    def spans(self) -> tuple[Span, ...]:
        """Its spans, in order."""
        ...


class ReasoningMode(StrEnum):
    """Whether the model reasoned in a turn."""

    ON = "on"
    OFF = "off"


class ReasoningSpan(Struct, frozen=True):
    """One span of reasoning, with the part that contains it."""

    part: Part
    span: Span

    @property
    def is_empty(self) -> bool:
        """Whether it closed with nothing but white space in it."""
        return self.span.closed and not self.span.inner.of(self.part.text).strip()


class ReasonedTurn(Struct, frozen=True):
    """One assistant turn, its number (from 1), and its spans of reasoning in order."""

    number: int
    turn: Turn
    reasoning: tuple[ReasoningSpan, ...]
    answers_user: bool

    @property
    def has_text(self) -> bool:
        """Whether any reasoning can be read here."""
        return any(not reasoning_span.is_empty and len(reasoning_span.span.inner) for reasoning_span in self.reasoning)

    @property
    def reported_tokens(self) -> int | None:
        """The server's count of reasoning tokens, None if it did not report one."""
        return self.turn.generation.usage.reasoning_tokens if self.turn.generation is not None else None

    @property
    def switch(self) -> ReasoningSwitch | None:
        """The request's setting for reasoning."""
        return requested_reasoning(self.turn.generation.parameters) if self.turn.generation is not None else None

    @property
    def is_whole(self) -> bool:
        """Whether the model wrote this turn, and all of it was kept: it has text or a call, and did not fail."""
        generation = self.turn.generation
        is_kept = generation is None or (generation.error is None and generation.body is BodyState.COMPLETE)
        has_content = bool(self.turn.calls) or any(part.text.strip() for part in self.turn.parts)
        return is_kept and has_content and not self.turn.flags & _NOT_WRITTEN_HERE

    @property
    def mode(self) -> ReasoningMode | None:
        """Whether the model reasoned: by its text, the server's count, an empty block, the request; else it is off.

        None if nothing shows it: the answer failed, was not kept whole or was not written by the model.
        """
        if self.has_text or self.reported_tokens:
            return ReasoningMode.ON
        if not self.is_whole:
            return None
        if self.reasoning or self.reported_tokens == 0 or self.switch is None:
            return ReasoningMode.OFF
        return ReasoningMode.OFF if self.switch is ReasoningSwitch.OFF else ReasoningMode.ON


def reasoned_turns(trace: Trace, parts: Iterable[InspectedPart]) -> Iterator[ReasonedTurn]:
    """Every assistant turn of `trace`, whose inspected `parts` come in the order of turns; in linear time."""
    spans_by_turn: dict[int, list[ReasoningSpan]] = {}
    for inspected in parts:
        spans = [span for span in inspected.spans if span.kind is SpanKind.REASONING]
        source = trace.turns[inspected.turn - 1].part(inspected.part) if spans else None
        if source is not None:
            spans_by_turn.setdefault(inspected.turn, []).extend(ReasoningSpan(source, span) for span in spans)
    before = Role.USER
    for number, turn in enumerate(trace.turns, 1):
        if turn.role is Role.ASSISTANT:
            yield ReasonedTurn(number, turn, tuple(spans_by_turn.get(number, ())), before in (Role.USER, Role.SYSTEM))
        before = turn.role


def check_reasoning(trace: Trace, turns: Sequence[ReasonedTurn], budget: int) -> Iterator[Diagnostic]:
    """R601, R602, R604 and R605 over the assistant turns of `trace`; `budget` is a turn's tokens of reasoning."""
    for turn in turns:
        yield from over_budget(turn, budget)
        yield from _incomplete_scratch_pads(turn)
    yield from _missing(trace, turns)
    yield from _empty(turns)


def _missing(trace: Trace, turns: Sequence[ReasonedTurn]) -> Iterator[Diagnostic]:
    """Turns without any reasoning; those that answer a user and those that answer a result are compared separately."""
    if not any(turn.reasoning or turn.switch is ReasoningSwitch.ON for turn in turns):
        return
    for answers_user in (True, False):
        alike = [turn for turn in turns if turn.answers_user is answers_user and turn.is_whole]
        bare = [turn for turn in alike if not turn.reasoning and not turn.reported_tokens]
        with_reasoning = sum([turn.has_text for turn in alike])
        is_exception = with_reasoning >= _MIN_TURNS and with_reasoning >= _RARE * len(bare)
        for turn in bare:
            if _is_disabled(trace, turn):
                continue
            if answers_user and turn.switch is ReasoningSwitch.ON:
                message = "The request enabled reasoning, but this answer has none."
                hint = "Check whether the chat template opens the reasoning and whether the server's parser drops it."
                yield at_start(turn.turn, turn.number, rules.REASONING_MISSING, message, hint)
            elif is_exception:
                kind = "a user" if answers_user else "a tool's result"
                message = (
                    f"This turn has no reasoning; {with_reasoning} of the {len(alike)} turns that answer {kind} have "
                    "some."
                )
                yield at_start(turn.turn, turn.number, rules.REASONING_MISSING, message)


def _is_disabled(trace: Trace, turn: ReasonedTurn) -> bool:
    """Whether the request or the words before it (Qwen3's soft switch) ask for an answer without reasoning."""
    if turn.switch is ReasoningSwitch.OFF:
        return True
    before = trace.turns[turn.number - 2] if turn.number > 1 else None
    if before is None or before.role is not Role.USER:
        return False
    return any(part.text[-200:].rstrip().endswith("/no_think") for part in before.parts)


def _empty(turns: Sequence[ReasonedTurn]) -> Iterator[Diagnostic]:
    empty = [(turn, span) for turn in turns for span in turn.reasoning if span.is_empty and _is_empty(turn, span)]
    is_mode = len(empty) > 1 and not any(turn.has_text for turn in turns)
    for turn, span in empty[:1] if is_mode else empty:
        location = span.span.range
        others = len(empty) - 1
        again = f"; so is that of {others} more {'answer' if others == 1 else 'answers'}" if is_mode else ""
        shown = " ".join(location.of(span.part.text).split())
        message = f"The reasoning is empty (`{shown}`){again}."
        yield Fault(rules.EMPTY_REASONING, location, message).at(turn.number, span.part.name)


def _is_empty(turn: ReasonedTurn, span: ReasoningSpan) -> bool:
    """Whether an empty span is a fault."""
    is_asked_for = turn.switch is ReasoningSwitch.OFF
    is_marked = span.span.inner != span.span.range
    return is_marked and not is_asked_for and not turn.reported_tokens


def _incomplete_scratch_pads(turn: ReasonedTurn) -> Iterator[Diagnostic]:
    for pad in turn.reasoning:
        if pad.span.label != "scratch_pad" or not pad.span.closed:
            continue
        there = {child.label for child in pad.span.children if child.label in _PARTS}
        missing = [f"`{part.capitalize()}:`" for part in _PARTS if part not in there]
        if there and missing:
            message = f"The scratch pad lacks {' and '.join(missing)}."
            hint = "Write all four parts, each at the beginning of a line, with `none` for an empty part."
            opener = Range(pad.span.range.start, pad.span.inner.start)
            yield Fault(rules.SCRATCH_PAD_INCOMPLETE, opener, message, hint).at(turn.number, pad.part.name)


def over_budget(turn: ReasonedTurn, budget: int) -> Iterator[Diagnostic]:
    """The diagnostic of a turn whose reasoning takes more than `budget` tokens, from where the budget ran out."""
    if not turn.reasoning and turn.reported_tokens is None:
        return
    counted = _counted(turn.reasoning)
    if counted is not None:
        yield from _over_budget_diagnostic(
            turn, sum(counted), budget, "takes {} tokens", _counted_limit(turn.reasoning, budget)
        )
    elif turn.reported_tokens is not None:
        yield from _over_budget_diagnostic(
            turn, turn.reported_tokens, budget, "took {} tokens by the server's count", None
        )
    else:
        estimated = sum(estimated_in(span.part.text, span.span.inner) for span in turn.reasoning)
        limit = _estimated_limit(turn.reasoning, budget) if estimated > budget else None
        yield from _over_budget_diagnostic(
            turn, estimated, budget, "takes about {} tokens, estimated from its length", limit
        )


def _over_budget_diagnostic(
    turn: ReasonedTurn, tokens: int, budget: int, words: str, limit: tuple[ReasoningSpan, int] | None
) -> Iterator[Diagnostic]:
    if tokens <= budget:
        return
    message = f"The reasoning {words.format(f'{tokens:,}')}; its budget is {budget:,}."
    longest = max(turn.reasoning, key=lambda span: len(span.span.inner), default=None)
    if longest is None:
        yield at_end(turn.turn, turn.number, REASONING_OVER_BUDGET, message, _HINT)
        return
    span, start = limit or (longest, longest.span.inner.start)
    end = max(span.span.inner.end, start)
    yield Fault(REASONING_OVER_BUDGET, Range(start, end), message, _HINT).at(turn.number, span.part.name)


def _counted(reasoning: Sequence[ReasoningSpan]) -> list[int] | None:
    """The tokens of each span, by their ids; None if one of its chunks has no ids."""
    counts = [_ids_within(span) for span in reasoning]
    known = [len(ids) for ids in counts if ids is not None]
    return known if reasoning and len(known) == len(counts) else None


def _ids_within(span: ReasoningSpan) -> list[int] | None:
    """For every token of a span, the end of its chunk; a chunk belongs to the span with its first code point."""
    chunks = span.part.chunks
    if chunks is None or chunks.token_ids is None:
        return None
    ends: list[int] = []
    index = bisect_left(chunks.ends, span.span.inner.start + 1)
    while index < len(chunks.ends):
        start = chunks.ends[index - 1] if index else 0
        ids = chunks.token_ids[index]
        if start >= span.span.inner.end:
            break
        if ids is None:
            return None
        if start >= span.span.inner.start:
            ends += [chunks.ends[index]] * len(ids)
        index += 1
    return ends


def _counted_limit(reasoning: Sequence[ReasoningSpan], budget: int) -> tuple[ReasoningSpan, int] | None:
    left = budget
    for span in reasoning:
        ends = _ids_within(span) or []
        if len(ends) > left:
            return span, min(ends[left - 1] if left else span.span.inner.start, span.span.inner.end)
        left -= len(ends)
    return None


def _estimated_limit(reasoning: Sequence[ReasoningSpan], budget: int) -> tuple[ReasoningSpan, int] | None:
    left = budget
    for span in reasoning:
        taken = estimated_in(span.part.text, span.span.inner)
        if taken > left:
            return span, span.span.inner.start + estimated_end(span.span.inner.of(span.part.text), left)
        left -= taken
    return None


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` takes: its UTF-8 bytes by BYTES_PER_TOKEN, rounded up; off by a third at times."""
    return -(-_bytes(text) // BYTES_PER_TOKEN)


def estimated_end(text: str, tokens: int) -> int:
    """The code point at which the first `tokens` tokens of `text` end, by the same estimate."""
    if _bytes(text) <= tokens * BYTES_PER_TOKEN:
        return len(text)
    encoded = text.encode("utf-8", "surrogatepass")[: tokens * BYTES_PER_TOKEN]
    return len(encoded.translate(None, _CONTINUATION_BYTES))


def estimated_in(text: str, location: Range) -> int:
    """About how many tokens a part of a text takes."""
    return estimated_tokens(location.of(text))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
