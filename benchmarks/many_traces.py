"""Traces to fill large stores with: a question, a call of one of twenty tools, its result and an answer."""

import random
from collections.abc import Iterator

from benchmarks.corpus import prose
from weaklink.inspector.model import (
    BodyState,
    ExternalId,
    FinishReason,
    Generation,
    Instant,
    Part,
    Provenance,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

ORIGINALS = 1_000
RARE, COMMON, IN_A_TWENTIETH, IN_A_FIFTIETH = "xylophone", "weather", "quarry", "lantern"
RARE_TRACES = 5
"""So many traces hold the rare word, in a store of any size; the common one is in nine of ten."""
OLD, OLDEST_SHARE = "obsidian", 0.05
"""The word that all of the oldest traces hold and no other, and how many of a store those are."""
APART_S = 60.0

_TOOLS = tuple(ToolDefinition(f"tool_{number}", "Does a thing", {"type": "object"}) for number in range(20))
_MODELS = ("hermes-4-70b", "hermes-4-405b", "qwen3-32b", "llama-3.3-70b", "glm-4.6")
_SOURCES = ("openai-messages", "litellm", "otel", "proxy")


def originals(traces: int) -> Iterator[Trace]:
    """The traces that are saved one by one into a store of so many, the oldest first."""
    return (a_trace(number, old=number < traces * OLDEST_SHARE) for number in range(min(ORIGINALS, traces)))


def rare(traces: int) -> Iterator[Trace]:
    """The traces that hold the rare word, spread over a store of so many."""
    return (_with_rare_word(number, traces) for number in range(RARE_TRACES))


def a_trace(number: int, started_s: float | None = None, *, old: bool = False) -> Trace:
    """One of many traces; some go wrong, `old` ones hold the word of the oldest."""
    rng = random.Random(number)
    tool = _TOOLS[min(rng.randrange(20), rng.randrange(20))]
    model = rng.choice(_MODELS)
    comma = "," if number % 4 == 0 else ""
    call = f'<tool_call>\n{{"name": "{tool.name}", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>'
    words = " ".join(
        (
            COMMON if number % 10 else "climate",
            IN_A_TWENTIETH if number * 7 % 20 == 3 else "meadow",
            IN_A_FIFTIETH if number * 11 % 50 == 3 else "candle",
            f"{OLD} {prose(200, number)}" if old else prose(200, number),
        )
    )
    at = number * APART_S + rng.random() * 3600 if started_s is None else started_s
    cut = number % 10 == 7
    generation = Generation(
        answered_model=model, tools=_TOOLS[: 5 + number % 3], started=Instant(at), usage=Usage(100 + number % 50, 20)
    )
    cut_off = {"finish": FinishReason.LENGTH, "body": BodyState.TRUNCATED} if cut else {}
    last = Generation(answered_model=model, started=Instant(at + 2), usage=Usage(150, 30), **cut_off)  # type: ignore[arg-type]  # fields of two kinds
    return Trace(
        (
            Turn(Role.USER, (Part("text", words),)),
            Turn(Role.ASSISTANT, (Part("text", call),), generation=generation),
            Turn(Role.TOOL, (Part("text", f'{{"value": {number}}}'),), result=ResultHeader(name=tool.name)),
            Turn(Role.ASSISTANT, (Part("text", prose(150, number + 1)),), generation=last),
        ),
        name=f"session {number}",
        started=Instant(at),
        external_ids=(ExternalId("session", f"s{number}"),),
        provenance=Provenance(_SOURCES[number % 4], f"log-{number % 50}.jsonl", record=f"line {number}"),
    )


def _with_rare_word(number: int, traces: int) -> Trace:
    at = (number + 0.5) / RARE_TRACES * traces * APART_S
    made = a_trace(10_000_000 + number, at)
    return Trace(
        (Turn(Role.USER, (Part("text", f"where is the {RARE}?"),)), *made.turns[1:]),
        name=made.name,
        started=made.started,
        external_ids=made.external_ids,
        provenance=made.provenance,
    )
