"""Reading takes linear time: whatever is repeated, in whatever state, eight times the text costs about eight times.

Quadratic work at eight times the size costs 64 times; `_MAX_GROWTH` lies between the two, and only a text that costs
more than a linear reading usually does is measured at both sizes. Times are those of this process, so that others on
the machine hardly count; a verdict takes the least of several rounds, and more rounds before it says no.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from time import process_time

import pytest

from tests.mutations import CONTROLS, PIECES, markers, originals
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.segmentation import Segmenter

pytestmark = pytest.mark.invariants
# In the gate the same texts each time; `make fuzz` says how many for each format, and tries others and longer ones.
_GATE = 2
_COUNT = int(os.environ.get("WEAKLINK_FUZZ_REPEATED_TEXTS", str(_GATE)))
_SIZE = 8_000 if _COUNT == _GATE else 16_000
_LINEAR_S = 5e-6  # for one code point; a text that costs less in all is not measured again
_MAX_GROWTH = 24
_SEED = 1 if _COUNT == _GATE else Random().randrange(1 << 32)
_FRAGMENTS = (
    *(
        '\\"',
        "\\\\",
        "\\n",
        '"a": ',
        '"a": 1, ',
        '"a", ',
        '{"a": ',
        '{"',
        '("',
        "'a', ",
        "[f(",
        "f(",
        "a=1, ",
        "a.",
        "1,",
    ),
    *("1.", "-", " ", "\n", "\n- ", "key: ", "```", "{},", "[],", "é", "Action: f\n", "Action Input: "),
    *("<function=f>", "<parameter=a>", "<parameter=a>x</parameter>", "</parameter>", '"name": "f", '),
    '{"name": "f", "arguments": {}}',
)


@dataclass(frozen=True, slots=True)
class Repeated:
    """`fragment` again and again behind `before`, fed in pieces of `step` code points (0: whole)."""

    format: str
    before: str
    fragment: str
    behind: str = ""
    step: int = 0

    def text(self, size: int) -> str:
        return self.before + self.fragment * (size // len(self.fragment) + 1) + self.behind


FOUND = (
    Repeated("qwen3_coder", "<tool_call>\n", "<function=f>"),
    Repeated("step3p5", "<tool_call>\n", "<function=f>"),
    Repeated("seed_oss", "<seed:tool_call>\n", "<function=f>"),
    Repeated("qwen3_coder", "<tool_call>\n<function=f>\n", "<parameter=a>\n"),
    Repeated("qwen3_coder", "<tool_call>\n<function=f>", "<function=f>\n", " \n"),
    Repeated("lfm2", "<|tool_call_start|>[f(", '\\"'),
    Repeated("olmo3_pythonic", "<function_calls>[f(", "\\'"),
    Repeated("gemini", '{"candidates": [{"content": {},', '<|channel|>\\"'),
    Repeated("qwen", "✿FUNCTION✿: f\n✿ARGS✿: ", "✿ARGS✿", step=50),
)
"""Repetitions that once took quadratic time."""


@pytest.mark.parametrize("repeated", FOUND, ids=lambda repetition: f"{repetition.format} {repetition.fragment!r}")
def test_what_once_took_quadratic_time_is_linear(repeated: Repeated) -> None:
    check(repeated, _SIZE)


@pytest.mark.one_in(12)
@pytest.mark.timeout(0 if _COUNT > _GATE else 600)
@pytest.mark.parametrize("name", [dialect.name for dialect in formats()])
def test_repeated_fragments_take_linear_time(name: str) -> None:
    for repeated in repetitions(name):
        check(repeated, _SIZE)


def repetitions(name: str) -> Iterator[Repeated]:
    """Each marker repeated; then random ones: a beginning that opens any state, and fragments behind it."""
    own = markers(name) or PIECES
    yield from (Repeated(name, "", marker) for marker in own)
    random = Random(f"{_SEED} {name}")
    fragments = [*own, *PIECES, *_FRAGMENTS, *CONTROLS]
    for _ in range(_COUNT):
        original = random.choice(originals(name)).text
        before = random.choice(("", random.choice(own), original[: random.randint(0, len(original))]))
        if random.random() < 0.3:
            before += random.choice(fragments)
        if random.random() < 0.2:
            start = random.randrange(max(len(original), 1))
            fragment = original[start : start + random.randint(1, 80)] or " "
        else:
            fragment = "".join(random.choice(fragments) for _ in range(random.choice((1, 1, 2, 2, 3))))
        yield Repeated(name, before, fragment, random.choice(("", random.choice(fragments))), random.choice((0, 0, 50)))


def check(repeated: Repeated, size: int) -> None:
    """Read the repetition at `size` code points and at an eighth of it, unless the larger one is cheap."""
    large, small = repeated.text(size), repeated.text(size // 8)
    cheap_s = _LINEAR_S * len(large)
    least, most, growth = 0.0, cost(repeated, large), len(large) / len(small)
    if most < cheap_s:
        return
    for rounds in (1, 2, 4, 8):
        least = min(cost(repeated, small) for _ in range(rounds))
        most = min([most, *(cost(repeated, large) for _ in range(rounds - 1))])
        if most < max(cheap_s, least * growth * _MAX_GROWTH / 8):
            return
    raise AssertionError(f"{most / least:.0f} times the time for {growth:.1f} times the text, {most:.2f} s: {repeated}")


def cost(repeated: Repeated, text: str) -> float:
    """The processor's time that reading the text takes, in seconds."""
    pieces = (
        [text[index : index + repeated.step] for index in range(0, len(text), repeated.step)]
        if repeated.step
        else [text]
    )
    segmenter = Segmenter(find_format(repeated.format))
    start = process_time()
    for piece in pieces:
        segmenter.feed(piece)
    segmenter.close()
    segmenter.segmentation(text)
    return process_time() - start
