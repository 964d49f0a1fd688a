"""What comparing layers costs in an inspection of sessions as a proxy records them, and what they cost on disk."""

import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from benchmarks.corpus import prose
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.chain.history import history_diagnostics
from weaklink.inspector.chain.layers import run_differences
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Generation,
    Part,
    RecordedRun,
    ResultHeader,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
)
from weaklink.storage.store import open_store

_TURNS = (5, 50, 500)
_TRACES = 20
_MOST_SHARE, _MOST_BYTES = 0.15, 1.1
_CUT_OF_100 = 5


def layers() -> None:
    """The comparison of layers against a whole inspection; a database with requests and runs against one without."""
    print_line(f"layers: sessions of a proxy, {_CUT_OF_100} of 100 results cut before the model reads them again")
    for turns in _TURNS:
        trace = _session(turns, 0)
        inspection = inspect_trace(trace)
        best = best_of(
            {"inspected": partial(inspect_trace, trace), "compared": partial(_compared, trace, inspection)}, rounds=5
        )
        sessions = [_session(turns, seed) for seed in range(_TRACES)]
        stored = _bytes(sessions) / _bytes(map(_without_layers, sessions))
        share = goal(best["compared"] / best["inspected"], _MOST_SHARE, at_least=False)
        print_line(
            f"  {turns:>3} turns: share of an inspection {share}; bytes {goal(stored, _MOST_BYTES, at_least=False)}"
        )


def _compared(trace: Trace, inspection: Inspection) -> int:
    return sum(1 for _ in run_differences(trace, inspection.chain.steps)) + sum(1 for _ in history_diagnostics(trace))


def _session(turns: int, seed: int) -> Trace:
    """An agent's session: each answer calls a tool, and each request has the whole history."""
    rng = random.Random(seed)
    made: list[Turn] = [
        Turn(Role.SYSTEM, (Part("text", prose(2_000, seed)),)),
        Turn(Role.USER, (Part("text", prose(200, seed + 1)),)),
    ]
    asked, kept = 0, 0
    while len(made) < turns:
        number = len(made) + 1
        messages: list[int | SentMessage] = list(range(kept + 1, number))
        result = made[-1]
        if result.result is not None and rng.randrange(100) < _CUT_OF_100:
            messages[-1] = SentMessage(
                Role.TOOL, (SentPart("text", "…", prefix=400),), number - 1, result=result.result
            )
        request = SentRequest(asked, kept if asked else 0, tuple(messages))
        arguments = f'{{"order": "o_{rng.randrange(10**6)}", "limit": {number}}}'
        header = CallHeader("call:0", "get_order", f"call_{seed}_{number}")
        parts = (Part("reasoning", prose(200, number)), Part("call:0", arguments))
        made.append(Turn(Role.ASSISTANT, parts, calls=(header,), generation=Generation(request=request)))
        asked, kept = number, number - 1
        text = prose(1_000, seed * 1_000 + number)
        run = RecordedRun("otlp", "get_order", header.id, arguments, text)
        made.append(Turn(Role.TOOL, (Part("text", text),), result=ResultHeader(header.id, "get_order"), run=run))
    return Trace(tuple(made), name=f"session {seed}")


def _without_layers(trace: Trace) -> Trace:
    """The trace as it was before requests and runs were recorded."""
    turns = (
        replace(turn, run=None, generation=turn.generation and replace(turn.generation, request=None))
        for turn in trace.turns
    )
    return replace(trace, turns=tuple(turns))


def _bytes(traces: Iterable[Trace]) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layers.db"
        with open_store(path) as store:
            store.save((trace, inspect_trace(trace)) for trace in traces)
        return path.stat().st_size
