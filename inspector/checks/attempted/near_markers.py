"""F314: what is nearly the marker of a call, or its beginning at the end of the stream: a call that nobody sees."""

import re
from collections.abc import Iterator
from functools import lru_cache

from inspector.checks.quoting import is_quoted
from inspector.diagnostics import Fault
from inspector.formats.format import Format
from inspector.formats.markers import bare_calls_of, call_openers_of, markers_of
from inspector.json_scanner.quoting import shown
from inspector.rules.markers import NEAR_MARKER
from inspector.text import Range

_STEM = re.compile(r"\W+\w*?[^\W_]+[\W_]")
_SHORTEST_CUT = 3
_WORD = re.compile(r"\S{0,40}")
_TAG_END = re.compile(r"[^\s>\]]{0,40}[>\]]?")
_LONGEST_CUT = 400
_TELLING = re.compile(r"""\[?\s*\{\s*["']\w{2}""")
_PLAIN = tuple(str.maketrans(signs, plain) for signs, plain in (("▁", "_"), ("｜▁", "|_")))


class NearMarkers:
    """Looks through the words of a model for what is nearly one of its format's markers of calls."""

    def __init__(self, own: Format) -> None:
        self._openers = call_openers_of(own)
        self._cuts = _cut_openers(own)
        self._bare = bare_calls_of(own)
        self._stems = _stems(own)
        self._markers = markers_of(own)
        self._near_calls = own.near_calls

    def faults(self, text: str, start: int, *, at_end: bool) -> Iterator[Fault]:
        """The near markers in `text`, which begins at `start`; `at_end` says that the stream ends with it."""
        cut = next(filter(text.endswith, self._cuts), "") if at_end and text.endswith(self._cuts) else ""
        if cut:
            opener = next(one for one in self._openers if one.startswith(cut))
            message = f"The stream ends within `{cut}`: `{opener}` would have opened a call, and none came."
            end = start + len(text)
            yield Fault(NEAR_MARKER, Range(end - len(cut), end), message, "Raise the limit on the answer's length.")
        elif at_end and (cut := self._cut_value(text)):
            message = f"The stream ends within {shown(cut)}, which begins like a call; no server makes one of it."
            end = start + len(text)
            yield Fault(NEAR_MARKER, Range(end - len(cut), end), message, "Raise the limit on the answer's length.")
        told: set[str] = set()
        for at, stem, opener in sorted((text.find(stem), stem, opener) for stem, opener in self._stems):
            if at >= 0 and opener not in told and not is_quoted(text, at) and at + len(cut) < len(text):
                word = _found(_WORD, text, at)
                if any(word.startswith(one) for one in self._markers) or self._begins_another(word, opener):
                    continue
                near = stem + _found(_TAG_END, text, at + len(stem))
                told.add(opener)
                yield _near(Range(at, at + len(near)).moved(start), near, opener)
        for sign, opener in self._near_calls:
            found = sign.search(text)
            if found is not None and not is_quoted(text, found.start()):
                yield _near(Range(*found.span()).moved(start), found[0], opener)

    def _begins_another(self, word: str, opener: str) -> bool:
        return not opener.startswith(word) and any(one.startswith(word) for one in self._markers)

    def _cut_value(self, text: str) -> str:
        """The text, where it is nothing but the beginning of a call that no marker opens, and tells that."""
        value = text.strip()
        if len(value) > _LONGEST_CUT or not _TELLING.match(value):
            return ""
        ways = ((bracket, ahead) for bracket, ahead in self._bare if value.startswith(bracket))
        is_cut = any(ahead.cut_short.match(value, len(bracket)) for bracket, ahead in ways)
        return text[text.index(value) :] if is_cut else ""


def _found(sign: re.Pattern[str], text: str, at: int) -> str:
    found = sign.match(text, at)
    return found[0] if found is not None else ""


def _near(place: Range, near: str, opener: str) -> Fault:
    message = f"{shown(near)} is nearly `{opener}`, but no server takes it for the beginning of a call."
    return Fault(NEAR_MARKER, place, message, f"Write `{opener}`, if a call was meant.")


def _tells(beginning: str) -> bool:
    """Whether an opener's beginning is unlike any word, and unlike a mere sign."""
    return not beginning[0].isalnum() and any(map(str.isalnum, beginning))


@lru_cache(maxsize=128)
def _stems(own: Format) -> tuple[tuple[str, str], ...]:
    """The beginning of each opener that is unlike anything else: up to its first sign behind letters."""
    stems: dict[str, str] = {}
    for opener in call_openers_of(own):
        match = _STEM.match(opener)
        if match is not None and 5 <= len(match[0]) < len(opener):
            stems.setdefault(match[0], opener)
            for plain in _PLAIN:
                stems.setdefault(match[0].translate(plain), opener)
    return tuple(stems.items())


@lru_cache(maxsize=128)
def _cut_openers(own: Format) -> tuple[str, ...]:
    """Every beginning of an opener that no word begins with, the longest first."""
    openers = call_openers_of(own)
    beginnings = {one[:length] for one in openers for length in range(_SHORTEST_CUT, len(one))}
    return tuple(sorted(filter(_tells, beginnings), key=lambda beginning: (-len(beginning), beginning)))
