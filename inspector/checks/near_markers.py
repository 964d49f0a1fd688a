"""F314: what is nearly the marker of a call, or its beginning at the end of the stream: a call that nobody sees."""

import re
from collections.abc import Iterator
from functools import lru_cache

from inspector.checks.quoting import is_quoted
from inspector.diagnostics import Fault
from inspector.formats.format import Format
from inspector.formats.markers import call_openers_of, markers_of
from inspector.rules.markers import NEAR_MARKER
from inspector.text import Range

_STEM = re.compile(r"\W+\w*?[^\W_]+[\W_]")
_SHORTEST_CUT = 3
_WORD = re.compile(r"\S{0,40}")


class NearMarkers:
    """Looks through the words of a model for what is nearly one of its format's markers of calls."""

    def __init__(self, own: Format) -> None:
        self._openers = call_openers_of(own)
        self._stems = _stems(own)
        self._markers = markers_of(own)

    def faults(self, text: str, start: int, *, at_end: bool) -> Iterator[Fault]:
        """The near markers in `text`, which begins at `start`; `at_end` says that the stream ends with it."""
        cut = next(filter(text.endswith, self._cut_openers()), "") if at_end else ""
        if cut:
            opener = next(one for one in self._openers if one.startswith(cut))
            message = f"The stream ends within `{cut}`: `{opener}` would have opened a call, and none came."
            end = start + len(text)
            yield Fault(NEAR_MARKER, Range(end - len(cut), end), message, "Raise the limit on the answer's length.")
        for stem, opener in self._stems:
            at = text.find(stem)
            if at >= 0 and not is_quoted(text, at) and at + len(cut) < len(text):
                found = _WORD.match(text, at)
                shown = found[0] if found is not None else stem
                if any(shown.startswith(one) for one in self._markers) or self._begins_another(shown, opener):
                    continue
                message = f"`{shown}` is nearly `{opener}`, but no server takes it for the beginning of a call."
                place = Range(at, at + len(shown)).moved(start)
                yield Fault(NEAR_MARKER, place, message, f"Write `{opener}`, if a call was meant.")

    def _begins_another(self, shown: str, opener: str) -> bool:
        return not opener.startswith(shown) and any(one.startswith(shown) for one in self._markers)

    def _cut_openers(self) -> Iterator[str]:
        """Every beginning of an opener that no word begins with, the longest first."""
        longest = max(map(len, self._openers), default=0)
        for length in range(longest - 1, _SHORTEST_CUT - 1, -1):
            yield from dict.fromkeys(
                one[:length] for one in self._openers if len(one) > length and _tells(one[:length])
            )


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
    return tuple(stems.items())
