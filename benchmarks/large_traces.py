"""Stores of one large trace each, made where they are missing: a long stream, many turns, or many spans in one turn.

Of a long stream the times, token ids and log probabilities were all kept; half of the many spans are faulty calls.
"""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.corpus import prose
from weaklink.inspector.inspection import inspect_trace
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
from weaklink.storage.store import open_store, upgrade_store

_MAKE = 3
"""Which stores these are: to be raised with every change of what is put into them."""

_STARTED = Instant(1_700_000_000.0)
_QUESTION = Turn(Role.USER, (Part("text", "What will the weather be?"),))
_TOOL = ToolDefinition("forecast", "Says what the weather will be.", {"type": "object"})

# A long stream: how many calls it has, which of them is broken, and the characters of a line between them.
_CALLS, _BROKEN, _LINE = 8, 4, 90

# A turn of many: characters of words beside its call, and characters of a chunk.
_WORDS, _TOKEN = 300, 4


def stream_store(tokens: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many tokens, made where there is none yet."""
    return _store(folder / f"stream-{_MAKE}-{tokens}.db", long_trace, tokens)


def turns_store(turns: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many turns, made where there is none yet."""
    return _store(folder / f"turns-{_MAKE}-{turns}.db", many_turns, turns)


def spans_store(spans: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many spans in one turn, made where there is none yet."""
    return _store(folder / f"spans-{_MAKE}-{spans}.db", many_spans, spans)


def _store(path: Path, make: Callable[[int], Trace], size: int) -> Path:
    if path.exists():
        upgrade_store(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unready = path.with_suffix(".unready")
    unready.unlink(missing_ok=True)
    trace = make(size)
    with open_store(unready) as store:
        store.save([(trace, inspect_trace(trace))])
        store.search.index_pending()
    unready.rename(path)
    return path


def long_trace(tokens: int) -> Trace:
    """A question, an answer of so many tokens in lines, a few calls in it, one of them broken, and their results."""
    generation = Generation(started=_STARTED, tools=(_TOOL,))
    answer = Turn(Role.ASSISTANT, (_answer(tokens),), generation=generation)
    results = [_result(number) for number in range(_CALLS) if number != _BROKEN]
    return _trace((_QUESTION, answer, *results), f"a stream of {tokens} tokens")


def many_turns(turns: int) -> Trace:
    """A question, then answers with times, each of some words and one call, and the call's result."""
    words = prose(60_000 + _WORDS, 3)
    made = [_QUESTION]
    for number in range(turns // 2):
        text = f"{words[number * 131 % 60_000 :][:_WORDS]}\n{_call(number)}"
        generation = Generation(started=Instant(_STARTED.at_s + number))
        made.append(Turn(Role.ASSISTANT, (Part("text", text, _tokens(len(text))),), generation=generation))
        made.append(_result(number))
    return _trace(tuple(made), f"{turns} turns")


def many_spans(spans: int) -> Trace:
    """A question, and one answer: calls with a comma too many, and words between them."""
    text = "".join(f"{_call(number, ',')}\nwords\n" for number in range(spans // 2))
    answer = Turn(Role.ASSISTANT, (Part("text", text),), generation=Generation(started=_STARTED))
    return _trace((_QUESTION, answer), f"{spans} spans")


def _trace(turns: tuple[Turn, ...], name: str) -> Trace:
    return Trace(turns, name=name, format="hermes", started=_STARTED)


def _call(number: int, comma: str = "") -> str:
    return f'<tool_call>\n{{"name": "{_TOOL.name}", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>'


def _result(number: int) -> Turn:
    return Turn(Role.TOOL, (Part("text", f'{{"day": {number}}}'),), result=ResultHeader(name=_TOOL.name))


def _tokens(size: int) -> Chunks:
    """A chunk every few characters, 20 ms apart."""
    ends = (*range(_TOKEN, size, _TOKEN), size)
    return Chunks(ends, tuple(range(len(ends))), tuple(round(0.02 * number, 6) for number in range(len(ends))))


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
        call = f"{_call(number, comma)}\n"
        pieces += (_lines(size // _CALLS - len(call), number), call)
    text = "".join(pieces)
    return text + "." * (size - len(text))


def _lines(size: int, seed: int) -> str:
    words = prose(size, seed)
    return (
        "\n".join(words[start : start + _LINE - 1] for start in range(0, size, _LINE))[: size - 1].ljust(size - 1)
        + "\n"
    )
