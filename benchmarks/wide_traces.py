"""Stores of one wide trace: of many turns, or of many spans in one turn, of which half are faulty calls."""

from pathlib import Path

from benchmarks.corpus import prose
from benchmarks.one_trace_stores import one_trace_store
from weaklink.inspector.model import Chunks, Generation, Instant, Part, ResultHeader, Role, Trace, Turn

_MAKE = 1
"""Which stores these are: to be raised with every change of what is put into them."""

_STARTED_S = 1_700_000_000.0
_WORDS = 300
_TOKEN = 4


def turns_store(turns: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many turns, made where there is none yet."""
    return one_trace_store(folder / f"turns-{_MAKE}-{turns}.db", many_turns, turns)


def spans_store(spans: int, folder: Path) -> Path:
    """A file with a store of one trace, of so many spans in one turn, made where there is none yet."""
    return one_trace_store(folder / f"spans-{_MAKE}-{spans}.db", many_spans, spans)


def many_turns(turns: int) -> Trace:
    """A question, then answers with times, each of some words and one call, and the call's result."""
    words = prose(60_000 + _WORDS, 3)
    made = [Turn(Role.USER, (Part("text", "What will the weather be?"),))]
    for number in range(turns // 2):
        text = f"{words[number * 131 % 60_000 :][:_WORDS]}\n{_call(number)}"
        generation = Generation(started=Instant(_STARTED_S + number))
        made.append(Turn(Role.ASSISTANT, (Part("text", text, _tokens(len(text))),), generation=generation))
        made.append(_result(number))
    return _trace(tuple(made), f"{turns} turns")


def many_spans(spans: int) -> Trace:
    """A question, and one answer: calls with a comma too many, and words between them."""
    text = "".join(f"{_call(number, ',')}\nwords\n" for number in range(spans // 2))
    asked = Turn(Role.USER, (Part("text", "What will the weather be?"),))
    answer = Turn(Role.ASSISTANT, (Part("text", text),), generation=Generation(started=Instant(_STARTED_S)))
    return _trace((asked, answer), f"{spans} spans")


def _trace(turns: tuple[Turn, ...], name: str) -> Trace:
    return Trace(turns, name=name, format="hermes", started=Instant(_STARTED_S))


def _call(number: int, comma: str = "") -> str:
    return f'<tool_call>\n{{"name": "forecast", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>'


def _result(number: int) -> Turn:
    return Turn(Role.TOOL, (Part("text", f'{{"day": {number}}}'),), result=ResultHeader(name="forecast"))


def _tokens(size: int) -> Chunks:
    """A chunk every few characters, 20 ms apart."""
    ends = (*range(_TOKEN, size, _TOKEN), size)
    return Chunks(ends, tuple(range(len(ends))), tuple(round(0.02 * number, 6) for number in range(len(ends))))
