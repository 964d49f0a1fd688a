"""Finds the secrets of a text, and replaces them by fillers of the same length.

Theory of operation. Every detector names places at which a secret may begin (a prefix of a key, the name of a
password); the scan takes the leftmost place of all, lets its detector judge it, and goes on behind the secret that was
found, or behind the place. So the secrets never overlap, and what is found depends on the text alone. A tag, whose
attributes may hold secrets of their own, is placed at its end, where its value begins. A detector that
needs more text to decide says from where on a secret may stand: all before it is certain. A secret that reaches the
text's end may go on in what follows, which its `Ending` then reads.

A text that arrives in pieces is scanned by a `Finder`, which keeps as much of the past as a detector looks back, and
scans again from where a decision may still be open. It finds what a scan of the whole text finds, since every decision
is made with the same characters in sight.

Cost. Most texts hold nothing: one pass turns the text into ASCII bytes, one into runs of key characters, of which one
search looks for a long one, and a handful of searches look for the detectors' signs. Patterns are only tried where
something was found. Each place is judged by at most `_PEEK` characters or becomes a secret that is passed over, so the
scan is linear.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from inspector.redaction.introductions import DETECTORS, LONGEST_INTRODUCTION, Detector, FoundIntroduction
from inspector.redaction.keys import RUN_CHARACTERS, KeyPlaces, has_long_run, has_prefix, runs_of
from inspector.redaction.secret_values import LOOKAHEAD, Ending, Secret, SecretVerdict, Undecided
from inspector.scanning import lazy_pattern

FILLER = "*"
"""What stands for each character of a secret; no shape takes it for a part of one."""

_SECRET_CHARACTER = lazy_pattern(r"\\+[nrt]|\S")
CONTEXT = LONGEST_INTRODUCTION + 128
"""Code points of the past that decide on what follows."""

_MOST_KEPT = 4 * CONTEXT
_NOTHING: list[Secret] = []
_FRAMED = 8_192  # bytes in whose lines a frame is looked for
_SIGN_AHEAD = 24  # no sign and no prefix is longer
_LONGEST_OPEN_KEY = 256  # a longer word either holds a key already or is none
_MARKED = 64 + _SIGN_AHEAD  # so far before a value there is a mark that prose has not: a colon, a dash, a quote
_PROSE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,.;!?'()\n"
_BETWEEN = r" ,;!?'()\n"
_PLAIN_WORDS = lazy_pattern(
    rf"[{_BETWEEN}]+(?:(?:[A-Za-z][a-z]{{0,14}}|[0-9]{{1,8}})(?:\.?[{_BETWEEN}]+|\.?\Z))*\Z"
)  # no run is long enough for a key, and the last word begins none
_LONGEST_PLAIN = 1_024


def all_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """The secrets by shape, and what a user's patterns find: their first group, or all where they have none."""
    return [*find_secrets(text), *pattern_secrets(text, patterns)]


def without_secrets_of(source: str, text: str) -> str:
    """The text, which may quote from `source`, without the secrets that are in `source` or in the text itself."""
    for one in find_secrets(source):
        secret = source[one.start : one.end]
        text = text.replace(secret, _filler(secret))
    return replaced(text, find_secrets(text))


def pattern_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """What a user's patterns find: their first group, or all where they have none."""
    groups = ((pattern, 1 if pattern.groups else 0) for pattern in patterns)
    return [Secret(*found.span(group)) for pattern, group in groups for found in pattern.finditer(text) if found[group]]


def replaced(text: str, secrets: Iterable[Secret]) -> str:
    """The text with a filler for each character of a secret; blank space stays, and escapes of line ends."""
    ranges = list(_joined(secrets))
    if not ranges:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in ranges:
        pieces += (text[at:start], _filler(text[start:end]))
        at = end
    return "".join((*pieces, text[at:]))


def _filler(secret: str) -> str:
    """The filler for a secret, legible as such and no longer than it."""
    return _SECRET_CHARACTER.sub(lambda found: FILLER if len(found[0]) == 1 else found[0], secret)


def _joined(secrets: Iterable[Secret]) -> Iterator[tuple[int, int]]:
    ends = sorted((one.start, one.end) for one in secrets)
    if not ends:
        return
    start, end = ends[0]
    for next_start, next_end in ends[1:]:
        if next_start > end:
            yield start, end
            start, end = next_start, next_end
        else:
            end = max(end, next_end)
    yield start, end


_BY_SIGN = {
    sign.encode(): [one for one in DETECTORS if sign in one.signs] for detector in DETECTORS for sign in detector.signs
}

_SIGNS = frozenset(sign for detector in DETECTORS for sign in detector.signs)
_LONGEST_SIGN = max(map(len, _SIGNS))
_SHORTEST_SIGNS = tuple(one for one in sorted(_SIGNS) if not any(other in one for other in _SIGNS - {one}))
"""A text that holds any sign holds one of these."""
_GATES = {
    sign: next((part for part in (b":", b"~", b"-", b"/", b"pass", sign) if part in sign), sign) for sign in _BY_SIGN
}
"""What a text holds that holds the sign: finding one byte, which many texts do not hold, is far faster than a word."""
_SIGN_BEGINNINGS = frozenset(sign[:size] for sign in _BY_SIGN for size in range(1, len(sign)))
_SIGN_ENDS = frozenset(sign[-size:] for sign in _BY_SIGN for size in range(1, len(sign)))


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text, in their order, without overlaps. Linear in the text."""
    return _scan(text, 0, free_at=-1, is_final=True).secrets


def suspect_texts(texts: Sequence[str]) -> list[str]:
    """Those of some short texts that may hold a secret: each has a sign of one, or a long run.

    They are searched together for all signs, and then each by itself for the few that were found.
    """
    together = "\n".join(texts).encode("ascii", "replace")
    has_runs, signs = has_long_run(runs_of(together)), _signs_in(together.lower())
    if not has_runs and not signs:
        return []
    return [text for text in texts if _is_suspect(text.encode("ascii", "replace"), signs, has_runs=has_runs)]


def _is_suspect(plain: bytes, signs: Sequence[bytes], *, has_runs: bool) -> bool:
    lowered = plain.lower()
    return any(sign in lowered for sign in signs) or (has_runs and has_long_run(runs_of(plain)))


class Finder:
    """Finds the secrets of a text that arrives in pieces.

    `text` is as much of it as is still needed, `released` how much of that was certain before the last piece,
    `certain` how much is now.
    """

    def __init__(self) -> None:
        self.text = ""
        self.released = 0
        self.certain = 0
        self._free_at = -1  # where the last secret ended
        self._undecided_at = 0  # what could not be decided yet; it counts where something is held back
        self._alert_to = 0  # an introduction may have begun, whose value comes before this place
        self._prose_from = 0  # before it, a mark may belong to an introduction whose words come now
        self._searched_to = 0  # for signs
        self._open: Ending | None = None  # a secret goes on at `released`

    @property
    def is_open(self) -> bool:
        """Whether a secret goes on in what comes."""
        return self._open is not None

    def passes(self, piece: str) -> bool:
        """Take a piece that is certain at once and holds no secret; False, with nothing taken, for any other."""
        known = len(self.text)
        if self._open is not None or self.certain != known or known > _MOST_KEPT:
            return False
        is_plain = known >= self._alert_to and _is_plain(piece)
        if is_plain and known < self._prose_from:
            is_plain = not self._sees_sign(piece, known)
        if not is_plain and piece and self._is_worth_a_look(piece, known):
            return False
        self.text += piece
        self.released, self.certain = known, known + len(piece)
        return True

    def feed(self, piece: str, *, is_final: bool = False) -> list[Secret]:
        """The secrets in what is certain now and was not before; they may begin before it."""
        self.released = released = self.certain
        if released > _MOST_KEPT:
            self._forget()
            released = self.released
        known = len(self.text)
        may_begin_one = bool(piece) and self._is_worth_a_look(piece, known)
        if self._open is None and released == known and not may_begin_one:
            self.text += piece
            self.certain = known + len(piece)
            return _NOTHING
        at = self._search_from()
        self.text += piece
        found: list[Secret] = []
        if self._open is None or self._go_on(self._open, found, is_final=is_final):
            self._look(at, found, is_final=is_final)
        return found

    def _forget(self) -> None:
        """Keep of what was released what still matters for what comes."""
        surplus = min(self.released, self._search_from()) - CONTEXT
        if surplus > 0:
            self.text = self.text[surplus:]
            self.released -= surplus
            self._free_at -= surplus
            self._undecided_at -= surplus
            self._alert_to -= surplus
            self._prose_from -= surplus
            self._searched_to -= surplus

    def _search_from(self) -> int:
        """From where on a secret may begin that is not found yet."""
        if self.released < len(self.text):
            return self._undecided_at
        return max(self._free_at, self.released - LONGEST_INTRODUCTION, 0)

    def _is_worth_a_look(self, piece: str, known: int) -> bool:
        """Whether an introduction or a key may be in the new piece, or one that came before may have its value now."""
        plain = (self.text[-_SIGN_AHEAD:] + piece).encode("ascii", "replace")
        is_prose = not plain.translate(None, _PROSE) and b"earer" not in plain and b"asic" not in plain
        end = known + len(piece)
        if not is_prose:
            self._prose_from = end + _MARKED
        if known < self._prose_from:
            self._sees_sign(piece, known)
        if known < self._alert_to:
            return True
        runs = runs_of(plain)
        if has_long_run(runs):
            return True
        word = plain[runs.rfind(b" ") + 1 :]
        if len(word) == len(plain) and known > _SIGN_AHEAD:
            return has_prefix((self.text[-_LONGEST_OPEN_KEY:] + piece)[-_LONGEST_OPEN_KEY:], 0)
        if len(word) < 2 or (word[1:].islower() and word.isalpha() and b"dapi" not in word and b"cio" not in word):
            return False
        return has_prefix(word.decode("ascii"), 0)

    def _sees_sign(self, piece: str, known: int) -> bool:
        """Whether a sign is in what was not searched for one before; the next pieces are looked at then."""
        start = max(self._searched_to - _SIGN_AHEAD, known - LONGEST_INTRODUCTION, 0)
        self._searched_to = end = known + len(piece)
        lowered = (self.text[start:] + piece).lower()
        if not any(map(lowered.__contains__, _SHORTEST_SIGNS)):
            return False
        self._alert_to = end + LONGEST_INTRODUCTION
        return True

    def _go_on(self, ending: Ending, found: list[Secret], *, is_final: bool) -> bool:
        """Read on the secret that goes on; whether it ended."""
        start = self.released
        end = ending.end(self.text, start, len(self.text), is_final=is_final)
        if end is None:
            self._stay_in(start, found)
            return False
        found.append(Secret(start, end))
        self._open, self._free_at = None, end
        return True

    def _look(self, at: int, found: list[Secret], *, is_final: bool) -> None:
        text = self.text
        scan = _scan(text, at, free_at=self._free_at, is_final=is_final)
        for secret in scan.secrets:
            if secret.goes_on is not None:
                self._open = secret.goes_on
                self._stay_in(secret.start, found)
                return
            found.append(secret)
            self._free_at = secret.end
        self.certain, self._undecided_at = len(text), len(text)
        if scan.undecided is not None:
            self.certain = max(scan.undecided.start, self.released)
            self._undecided_at = scan.undecided_at

    def _stay_in(self, start: int, found: list[Secret]) -> None:
        """A secret that began at `start` goes on: what its ending does not look at any more is certain."""
        self.certain = self._undecided_at = max(_safe_end(self.text), start)
        self._free_at = -1
        found.append(Secret(start, self.certain))


def _is_plain(piece: str) -> bool:
    """Whether the piece is ordinary words that begin no key: the cheap first test."""
    return len(piece) <= _LONGEST_PLAIN and (
        _PLAIN_WORDS.match(piece) is not None
        and not ("earer" in piece or "asic" in piece or "dapi" in piece or "cio" in piece)
    )


class _Scan(Struct, frozen=True):
    """The secrets that were found, and what could not be decided yet, with the place that was being judged."""

    secrets: list[Secret]
    undecided: Undecided | None = None
    undecided_at: int = 0


class _Places:
    """The places at which one detector sees a secret begin, from left to right."""

    def __init__(self, text: str, lowered: str, detector: Detector, at: int) -> None:
        self._text, self._lowered, self._detector = text, lowered, detector
        self._found: re.Match[str] | None = None
        self._next = max(at - LONGEST_INTRODUCTION, 0) if detector.can_hold_secrets else at
        self.at = self.begin = -1

    def go_to(self, at: int) -> bool:
        """Go to the first place from `at` on, behind the last one; False where there is none."""
        start = self._next if self._detector.can_hold_secrets else max(at, self._next)
        while (found := self._detector.pattern.search(self._lowered, start)) is not None:
            self.begin, self._next, self._found = found.start(), found.start() + 1, found
            self.at = found.end() if self._detector.can_hold_secrets else found.start()
            if self.at >= at:
                return True
            start = self._next
        return False

    def judge(self, free_at: int, *, is_final: bool) -> SecretVerdict:
        """What begins at the place."""
        assert self._found is not None
        free_at = free_at if free_at <= self.begin else -1
        return self._detector.judge(FoundIntroduction(self._text, self._found, free_at, is_final))


def _scan(text: str, at: int, *, free_at: int, is_final: bool) -> _Scan:
    """Everything from `at` on; `free_at` is where a secret ended before, so that a word begins there."""
    found: list[Secret] = []
    at = max(at, free_at)
    places = [one for one in _all_places(text, at, is_final=is_final) if one.go_to(at)]
    while places:
        first = min(places, key=_where)
        verdict = first.judge(free_at, is_final=is_final)
        if isinstance(verdict, Undecided):
            begin = first.begin
            return _Scan(found, Undecided(_first_start(verdict.start, places, free_at)), begin)
        if verdict is None:
            if not first.go_to(max(first.begin + 1, at)):
                places.remove(first)
            continue
        found.append(verdict)
        if verdict.goes_on is not None:
            break
        at = free_at = verdict.end
        places = [one for one in places if one.at >= free_at or one.go_to(free_at)]
    return _Scan(found)


def _first_start(undecided: int, places: "list[_Places | KeyPlaces]", free_at: int) -> int:
    """From where on a secret may begin: what is undecided may turn out to be none, and then one before it counts."""
    start = undecided
    for one in places:
        while one.at < start:
            verdict = one.judge(free_at, is_final=False)
            if verdict is not None and verdict.start < start:
                start = verdict.start
            if not one.go_to(one.begin + 1):
                break
    return start


def _where(places: "_Places | KeyPlaces") -> tuple[int, int]:
    return places.at, places.begin


def _all_places(text: str, at: int, *, is_final: bool) -> Iterator["_Places | KeyPlaces"]:
    """The detectors of which a sign is in the text, from `at` on."""
    plain = text.encode("ascii", "replace")
    searched = _without_frames(plain) if len(plain) > _MOST_KEPT else plain
    if has_long_run(runs_of(searched, is_final=is_final)):
        yield KeyPlaces(text, runs_of(plain, is_final=is_final))
    lowered = searched.lower()
    found = _signs_in(lowered)
    if found:
        seen = {detector.name: detector for sign in found for detector in _BY_SIGN[sign]}.values()
        readable = plain.decode("ascii").lower()
        for one in seen:
            if not one.marks or any(map(readable.__contains__, one.marks)):
                yield _Places(text, readable, one, at)


def _signs_in(lowered: bytes) -> list[bytes]:
    """The signs that the text holds."""
    gates = {gate for gate in _GATES.values() if gate in lowered}
    return [sign for sign, gate in _GATES.items() if gate in gates and (sign == gate or sign in lowered)]


def _without_frames(plain: bytes) -> bytes:
    """The text with what repeats around the events of a stream cut out, so that it is searched faster.

    The frame is what four lines in the middle have in common at their ends and beginnings. It stays once, as the first
    line, and everywhere else as much of its ends as a sign may share with the text beside it; a run of key characters
    shares nothing with it. So a sign or a long run is in the result wherever it is in the text.
    """
    middle = plain[len(plain) // 2 :][:_FRAMED].splitlines(keepends=True)[1:-1]
    lines = list(islice(filter(bytes.strip, middle), 4))
    if len(lines) < 4:
        return plain
    after = middle[middle.index(lines[0]) + 1]
    blank = b"" if after.strip() else after
    end = _common_beginning([line[::-1] for line in lines])[::-1]
    frame = end + blank + _common_beginning(lines)
    if len(frame) < 4 * _LONGEST_SIGN or frame[0] in RUN_CHARACTERS or frame[-1] in RUN_CHARACTERS:
        return plain
    lowered = frame.lower()
    head = max((size for size in range(_LONGEST_SIGN) if lowered[:size] in _SIGN_ENDS), default=0)
    tail = max((size for size in range(1, _LONGEST_SIGN) if lowered[-size:] in _SIGN_BEGINNINGS), default=0)
    edges = frame[:head] + b"\n" + frame[len(frame) - tail :]
    return frame + b"\n" + plain.replace(frame, edges)


def _common_beginning(lines: list[bytes]) -> bytes:
    first, last = min(lines), max(lines)
    size = min(len(first), len(last))
    differing = int.from_bytes(first[:size], "big") ^ int.from_bytes(last[:size], "big")
    return first[: size - (differing.bit_length() + 7) // 8]


def _safe_end(text: str) -> int:
    """Up to where a secret that goes on is certain: not into what its ending looks at, nor into an escape."""
    end = max(len(text) - LOOKAHEAD, 0)
    while end and text[end - 1] == "\\" and end > len(text) - 4 * LOOKAHEAD:
        end -= 1
    return end
