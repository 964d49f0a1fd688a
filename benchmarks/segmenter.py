"""The segmenter against the limits and peers of its field: whole text, token by token, hostile text, lost calls."""

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from benchmarks import peers
from benchmarks.corpus import (
    CALL_SIZES,
    call_payload,
    coding_texts,
    deltas,
    prose,
    reasoning_texts,
    session,
    short_texts,
)
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.formats.dialects.hermes import HERMES
from weaklink.inspector.segmentation import Segmenter, segment

_Given = TypeVar("_Given")
_MARKERS = re.compile("<(?:think>|/think>|tool_call>|/tool_call>|tool_response>|/tool_response>)")


def whole_text() -> None:
    """A session of 570 kB in one piece, against reading the payloads and searching the markers, and nothing else."""
    print_line("whole text: a session of 570 kB, half of it call payload")
    for name, sizes in (("mixed", CALL_SIZES), *((f"{size:,} B", (size,)) for size in CALL_SIZES)):
        text, payloads = session(sizes)
        ways: dict[str, Callable[[], object]] = {
            "limit": partial(_limit, text, payloads),
            "find": partial(text.find, "\0"),
            "weaklink": partial(segment, text, "hermes"),
            **{peer.name: partial(peer.whole, text) for peer in peers.installed()},
        }
        best = best_of(ways)
        print_line(
            f"  calls of {name}: "
            + ", ".join(f"{way} {len(text) / 1e6 / took:,.0f} MB/s" for way, took in best.items())
        )
        ratio = best["limit"] / best["weaklink"]
        judged = goal(ratio, 0.75, at_least=True) if name == "mixed" else f"{ratio:6.2f}"
        print_line(f"    of json.loads + one finditer: {judged}")
        for peer in peers.installed():
            print_line(f"    of {peer.name}: {goal(best[peer.name] / best['weaklink'], peer.goal, at_least=True)}")


def _limit(text: str, payloads: list[str]) -> None:
    for payload in payloads:
        json.loads(payload)
    for _ in _MARKERS.finditer(text):
        pass


def short_text() -> None:
    """Short texts one at a time, as real calls are, and the same token by token; all that belongs to a text counts."""
    made = short_texts(200)
    sizes = sorted(len(payload) for _, payloads in made for payload in payloads)
    print_line(
        f"short texts: {len(made)} of them, payloads of {sizes[len(sizes) // 2]} characters (median), one at a time"
    )
    texts = [text for text, _ in made]
    pieces = [deltas(text) for text in texts]
    best = best_of(
        {
            "limit": partial(_limits, made),
            "weaklink": partial(_for_each, partial(segment, format="hermes"), texts),
            **{peer.name: partial(_for_each, peer.whole, texts) for peer in peers.installed()},
            "bare": partial(_feed_each, pieces, _nothing),
            "stream": partial(_for_each, _read_deltas, pieces),
        },
        rounds=15,
    )
    microseconds = {name: took / len(texts) * 1e6 for name, took in best.items()}
    bare, stream = microseconds.pop("bare"), microseconds.pop("stream")
    print_line("  " + ", ".join(f"{name} {took:.1f} us a text" for name, took in microseconds.items()))
    print_line(f"    of json.loads + one finditer: {goal(best['limit'] / best['weaklink'], 0.33, at_least=True)}")
    for peer in peers.installed():
        print_line(f"    of {peer.name}: {goal(best[peer.name] / best['weaklink'], 1.5, at_least=True)}")
    print_line(f"  deltas of 4 characters, making and closing included: {stream:.1f} us a text")
    print_line(f"    a delta, of a bare call: {goal(stream / bare, 20, at_least=False)}")


def real_sizes() -> None:
    """Texts one at a time whose sizes are those of coding agents and of long reasoning, against the limit."""
    corpora = {"coding agents": (coding_texts(12), 0.33), "long reasoning": (reasoning_texts(40), 0.75)}
    ways: dict[str, Callable[[], object]] = {}
    for name, (made, _) in corpora.items():
        ways[f"{name}, limit"] = partial(_limits, made)
        ways[name] = partial(_for_each, partial(segment, format="hermes"), [text for text, _ in made])
    best = best_of(ways, rounds=15)
    for name, (made, least) in corpora.items():
        sizes = sorted(len(text) for text, _ in made)
        took = best[name] / len(made) * 1e6
        print_line(
            f"texts of {name}: {len(made)}, {sizes[len(sizes) // 2]:,} characters (median), {took:.1f} us a text"
        )
        print_line(
            f"    of json.loads + one finditer: {goal(best[f'{name}, limit'] / best[name], least, at_least=True)}"
        )


def _limits(made: list[tuple[str, list[str]]]) -> None:
    for text, payloads in made:
        _limit(text, payloads)


def _for_each(way: Callable[[_Given], object], given: Iterable[_Given]) -> None:
    for text in given:
        way(text)


def _feed_each(texts: list[list[str]], feed: Callable[[str], object]) -> None:
    for pieces in texts:
        _feed_all(pieces, feed)


def token_by_token() -> None:
    """Deltas of four characters within one call's arguments, against calling a function that does nothing.

    Making the segmenter and opening the call are measured apart and taken off: what counts is a delta.
    """
    print_line("token by token: deltas of 4 characters within the arguments of one call")
    per_delta: dict[int, float] = {}
    for size in CALL_SIZES:
        pieces = deltas(call_payload(size))
        best = best_of(
            {
                "bare": partial(_feed_all, pieces, _nothing),
                "made": partial(_stream, []),
                "Segmenter.feed": partial(_stream, pieces),
                "parser.feed": partial(_parse, pieces),
                **{peer.name: partial(peer.stream, call_payload(size)) for peer in peers.installed()},
            }
        )
        made = best.pop("made")
        best["Segmenter.feed"] -= made
        best["parser.feed"] -= made
        nanoseconds = {name: took / len(pieces) * 1e9 for name, took in best.items()}
        per_delta[size] = nanoseconds["Segmenter.feed"]
        print_line(f"  {size:>6,} B: " + ", ".join(f"{name} {took:,.0f} ns" for name, took in nanoseconds.items()))
        print_line(
            f"    of a bare call: {goal(nanoseconds['Segmenter.feed'] / nanoseconds['bare'], 5, at_least=False)}"
        )
    spread = max(per_delta[size] for size in CALL_SIZES[1:]) / min(per_delta[size] for size in CALL_SIZES[1:])
    print_line(f"  slowest to fastest from 1 kB to 50 kB: {goal(spread, 1.3, at_least=False)}")


def _nothing(piece: str) -> None:
    return None


def _feed_all(pieces: list[str], feed: Callable[[str], object]) -> None:
    for piece in pieces:
        feed(piece)


def _stream(pieces: list[str]) -> None:
    segmenter = Segmenter("hermes")
    segmenter.feed("<tool_call>\n")
    _feed_all(pieces, segmenter.feed)


def _parse(pieces: list[str]) -> None:
    parser = HERMES.new_parser()
    parser.feed("<tool_call>\n")
    _feed_all(pieces, parser.feed)


_HOSTILE: dict[str, Callable[[int], str]] = {
    "openers only": lambda n: "<tool_call>" * n,
    "half markers": lambda n: "<tool_cal" * n,
    "closers in strings": lambda n: '<tool_call>{"a": "</tool_call>' * n,
    "doubts that fail": lambda n: '<tool_call>[",","</tool_call>' * n,
    "one string of closers": lambda n: '<tool_call>{"a": "' + "</tool_call>" * 4 * n + '"}</tool_call>',
    "brackets": lambda n: "<tool_call>" + "[{" * n,
    "quotes": lambda n: "<tool_call>" + "'\"" * n + "</tool_call>",
    "single quotes": lambda n: "<tool_call>{" + "'a': 'b', " * n + "}</tool_call>",
    "trailing commas": lambda n: "<tool_call>[" + "[1,], " * n + "]</tool_call>",
    "backslashes": lambda n: '<tool_call>{"a": "' + "\\" * n,
    "many short calls": lambda n: '<tool_call>{"name": "f", "arguments": {}}</tool_call>' * n,
    "reasoning": lambda n: "<think>" + "<tool_call>" * n + "</think>",
    "prose": lambda n: prose(8 * n),
}


def hostile_text() -> None:
    """What twice the input costs, whole and in deltas of four characters."""
    print_line("hostile text: cost of twice the input")
    for name, make in _HOSTILE.items():
        small, large = make(2_000), make(4_000)
        best = best_of(
            {
                "small": partial(segment, small, "hermes"),
                "large": partial(segment, large, "hermes"),
                "small deltas": partial(_read_deltas, deltas(small)),
                "large deltas": partial(_read_deltas, deltas(large)),
            },
            rounds=2,
        )
        ratio = max(best["large"] / best["small"], best["large deltas"] / best["small deltas"])
        print_line(f"  {name:24} {len(large) / 1e6 / best['large']:7.1f} MB/s whole {goal(ratio, 2.3, at_least=False)}")


def _read_deltas(pieces: list[str]) -> None:
    segmenter = Segmenter("hermes")
    _feed_all(pieces, segmenter.feed)
    segmenter.close()


_GOOD = [json.dumps({"name": "store_rows", "arguments": {"row": index}}) for index in range(2)]
_BAD = "{'name': 'store_rows', 'arguments': {'row': 2}}"
_TEXT = "".join(f"<tool_call>\n{payload}\n</tool_call>\n" for payload in (_GOOD[0], _BAD, _GOOD[1]))


def lost_calls() -> None:
    """Print how many of three calls weaklink and every installed peer give when the second is malformed."""
    print_line("three calls, the second in single quotes: how many are given")
    calls_read = segment(_TEXT, "hermes").calls
    valid = sum(call.valid for call in calls_read)
    print_line(f"  {'weaklink':10} {len(calls_read)} ({valid} valid, 1 by repair, with its faults)")
    for peer in peers.installed():
        answer: Any = peer.whole(_TEXT)
        calls = getattr(answer, "tool_calls", None) or getattr(answer, "calls", None) or []
        print_line(f"  {peer.name:10} {len(calls)}")
