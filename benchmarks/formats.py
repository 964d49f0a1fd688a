"""Every format against `hermes` on the same calls, and what twice the input costs in each."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from benchmarks.corpus import prose
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmentation import segment

_AT_LEAST, _AT_MOST = 0.25, 2.3
_SIZES = (1_000, 1_000, 1_000, 20_000)
_ROUNDS = 40
_PROSE = {"react": "Thought: "}
"""What prose begins with where text behind a call would still belong to it."""


def every_format() -> None:
    """A row a format: the speed of a session of calls of 1 to 20 kB, and the worst of the hostile texts, doubled."""
    print_line("every format: a session of calls of 1 to 20 kB between prose, its speed as a ratio to hermes")
    print_line("  (of twice the input: the worst of many openers, an unterminated string, brackets and half a marker)")
    sessions = {form.name: _session(form) for form in formats()}
    hermes = partial(segment, sessions["hermes"], "hermes")
    for wire_format in formats():
        text = sessions[wire_format.name]
        best = best_of({"hermes": hermes, wire_format.name: partial(segment, text, wire_format.name)}, rounds=3)
        speed = len(text) / best[wire_format.name]
        ratio = speed / (len(sessions["hermes"]) / best["hermes"])
        worst, shape = max((_doubling(make, wire_format.name), name) for name, make in _hostile(wire_format).items())
        print_line(
            f"  {wire_format.name:16} {speed / 1e6:5.0f} MB/s {goal(ratio, _AT_LEAST, at_least=True)}"
            f"   twice the input {goal(worst, _AT_MOST, at_least=False)} {shape}"
        )


def _calls(seed: int) -> list[ToolCall]:
    """One call whose values are texts, which every format can hold."""
    size = _SIZES[seed % len(_SIZES)]
    rows = {f"row_{index}": prose(180, seed + index) for index in range(size // 200)}
    return [make_call("store_rows", {"city": "Tromsø", **rows})]


def _session(dialect: Format) -> str:
    pieces: list[str] = []
    for seed in range(_ROUNDS):
        written = next(filter(None, (_written(dialect, calls) for calls in (_calls(seed), _named(_calls(seed))))), "")
        pieces += [_PROSE.get(dialect.name, ""), prose(600, seed), "\n", written, "\n"]
    return "".join(pieces)


def _written(dialect: Format, calls: Sequence[ToolCall]) -> str:
    return dialect.write_calls(calls) if all(map(dialect.expresses, calls)) else ""


def _named(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The same calls with ids, for formats that want them."""
    return [replace(call, id=f"{call.name}{'0' * 9}"[:9]) for call in calls]


def _hostile(dialect: Format) -> dict[str, Callable[[int], str]]:
    call = next(filter(None, (_written(dialect, calls) for calls in (_calls(0), _named(_calls(0))))), "")
    position = call.find("Troms") if "Troms" in call else len(call) // 2
    opener = call[: max(call.find("store_rows"), 1)]
    return {
        "openers": lambda n: opener * n,
        "half calls": lambda n: call[:position] * (n // 16),
        "one string": lambda n: call[:position] + "x" * (8 * n),
        "one string of openers": lambda n: call[:position] + (opener + " ") * n,
        "brackets": lambda n: call[:position] + "[{" * n,
        "half a marker": lambda n: opener[: len(opener) // 2 + 1] * n,
        "quotes": lambda n: call[:position] + "'\"" * n,
    }


def _doubling(make: Callable[[int], str], name: str) -> float:
    small, large = make(8_000), make(16_000)
    best = best_of({"small": partial(segment, small, name), "large": partial(segment, large, name)}, rounds=2)
    return best["large"] / best["small"]
