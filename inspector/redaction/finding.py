"""Finds the secrets of a text, and replaces them by fillers of the same length.

Theory of operation. Every detector lists places at which a secret may begin (a prefix of a key, the name of a
password); the scan takes the leftmost place of all and lets its detector judge it. A secret may begin far behind its
place, so other places between are judged too, and secrets that overlap become one; places within a secret are skipped.
What is found depends on the text alone.

A text that arrives in pieces is scanned by a `Finder`. It judges a place only when the `WINDOW` of text on which the
verdict depends is there, or the text ends: no detector knows of text that is still missing, and however small the
pieces are, each window is scanned once. Until then, the text from that place on is held back; all text before it is
certain. The Finder keeps as much earlier text as detectors look back, so it finds what a scan of the whole text finds.
A scan begins before what is undecided, because introductions overlap; places there that were judged before, without a
secret, are `_Judged` and not judged again.
A secret that reaches the text's end may continue; its `Ending` then searches for the end in later text.

Cost. Most texts have no secret: one pass turns the text into ASCII bytes, one into runs of key characters, of which one
search finds a long one, and each sign of a detector is a search for a literal. Patterns are tried only if one was
found. Each place is judged once, by at most `WINDOW` characters, so the scan is linear.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct, structs

from weaklink.inspector.redaction import names
from weaklink.inspector.redaction.introductions import DETECTORS
from weaklink.inspector.redaction.keys import RUN_CHARACTERS, KeyPlaces, has_long_run, has_prefix, runs_of
from weaklink.inspector.redaction.places import (
    FARTHEST_VALUE,
    LONGEST_INTRODUCTION,
    WINDOW,
    Detector,
    FoundIntroduction,
)
from weaklink.inspector.redaction.secret_values import LOOKAHEAD, Ending, LongerEnding, Secret
from weaklink.inspector.scanning import lazy_pattern, one_of

FILLER = "*"
"""Replaces each character of a secret; no key shape matches it."""

_SECRET_CHARACTER = lazy_pattern(r"\\+[nrt]|\S")
_BLOCK_CHARACTERS = lazy_pattern(r"(\\+[nrt/]|%0[ADad]|&#\w{1,4};)|\\+u[0-9a-fA-F]{4}|[A-Za-z0-9+/=_-]+")
CONTEXT = LONGEST_INTRODUCTION + 128
"""Code points of earlier text that affect decisions on later text."""

_MOST_KEPT = 4 * CONTEXT
_NOTHING: list[Secret] = []
_FILLERS = lazy_pattern(r"\*{3,}")
_SAMPLES = ("a1B2c3D4", "a1b2c3d4", "A1B2C3D4")  # of the alphabets of keys
_UNKNOWN_FILLER = 8
_FRAMED = 4_096  # bytes whose lines are searched for a frame
_SIGN_AHEAD = 24  # no sign and no prefix is longer
_ESCAPED_SIGN_AHEAD = 8 * _SIGN_AHEAD  # the same, with each character as an escape of JSON in JSON
_LONGEST_OPEN_KEY = 256  # a longer word either contains a key already or is none
_MARKED = 64 + _SIGN_AHEAD  # a mark that prose lacks (a colon, a dash, a quote) is at most this far before a value
_PROSE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,.;!?')\n"
_BETWEEN = r" ,;!?')\n"
_PLAIN_WORDS = lazy_pattern(
    rf"[{_BETWEEN}]+(?:(?:[A-Za-z][a-z]{{0,14}}|[0-9]{{1,8}})(?:\.?[{_BETWEEN}]+|\.?\Z))*\Z"
)  # no run is long enough for a key, and the last word begins none
_LONGEST_PLAIN = 1_024
_PROSE_PART = lazy_pattern(one_of(sorted({part.lower() for part in names.PROSE_PARTS})))


def all_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """The secrets by shape, and the matches of a user's patterns (their first group, or all if they have none)."""
    return [*find_secrets(text), *pattern_secrets(text, patterns)]


def without_secrets_of(source: str, text: str) -> str:
    """The text, which may quote from `source`, with the secrets of `source` and of the text itself replaced."""
    for one in find_secrets(source):
        secret = source[one.start : one.end]
        text = text.replace(secret, _filler(secret))
    return replaced(text, find_secrets(text))


def pattern_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """The matches of a user's patterns: their first group, or all if they have none."""
    groups = ((pattern, 1 if pattern.groups else 0) for pattern in patterns)
    return [Secret(*found.span(group)) for pattern, group in groups for found in pattern.finditer(text) if found[group]]


def replaced(text: str, secrets: Iterable[Secret]) -> str:
    """The text with a filler for each character of a secret; white space and escapes of line ends stay."""
    pieces: list[str] = []
    at = 0
    for secret in _disjoint(secrets):
        pieces += (text[at : secret.start], _filler(text[secret.start : secret.end], is_block=secret.is_block))
        at = secret.end
    return "".join((*pieces, text[at:])) if pieces else text


def _filler(secret: str, *, is_block: bool = False) -> str:
    """The filler for a secret, of the same length."""
    if is_block:
        return _BLOCK_CHARACTERS.sub(lambda found: found[1] or FILLER * len(found[0]), secret)
    return _SECRET_CHARACTER.sub(lambda found: FILLER if len(found[0]) == 1 else found[0], secret)


_BY_SIGN = {
    sign.encode(): [one for one in DETECTORS if sign in one.signs] for detector in DETECTORS for sign in detector.signs
}

_SHORTEST_SIGNS = tuple(
    sign
    for sign in sorted(map(bytes.decode, _BY_SIGN))
    if not any(one.decode() in sign for one in _BY_SIGN if one.decode() != sign)
)
"""A text with any sign contains one of these."""
_ANY_SIGN = lazy_pattern(one_of(_SHORTEST_SIGNS))
_WORD_SIGNS = tuple(sign for sign in _BY_SIGN if sign.isalpha())
_FIRST_PARTS = {
    sign: next((part for part in (b":", b"-", b"/", b"(", b">", b"%", b"~", b"_") if part in sign), b"")
    for sign in _BY_SIGN
    if not sign.isalpha()
}
_GATES = [(part, [sign for sign in _FIRST_PARTS if _FIRST_PARTS[sign] == part]) for part in set(_FIRST_PARTS.values())]
"""The other signs, by a character of them that many texts lack, which is found faster than the sign."""
_ONLY_LETTERS = bytes(byte if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
_CLEAN_WORDS: set[bytes] = set()
"""Words of earlier texts that contain no sign: most of a text consists of words that were seen before."""
_MAX_CLEAN_WORDS, _MAX_WORD_CHARS = 32_768, 24
_LONGEST_SIGN = max(map(len, _BY_SIGN))
_SIGN_BEGINNINGS = frozenset(sign[:size] for sign in _BY_SIGN for size in range(1, len(sign)))
_SIGN_ENDS = frozenset(sign[-size:] for sign in _BY_SIGN for size in range(1, len(sign)))
_OPEN_PAIR = lazy_pattern(r"(?<=[\w.+-]:)[^\s:/@\"'`<>\\,;|()]{1,64}(?:@[\w.-]{0,80}(?::[0-9]{0,5})?)?\Z")
"""What may be a password before a host that follows, `user:password@host`, held back until the word ends."""
_OPEN_PAIR_CHARS = 160
_MAX_OVERLAPPING = 16  # secrets that are behind a place which is before one of them
_BATCH = 48  # code points behind a name that are searched together, however small the pieces are


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text, in order, without overlaps. Linear in the text."""
    return _scan(text, 0, None, is_final=True).secrets


def redactions(text: str) -> list[Secret]:
    """Where fillers are in a redacted text, each with the rule that would put it there, `""` if none would.

    Asterisks that were in the text before look the same; short ones without a rule are left out.
    """
    runs = [found.span() for found in _FILLERS.finditer(text)]
    rules: dict[int, str] = {}
    for sample in _SAMPLES if runs else ():
        filled = _FILLERS.sub(lambda found, sample=sample: (sample * len(found[0]))[: len(found[0])], text)  # type: ignore[misc]  # it is bound at once
        for secret in find_secrets(filled):
            rules = {start: secret.rule for start, _ in runs if secret.start <= start < secret.end} | rules
    known = (Secret(start, end, rule=rules.get(start, "")) for start, end in runs)
    return [secret for secret in known if secret.rule or secret.end - secret.start >= _UNKNOWN_FILLER]


def may_hold_secrets(text: str) -> bool:
    """Whether a text has a sign of a detector, or a run that is long enough for a key: most have neither."""
    plain = text.encode("ascii", "replace")
    return has_long_run(runs_of(plain)) or bool(_signs_in(_view(text, plain)))


def _view(text: str, plain: bytes) -> bytes:
    """The view of a text; `plain` is the text in ASCII."""
    return names.view(text).encode("ascii") if names.may_differ(text) else plain.lower()


@lru_cache(maxsize=4_096)
def _is_plain(piece: str) -> bool:
    """Whether a piece is ordinary words that begin no key and no introduction, as most pieces of a stream are."""
    return (
        len(piece) <= _LONGEST_PLAIN
        and _PLAIN_WORDS.match(piece) is not None
        and not any(map(piece.__contains__, names.PROSE_PARTS))
        and not ("dapi" in piece or "cio" in piece)
    )


class Finder:
    """Finds the secrets of a text that arrives in pieces.

    `text` is the part of it that is still needed, `released` how much of that was certain before the last piece,
    `certain` how much is certain now.
    """

    def __init__(self) -> None:
        self.text = ""
        self.released = 0
        self.certain = 0
        self._last: Secret | None = None  # the last secret that ended
        self._undecided_at = 0  # the start of what is undecided; used only while something is held back
        self._alert_to = 0  # an introduction may have begun whose value comes before this position
        self._prose_from = 0  # before this position, a mark may belong to an introduction that continues
        self._searched_to = 0  # for signs
        self._wait_to = 0  # what is undecided waits for so much text
        self._open: Ending | None = None  # the ending of a secret that continues at `released`
        self._judged = _Judged()

    @property
    def _free_at(self) -> int:
        """The end of the last secret."""
        return self._last.end if self._last else 0

    @property
    def is_open(self) -> bool:
        """Whether a secret continues in the next piece."""
        return self._open is not None

    def passes(self, piece: str) -> bool:
        """Accept a piece that is certain at once and has no secret; False, without accepting it, for any other."""
        known = len(self.text)
        if self._open is not None or self.certain != known or known > _MOST_KEPT:
            return False
        is_plain = known >= self._alert_to and _is_plain(piece)
        if is_plain and known < self._prose_from:
            is_plain = not self._sees_sign(piece, known)
        if not is_plain and piece and (self._needs_scan(piece, known) or _begins_pair(self.text, piece)):
            return False
        self.text += piece
        self.released, self.certain = known, known + len(piece)
        return True

    def feed(self, piece: str, *, is_final: bool = False) -> list[Secret]:
        """The secrets in the text that has become certain with this piece; they may begin before it."""
        self.released = released = self.certain
        if released > _MOST_KEPT:
            self._forget()
            released = self.released
        known = len(self.text)
        may_begin_one = bool(piece) and self._needs_scan(piece, known)
        if self._open is None and released == known and not may_begin_one:
            self.text += piece
            self.certain = self._undecided_at = known + len(piece)
            self._hold_pair()
            return _NOTHING
        at = self._search_from()
        self.text += piece
        if len(self.text) < self._wait_to and self._open is None and not is_final:
            return _NOTHING
        found: list[Secret] = []
        if self._open is None or self._continue_secret(self._open, found, is_final=is_final):
            self._look(at, found, is_final=is_final)
        return found

    def remaining(self) -> list[Secret]:
        """The secrets that are not certain yet, as they are if the text ends here. The finder stays as it is."""
        found: list[Secret] = []
        start = self._search_from()
        if self._open is not None:
            start = self._open.end(self.text, self.certain, len(self.text), is_final=True) or len(self.text)
            found.append(Secret(self.certain, start))
        last = found[-1] if found else self._last
        return found + _scan(self.text, start, last, is_final=True).secrets

    def _forget(self) -> None:
        """Drop the released text that no longer matters for later pieces."""
        surplus = min(self.released, self._search_from()) - CONTEXT
        if surplus > 0:
            self.text = self.text[surplus:]
            self.released -= surplus
            self.certain -= surplus
            self._last = self._last and Secret(max(self._last.start - surplus, 0), max(self._last.end - surplus, 0))
            self._undecided_at -= surplus
            self._alert_to -= surplus
            self._prose_from -= surplus
            self._searched_to -= surplus
            self._wait_to -= surplus
            self._judged.forget(surplus)

    def _search_from(self) -> int:
        """The first position at which a secret may begin that is not found yet."""
        first = self._undecided_at if self.released < len(self.text) else self.released
        return max(first - LONGEST_INTRODUCTION, 0)

    def _needs_scan(self, piece: str, known: int) -> bool:
        """Whether the new piece may contain an introduction or a key, or the value of an earlier introduction."""
        plain = (self.text[-_SIGN_AHEAD:] + piece).encode("ascii", "replace")
        is_prose = (
            not plain.translate(None, _PROSE) and piece.isascii() and _PROSE_PART.search(plain.lower().decode()) is None
        )
        end = known + len(piece)
        if not is_prose:
            self._prose_from = end + _SIGN_AHEAD
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
        """Whether a sign is in the text that was not searched before; if so, the next pieces are scanned."""
        behind = _ESCAPED_SIGN_AHEAD if "\\u" in self.text[-_ESCAPED_SIGN_AHEAD:] else _SIGN_AHEAD
        start = max(self._searched_to - behind, known - _MARKED - behind, 0)
        self._searched_to = end = known + len(piece)
        text = self.text[start:] + piece
        lowered = names.view(text) if names.may_differ(text) else text.lower()
        if _ANY_SIGN.search(lowered) is None:
            return False
        self._alert_to = end + LONGEST_INTRODUCTION
        return True

    def _continue_secret(self, ending: Ending, found: list[Secret], *, is_final: bool) -> bool:
        """Continue the open secret; returns whether it ended."""
        start = self.released
        end = ending.end(self.text, start, len(self.text), is_final=is_final)
        if end is None:
            self._stay_in(start, found)
            return False
        found.append(Secret(start, end, None, ending.is_block))
        self._open, self._last = None, Secret(self._last.start if self._last else 0, end)
        return True

    def _look(self, at: int, found: list[Secret], *, is_final: bool) -> None:
        text = self.text
        scan = _scan(text, at, self._last, self._judged, is_final=is_final)
        for secret in scan.secrets:
            if secret.goes_on is not None:
                self._open, self._last = secret.goes_on, Secret(secret.start, secret.start)
                self._stay_in(secret.start, found)
                return
            found.append(secret)
            self._last = secret
        self.certain, self._undecided_at = len(text), len(text)
        if scan.undecided is not None:
            self.certain = max(scan.undecided, self.released, self._free_at)
            self._undecided_at = scan.undecided_at
            self._wait_to = scan.wait_to
        elif not is_final:
            self._wait_to = len(text) + _BATCH
            self._hold_pair()

    def _hold_pair(self) -> None:
        """Hold back what may be a password before a host."""
        start = _open_pair(self.text)
        if start is not None:
            self.certain = max(start, self.released, self._free_at)

    def _stay_in(self, start: int, found: list[Secret]) -> None:
        """Continue a secret that began at `start`: the text that its ending no longer examines is certain."""
        self.certain = self._undecided_at = max(_safe_end(self.text), start)
        found.append(Secret(start, self.certain, None, self._open is not None and self._open.is_block))


class _Scan(Struct, frozen=True):
    """The secrets that were found; where one may begin that is undecided, where to search for it, and what it needs."""

    secrets: list[Secret]
    undecided: int | None = None
    undecided_at: int = 0
    wait_to: int = 0


class _Judged:
    """The secrets behind the places of a text in pieces, each judged once, with all the text that its verdict needs.

    Then all secrets before the place are known, on which a verdict also depends. Places are positions in the whole
    text, of which `forgotten` code points are gone.
    """

    __slots__ = ("forgotten", "places")

    def __init__(self) -> None:
        self.forgotten = 0
        self.places: dict[tuple[int, str], list[Secret]] = {}

    def place(self, begin: int, detector: Detector) -> tuple[int, str]:
        """A place as it is kept in `places`."""
        return begin + self.forgotten, detector.name

    def forget(self, size: int) -> None:
        """The first `size` code points of the text are gone."""
        self.forgotten += size
        self.places = {
            place: [_moved(secret, -size) for secret in secrets]
            for place, secrets in self.places.items()
            if place[0] >= self.forgotten
        }


def _moved(secret: Secret, by: int) -> Secret:
    return structs.replace(secret, start=secret.start + by, end=secret.end + by)


class _Places:
    """The places at which one detector finds an introduction, from left to right."""

    def __init__(
        self, texts: tuple[str, str], detector: Detector, signs: Iterable[str], at: int, judged: _Judged | None
    ) -> None:
        self._text, self._lowered = texts  # and its view
        self._detector, self._judged = detector, judged
        self._found: re.Match[str] | None = None
        self._next = max(at - LONGEST_INTRODUCTION, 0) if detector.can_hold_secrets else at
        self._signs = dict.fromkeys(signs, -1)
        self.at = self.begin = self.value_at = self.decided_at = -1
        self.may_reach_behind = detector.can_hold_secrets

    def go_to(self, at: int) -> bool:
        """Go to the first place at or after `at` and after the last one; False if there is none."""
        start = self._next if self._detector.can_hold_secrets else max(at, self._next)
        while (found := self._search(start)) is not None:
            self.begin, self._next, self._found = found.start(), found.start() + 1, found
            self.at = self.value_at = found.end() if self._detector.can_hold_secrets else found.start()
            self.decided_at = found.end() + WINDOW
            if self.at >= at:
                return True
            start = self._next
        return False

    def _search(self, start: int) -> re.Match[str] | None:
        """The first match from `start` on: around each sign, because nothing is between them."""
        after = start
        while (sign_at := self._next_sign(after)) >= 0:
            pattern, span = self._detector.pattern, self._detector.span
            near = pattern.search(self._lowered, max(after, sign_at - span), sign_at + span) if span else None
            begin = near.start() if near else sign_at
            if (near or not span) and (found := pattern.match(self._lowered, begin)) is not None:
                return found
            after = sign_at + 1
        return None

    def _next_sign(self, start: int) -> int:
        """Where the next sign is, -1 if there is none; signs that are in no later text are searched for no more."""
        signs = self._signs
        for sign in [sign for sign, sign_at in signs.items() if sign_at < start]:
            signs[sign] = self._lowered.find(sign, start)
            if signs[sign] < 0:
                del signs[sign]
        return min(signs.values(), default=-1)

    def judge(self, free_at: int, *, is_final: bool) -> list[Secret]:
        """The secrets behind the current place."""
        assert self._found is not None
        free_at = free_at if free_at <= self.begin else -1
        place = self._judged.place(self.begin, self._detector) if self._judged else None
        if self._judged and place in self._judged.places:
            return self._judged.places[place]
        secrets = self._detector.judge(FoundIntroduction(self._text, self._lowered, self._found, free_at, is_final))
        named = [secret if secret.rule else structs.replace(secret, rule=self._detector.name) for secret in secrets]
        if self._judged and place and not is_final and all(secret.goes_on is None for secret in named):
            self._judged.places[place] = named
        return named


def _scan(text: str, at: int, last: Secret | None, judged: _Judged | None = None, *, is_final: bool) -> _Scan:
    """Scan from `at` on, or from the end of the `last` secret, where a word begins.

    A place within a secret may introduce another secret behind it, as in `password: a token` and then `: b`.
    `judged` are the places of earlier scans.
    """
    found = [(last, last.start)] if last else []  # each with where its introduction begins
    behind_from = at
    if last:
        at = max(at, last.end)
        behind_from = min(behind_from, max(last.start, at - FARTHEST_VALUE))
    places = [
        place
        for place in _all_places(text, at, judged, is_final=is_final)
        if place.go_to(behind_from if place.may_reach_behind else at)
    ]
    while places:
        first = min(places, key=_where)
        near = found[-_MAX_OVERLAPPING:]
        around = [secret for secret, _ in near if _holds(secret, first.at) or _holds(secret, first.begin)]
        free_from = max((at, *(secret.end for secret in around)))
        may_judge = first.may_reach_behind and first.at >= free_from - FARTHEST_VALUE
        if not around or (may_judge and all(secret.goes_on is None for secret in around)):
            if first.decided_at > len(text) and not is_final:
                return _undecided(found, last, places, first)
            free_at = max((secret.end for secret, _ in near if secret.end <= first.begin), default=-1)
            secrets = first.judge(free_at, is_final=is_final)
            found += ((secret, first.begin) for secret in secrets if secret.start >= free_from)
        if not first.go_to(max(first.at + 1, free_from - FARTHEST_VALUE if first.may_reach_behind else free_from)):
            places.remove(first)
    return _Scan(_disjoint(secret for secret, _ in found if secret is not last))


def _holds(secret: Secret, at: int) -> bool:
    return secret.start <= at < secret.end


def _undecided(
    found: list[tuple[Secret, int]],
    last: Secret | None,
    places: "list[_Places | KeyPlaces]",
    first: "_Places | KeyPlaces",
) -> _Scan:
    """What is certain before the first undecided place: a secret that may overlap with a later one is not."""
    start = min(one.value_at for one in places)
    open_ones = [(secret, begin) for secret, begin in found if secret.end > start]
    start = min((start, *(secret.start for secret, _ in open_ones)))
    begin = min((first.begin, *(begin for _, begin in open_ones)))
    certain = (secret for secret, _ in found if secret.end <= start and secret is not last)
    return _Scan(_disjoint(certain), start, begin, first.decided_at)


def _disjoint(secrets: Iterable[Secret]) -> list[Secret]:
    """The secrets in order, those that overlap as one."""
    joined: list[Secret] = []
    for secret in sorted(secrets, key=lambda one: (one.start, -one.end)):
        if not joined or secret.start >= joined[-1].end:
            joined.append(secret)
        elif secret.end > joined[-1].end:
            joined[-1] = structs.replace(joined[-1], end=secret.end, goes_on=secret.goes_on, is_block=False)
        elif secret.goes_on and joined[-1].goes_on and secret.goes_on != joined[-1].goes_on:
            joined[-1] = structs.replace(joined[-1], goes_on=LongerEnding(joined[-1].goes_on, secret.goes_on))
    return joined


def _where(places: "_Places | KeyPlaces") -> tuple[int, int]:
    return places.at, places.begin


def _all_places(text: str, at: int, judged: _Judged | None, *, is_final: bool) -> Iterator["_Places | KeyPlaces"]:
    """The places of keys, and of each detector with a sign in the text."""
    plain = text.encode("ascii", "replace")
    searched = _without_frames(plain) if len(plain) > _MOST_KEPT and text.isascii() else plain
    if has_long_run(runs_of(searched, is_final=is_final)):
        yield KeyPlaces(text, runs_of(plain, is_final=is_final))
    may_differ = names.may_differ(text) and (not text.isascii() or b"\\u" in searched or b"%" in searched)
    lowered = names.view(text).encode("ascii") if may_differ else searched.lower()
    detectors: dict[str, tuple[Detector, list[str]]] = {}
    for sign in _signs_in(lowered):
        for detector in _BY_SIGN[sign]:
            detectors.setdefault(detector.name, (detector, []))[1].append(sign.decode())
    readable = (lowered if may_differ else plain.lower()).decode("ascii") if detectors else ""
    yield from (_Places((text, readable), detector, signs, at, judged) for detector, signs in detectors.values())


def _signs_in(lowered: bytes) -> list[bytes]:
    """The signs in the text: those of letters are searched for in its new words only."""
    words = set(lowered.translate(_ONLY_LETTERS).split()) - _CLEAN_WORDS
    together = b" ".join(words)
    found = [sign for sign in _WORD_SIGNS if sign in together] if words else []
    if len(_CLEAN_WORDS) > _MAX_CLEAN_WORDS:
        _CLEAN_WORDS.clear()
    _CLEAN_WORDS.update(
        word for word in words if len(word) <= _MAX_WORD_CHARS and not any(sign in word for sign in found)
    )
    return found + [sign for gate, signs in _GATES if gate in lowered for sign in signs if sign in lowered]


def _begins_pair(text: str, piece: str) -> bool:
    end = text[-_OPEN_PAIR_CHARS:] + piece
    return ":" in end and _open_pair(end) is not None


def _open_pair(text: str) -> int | None:
    """Where a password may begin before a host that follows: behind the last colon, or that before a port."""
    colon, least = len(text), max(len(text) - _OPEN_PAIR_CHARS, 0)
    for _ in range(2):
        colon = text.rfind(":", least, colon)
        if colon > 0 and _OPEN_PAIR.match(text, colon + 1):
            return colon + 1
    return None


def _without_frames(plain: bytes) -> bytes:
    """The text without what repeats around the events of a stream, so that searching it is faster.

    The frame is what four lines in the middle have in common at their ends and beginnings. It is kept once, as the
    first line; elsewhere, only as much of its ends is kept as a sign may share with the text next to it. A run of key
    characters shares nothing with it. So every sign and every long run in the text is in the result too.
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
    return frame + b"\n" + plain.replace(frame, _edges(frame))


@lru_cache(maxsize=16)
def _edges(frame: bytes) -> bytes:
    """What of a frame a sign may share with the text next to it; the streams of a provider have the same frame."""
    lowered = frame.lower()
    head = max((size for size in range(_LONGEST_SIGN) if lowered[:size] in _SIGN_ENDS), default=0)
    tail = max((size for size in range(1, _LONGEST_SIGN) if lowered[-size:] in _SIGN_BEGINNINGS), default=0)
    return frame[:head] + b"\n" + frame[len(frame) - tail :]


def _common_beginning(lines: list[bytes]) -> bytes:
    first, last = min(lines), max(lines)
    size = min(len(first), len(last))
    differing = int.from_bytes(first[:size], "big") ^ int.from_bytes(last[:size], "big")
    return first[: size - (differing.bit_length() + 7) // 8]


def _safe_end(text: str) -> int:
    """The end of the certain part of a secret that continues: before what its ending examines, and before an escape."""
    end = max(len(text) - LOOKAHEAD, 0)
    while end and text[end - 1] == "\\" and end > len(text) - 4 * LOOKAHEAD:
        end -= 1
    return end
