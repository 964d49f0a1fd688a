"""How many attempted calls are reported, how many alarms prose gives, and what the search for them costs."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

from benchmarks.corpus import prose
from benchmarks.measuring import best_of, goal, print_line
from tests.checks.attempted.shapes import SHAPES, TOOLS, in_other_formats, in_prose, made_up_call
from tests.checks.attempted.test_attempted_calls import COMMON, NAMES
from tests.checks.attempted.test_measures import is_reported, line_of_talk
from weaklink.inspector.checks.attempted.call_search import CallSearch
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, Trace, Turn
from weaklink.inspector.segmentation import segment_whole

_EACH = 20
_CONVERSATIONS = 2_000
_ALARMS = ("F305", "F309", "F314", "F317")
_AT_LEAST, _AT_MOST = 0.99, 0.1
_PLAIN = "I looked at the file, changed the list and ran it again: it is 5 now (see above).\n"


def attempts() -> None:
    """A row a shape over every format, then prose that calls nothing, then the cost of the search."""
    print_line(f"attempted calls: each shape {_EACH} times in each of {len(NAMES)} formats, reported of tried")
    total: Counter[str] = Counter()
    for shape, write in SHAPES.items():
        seed = random.Random(f"{shape} many")
        calls = [(name, *made_up_call(seed)) for name in NAMES for _ in range(_EACH)]
        reported = sum(is_reported(in_prose(seed, write(tool, given)), name, tool) for name, tool, given in calls)
        total.update(tried=len(calls), reported=reported)
        print_line(f"  {shape:28} {reported:5,} of {len(calls):5,}")
    _foreign(total)
    print_line(f"  all: {goal(total['reported'] / total['tried'], _AT_LEAST, at_least=True)} of {total['tried']:,}")
    print_line(f"prose that calls nothing: {_alarms() / _CONVERSATIONS * 1_000:.1f} alarms in 1,000 conversations")
    _cost()


def _foreign(total: Counter[str]) -> None:
    seed = random.Random(9)
    tried = reported = 0
    for name in NAMES:
        for _ in range(_EACH // 4):
            tool, given = made_up_call(seed)
            for written in in_other_formats(tool, given):
                tried += 1
                reported += is_reported(f"Let me look.\n{written}", name, tool)
    total.update(tried=tried, reported=reported)
    print_line(f"  {'another format of the ' + str(len(formats())):28} {reported:5,} of {tried:5,}")


def _alarms() -> int:
    seed = random.Random(10)
    alarms = 0
    for number in range(_CONVERSATIONS):
        turns: list[Turn] = []
        for _ in range(seed.randrange(1, 4)):
            words = "\n\n".join(line_of_talk(seed) for _ in range(seed.randrange(1, 4)))
            turns.append(Turn(Role.USER, (Part("text", "Go on."),)))
            turns.append(Turn(Role.ASSISTANT, (Part("text", words),), generation=Generation(tools=COMMON)))
        diagnostics = inspect_trace(Trace(tuple(turns)), format=NAMES[number % len(NAMES)]).diagnostics
        alarms += any(diagnostic.rule.code in _ALARMS for diagnostic in diagnostics)
    return alarms


def _cost() -> None:
    seed = random.Random(11)
    talk = [_PLAIN + line_of_talk(seed) for _ in range(100)]
    written = find_format("hermes").write_calls
    calls = [made_up_call(seed) for _ in range(100)]
    proper = [
        f"<think>\n{prose(800, index)}\n</think>\n{written([make_call(*call)])}" for index, call in enumerate(calls)
    ]
    corpora = {
        "reasoning and a call": (proper, TOOLS),
        "the same, tools named by plain words (list, run)": (proper, COMMON),
        "prose that names no tool": ([_PLAIN * 3] * 100, COMMON),
        "prose that names tools": (talk, COMMON),
    }
    for what, (texts, tools) in corpora.items():
        read = partial(_read, texts, OfferedTools(tools))
        best = best_of({"with": read, "without": partial(_without_search, read)})
        share = best["with"] / best["without"] - 1
        judged = goal(share, _AT_MOST, at_least=False) if texts is proper and tools is TOOLS else f"{share:6.2f}"
        print_line(f"  search of {what}, of segmenting without it: {judged}")
    for name in ("hermes", "pythonic"):
        tried = [f"Let me look.\n{write(*call)}" for write in SHAPES.values() for call in calls[:10]]
        right = find_format(name).write_calls
        proper = [f"Let me look.\n{right([make_call(*call)])}" for _ in SHAPES for call in calls[:10]]
        best = best_of(
            {
                "tried": partial(_read, tried, OfferedTools(TOOLS), name),
                "proper": partial(_read, proper, OfferedTools(TOOLS), name),
            }
        )
        ratio = best["tried"] / best["proper"]
        print_line(
            f"  a text with an attempted call in {name}, of one with the same call written rightly: {ratio:6.2f}"
        )


def _read(texts: list[str], offered: OfferedTools, name: str = "hermes") -> None:
    own = find_format(name)
    for text in texts:
        segment_whole(text, own, tools=offered)


def _without_search(way: Callable[[], None]) -> None:
    with (
        patch.object(CallSearch, "in_text", lambda *_, **__: []),
        patch.object(CallSearch, "in_reasoning", lambda *_: []),
    ):
        way()
