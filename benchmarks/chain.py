"""What the analysis of a long chain costs beside the segmenting of its texts, and how that grows with its steps."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.corpus import prose
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.facade import make_call, write_calls
from weaklink.inspector.formats.api.call_reading import read_structured_part
from weaklink.inspector.inspection import analyse_parts, inspect_trace
from weaklink.inspector.model import CallHeader, Part, ResultHeader, Role, Trace, Turn
from weaklink.inspector.segmentation import segment

_STEPS = 500
_LONG = (1_000, 10_000, 100_000)
_MOST_PER_STEP = 1.3
_MOST_SEGMENTINGS = 5.0
_MOST_GROWTH = 2.3
_FAILED_OF_100 = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """How the steps of a chain look: what a result of a step holds, and whether calls stand in the text."""

    result: Callable[[random.Random, int], str]
    is_in_band: bool = False


def chain() -> None:
    """Pairing, outcomes, data flow, break and the faults between calls and results, over chains of several shapes."""
    print_line(f"chain analysis: {_STEPS:,} steps, {_FAILED_OF_100} of 100 failed; against segmenting the same texts")
    for name, shape in SHAPES.items():
        few, many = _trace(shape, _STEPS), _trace(shape, 2 * _STEPS)
        ways: dict[str, Callable[[], object]] = {
            "segmented": partial(_segmented, few),
            "few": _analysis(few),
            "many": _analysis(many),
        }
        best = best_of(ways, rounds=4)
        print_line(
            f"  {name}: {_characters(few) / 1e6:.1f} million characters, {best['few'] / _STEPS * 1e6:,.0f} us a step"
        )
        print_line(f"    of segmenting: {goal(best['few'] / best['segmented'], _MOST_SEGMENTINGS, at_least=False)}")
        print_line(f"    twice the steps: {goal(best['many'] / best['few'], _MOST_GROWTH, at_least=False)}")


def long_chains() -> None:
    """What a step costs in chains of up to 100,000 steps, in CPU time, against the shortest of them."""
    shape = SHAPES["results of 200 B"]
    print_line("long chains: results of 200 B, chain analysis after the texts are read")
    shortest = 0.0
    for steps in _LONG:
        analysis = _analysis(_trace(shape, steps))
        each = best_of({"": analysis}, rounds=3 if steps < max(_LONG) else 1)[""] / steps
        shortest = shortest or each
        judged = goal(each / shortest, _MOST_PER_STEP, at_least=False)
        print_line(f"  {steps:>7,} steps: {each * 1e6:6.0f} us a step, of the shortest: {judged}")


def _row(rng: random.Random, number: int) -> dict[str, object]:
    return {"id": f"order_{number}", "user": f"u_{rng.randrange(10**6)}", "price": rng.randrange(10**4), "ok": True}


def _small(rng: random.Random, number: int) -> str:
    return json.dumps({**_row(rng, number), "note": prose(100, number)})


def _large(rng: random.Random, number: int) -> str:
    return json.dumps({**_row(rng, number), "note": prose(4_900, number)})


def _many_numbers(rng: random.Random, number: int) -> str:
    return json.dumps({**_row(rng, number), "series": [rng.randrange(10**6) for _ in range(100)]})


def _rows(rng: random.Random, number: int) -> str:
    return json.dumps([_row(rng, 30 * number + index) for index in range(30)])


SHAPES = {
    "results of 200 B": Shape(_small),
    "results of 5 kB": Shape(_large),
    "results of many numbers": Shape(_many_numbers),
    "results of 30 rows": Shape(_rows),
    "results of 200 B, in band": Shape(_small, is_in_band=True),
    "results of 5 kB, in band": Shape(_large, is_in_band=True),
}


def _trace(shape: Shape, steps: int) -> Trace:
    rng = random.Random(0)
    turns = [Turn(Role.USER, (Part("text", prose(400)),))]
    for number in range(steps):
        arguments: dict[str, object] = {
            "order_id": f"order_{max(number - rng.randrange(1, 9), 0)}",
            "note": prose(60, number),
        }
        turns.append(_call(number, arguments, is_in_band=shape.is_in_band))
        failed = rng.randrange(100) < _FAILED_OF_100
        result = f"Error: no order {number}" if failed else shape.result(rng, number)
        turns.append(_result(number, result, is_in_band=shape.is_in_band))
    turns.append(Turn(Role.ASSISTANT, (Part("text", prose(400)),)))
    return Trace(tuple(turns), format="hermes")


def _call(number: int, arguments: dict[str, object], *, is_in_band: bool) -> Turn:
    if is_in_band:
        call = make_call("get_order", json.loads(json.dumps(arguments)))
        return Turn(Role.ASSISTANT, (Part("text", f"{prose(80, number)}\n{write_calls([call], 'hermes')}"),))
    header = CallHeader("call:0", "get_order", f"c{number}")
    return Turn(
        Role.ASSISTANT, (Part("text", prose(80, number)), Part("call:0", json.dumps(arguments))), calls=(header,)
    )


def _result(number: int, text: str, *, is_in_band: bool) -> Turn:
    if is_in_band:
        return Turn(Role.TOOL, (Part("text", f"<tool_response>\n{text}\n</tool_response>"),))
    return Turn(Role.TOOL, (Part("text", text),), result=ResultHeader(f"c{number}", "get_order"))


def _characters(trace: Trace) -> int:
    return sum(len(part.text) for turn in trace.turns for part in turn.parts)


def _segmented(trace: Trace) -> None:
    for turn in trace.turns:
        for part in turn.parts:
            if part.name == "text":
                segment(part.text, "hermes", role=turn.role)
            else:
                read_structured_part(turn, part)


def _analysis(trace: Trace) -> Callable[[], object]:
    parts = inspect_trace(trace).parts
    return partial(analyse_parts, trace, parts, ())
