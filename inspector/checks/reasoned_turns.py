"""The reasoning of each assistant turn, and whether it was on or off there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from inspector.checks.reasoning_request import ReasoningSwitch, requested_reasoning
from inspector.model import BodyState, Part, Role, Span, SpanKind, Trace, Turn, TurnFlag
from inspector.model.columns import Entries

_NOT_WRITTEN_HERE = frozenset((TurnFlag.INJECTED, TurnFlag.SYNTHETIC))


class InspectedPart(Protocol):
    """What is asked of an inspected part: which it is (`turn` counts from 1), and the spans that tile its text."""

    @property
    def turn(self) -> int:
        """The number of its turn."""
        ...

    @property
    def part(self) -> str:
        """The name of the part."""
        ...

    @property
    def spans(self) -> Entries[Span]:
        """Its spans, in order."""
        ...


class ReasoningMode(StrEnum):
    """Whether the model reasoned in a turn."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ReasoningSpan:
    """One span of reasoning, with the part that it stands in."""

    part: Part
    span: Span

    @property
    def is_empty(self) -> bool:
        """Whether it closed with nothing but white space in it."""
        return self.span.closed and not self.span.inner.of(self.part.text).strip()


@dataclass(frozen=True, slots=True)
class ReasonedTurn:
    """One assistant turn, its number (from 1), and its spans of reasoning in order."""

    number: int
    turn: Turn
    reasoning: tuple[ReasoningSpan, ...]
    answers_user: bool

    @property
    def has_text(self) -> bool:
        """Whether any reasoning can be read here."""
        return any(not one.is_empty and len(one.span.inner) for one in self.reasoning)

    @property
    def reported_tokens(self) -> int | None:
        """How many tokens of reasoning the server counted, None where it did not say."""
        return self.turn.generation.usage.reasoning_tokens if self.turn.generation is not None else None

    @property
    def switch(self) -> ReasoningSwitch | None:
        """What the request said about reasoning."""
        return requested_reasoning(self.turn.generation.parameters) if self.turn.generation is not None else None

    @property
    def is_whole(self) -> bool:
        """Whether the model wrote this turn, and all of it was kept: it holds words or a call, and did not fail."""
        generation = self.turn.generation
        is_kept = generation is None or (generation.error is None and generation.body is BodyState.COMPLETE)
        says = bool(self.turn.calls) or any(part.text.strip() for part in self.turn.parts)
        return is_kept and says and not self.turn.flags & _NOT_WRITTEN_HERE

    @property
    def mode(self) -> ReasoningMode | None:
        """Whether the model reasoned: by its text, the server's count, an empty block, the request; else it is off.

        None where nothing tells: the answer failed, was not kept whole or was not written by the model.
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
    found: dict[int, list[ReasoningSpan]] = {}
    for inspected in parts:
        spans = [span for span in inspected.spans if span.kind is SpanKind.REASONING]
        source = trace.turns[inspected.turn - 1].part(inspected.part) if spans else None
        if source is not None:
            found.setdefault(inspected.turn, []).extend(ReasoningSpan(source, span) for span in spans)
    before = Role.USER
    for number, turn in enumerate(trace.turns, 1):
        if turn.role is Role.ASSISTANT:
            yield ReasonedTurn(number, turn, tuple(found.get(number, ())), before in (Role.USER, Role.SYSTEM))
        before = turn.role


def reasoning_modes(trace: Trace, parts: Sequence[InspectedPart]) -> tuple[ReasoningMode | None, ...]:
    """For each turn of `trace` whether the model reasoned there; None for other roles, and where nothing tells.

    `parts` are those of the trace's Inspection.
    """
    by_number = {one.number: one.mode for one in reasoned_turns(trace, parts)}
    return tuple(by_number.get(number) for number in range(1, len(trace.turns) + 1))
