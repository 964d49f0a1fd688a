"""Stores of one trace whose answer is one long stream: its times, token ids and log probabilities were all kept."""

import random
from pathlib import Path

from benchmarks.corpus import prose
from benchmarks.one_trace_stores import one_trace_store
from weaklink.inspector.model import (
    Chunks,
    Generation,
    Instant,
    Part,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
)

_MAKE = 2
"""Which stores these are: to be raised with every change of what is put into them."""

_CALLS, _BROKEN = 8, 4
_LINE = 90
_TOOL = ToolDefinition("forecast", "Says what the weather will be.", {"type": "object"})


def stream_store(tokens: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many tokens, made where there is none yet."""
    return one_trace_store(folder / f"stream-{_MAKE}-{tokens}.db", long_trace, tokens)


def long_trace(tokens: int) -> Trace:
    """A question, an answer of so many tokens in lines, a few calls in it, one of them broken, and their results."""
    started, tools = Instant(1_700_000_000.0), (_TOOL,)
    answer = Turn(Role.ASSISTANT, (_answer(tokens),), generation=Generation(started=started, tools=tools))
    results = [
        Turn(Role.TOOL, (Part("text", f'{{"day": {number}}}'),), result=ResultHeader(name=_TOOL.name))
        for number in range(_CALLS)
        if number != _BROKEN
    ]
    asked = Turn(Role.USER, (Part("text", "What will the weather be?"),))
    return Trace((asked, answer, *results), name=f"a stream of {tokens} tokens", format="hermes", started=started)


def _answer(tokens: int) -> Part:
    """Chunks of a token each, of two to six characters, 20 ms apart or so."""
    rng = random.Random(tokens)
    steps = [rng.randrange(2, 7) for _ in range(tokens)]
    at_s, end = 0.0, 0
    ends: list[int] = []
    offsets_s: list[float] = []
    for step in steps:
        end += step
        at_s += rng.lognormvariate(-4, 0.3)
        ends.append(end)
        offsets_s.append(round(at_s, 6))
    ids = tuple((rng.randrange(150_000),) for _ in steps)
    odds = tuple((-rng.expovariate(1.0),) for _ in steps)
    return Part("text", _text(end), Chunks(tuple(ends), tuple(range(tokens)), tuple(offsets_s), ids, odds))


def _text(size: int) -> str:
    """Lines of prose, and the calls at equal distances, `size` characters in all."""
    pieces: list[str] = []
    for number in range(_CALLS):
        comma = "," if number == _BROKEN else ""
        call = f'<tool_call>\n{{"name": "{_TOOL.name}", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>\n'
        pieces += (_lines(size // _CALLS - len(call), number), call)
    text = "".join(pieces)
    return text + "." * (size - len(text))


def _lines(size: int, seed: int) -> str:
    words = prose(size, seed)
    return (
        "\n".join(words[start : start + _LINE - 1] for start in range(0, size, _LINE))[: size - 1].ljust(size - 1)
        + "\n"
    )
