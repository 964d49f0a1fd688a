"""Finds the secrets of a text, and replaces them by fillers of the same length.

Theory of operation. Every detector lists places at which a secret may begin (a prefix of a key, the name of a
password); the scan takes the leftmost place of all, lets its detector judge it, and continues after the secret that was
found, or after the place. So the secrets never overlap, and what is found depends on the text alone. A tag, whose
attributes may contain secrets, is placed at its end, where its value begins. A detector that needs more text to decide
returns the position from which on a secret may begin: all text before it is certain. A secret that reaches the text's
end may continue in later text, in which its `Ending` then searches for the end.

A text that arrives in pieces is scanned by a `Finder`, which keeps as much earlier text as a detector looks back, and
scans again from the first position at which a decision may still be open. It finds what a scan of the whole text finds,
because every decision uses the same characters.

Cost. Most texts have no secret: one pass turns the text into ASCII bytes, one into runs of key characters, of which one
search finds a long one, and a handful of searches find the detectors' signs. Patterns are tried only if something was
found. Each place is judged by at most `_PEEK` characters or becomes a secret that is skipped, so the scan is linear.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct, structs

from weaklink.inspector.redaction import names
from weaklink.inspector.redaction.introductions import DETECTORS
from weaklink.inspector.redaction.keys import RUN_CHARACTERS, KeyPlaces, has_long_run, has_prefix, runs_of
from weaklink.inspector.redaction.places import LONGEST_INTRODUCTION, Detector, FoundIntroduction
from weaklink.inspector.redaction.secret_values import LOOKAHEAD, Ending, Secret, SecretVerdict, Undecided
from weaklink.inspector.scanning import lazy_pattern

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
_LONGEST_OPEN_KEY = 256  # a longer word either contains a key already or is none
_MARKED = 64 + _SIGN_AHEAD  # a mark that prose lacks (a colon, a dash, a quote) is at most this far before a value
_PROSE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,.;!?')\n"
_BETWEEN = r" ,;!?')\n"
_PLAIN_WORDS = lazy_pattern(
    rf"[{_BETWEEN}]+(?:(?:[A-Za-z][a-z]{{0,14}}|[0-9]{{1,8}})(?:\.?[{_BETWEEN}]+|\.?\Z))*\Z"
)  # no run is long enough for a key, and the last word begins none
_LONGEST_PLAIN = 1_024
_PROSE_SIGN = re.compile(rb"pass|ecret|oken|key|redent|otp|pw|dentif|echo|earer|asic", re.IGNORECASE)
"""Parts of names that prose may have before a value without any mark; `Finder.passes` looks for them too."""


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
    for start, end, is_block in _joined(secrets):
        pieces += (text[at:start], _filler(text[start:end], is_block=is_block))
        at = end
    return "".join((*pieces, text[at:])) if pieces else text


def _filler(secret: str, *, is_block: bool = False) -> str:
    """The filler for a secret, of the same length."""
    if is_block:
        return _BLOCK_CHARACTERS.sub(lambda found: found[1] or FILLER * len(found[0]), secret)
    return _SECRET_CHARACTER.sub(lambda found: FILLER if len(found[0]) == 1 else found[0], secret)


def _joined(secrets: Iterable[Secret]) -> Iterator[tuple[int, int, bool]]:
    """The ranges of secrets in order, those that overlap as one."""
    start = end = -1
    is_block = False
    for secret in sorted(secrets, key=lambda secret: (secret.start, secret.end)):
        if secret.start < end:
            end, is_block = max(end, secret.end), is_block and secret.is_block
            continue
        if end >= 0:
            yield start, end, is_block
        start, end, is_block = secret.start, secret.end, secret.is_block
    if end >= 0:
        yield start, end, is_block


_BY_SIGN = {
    sign.encode(): [one for one in DETECTORS if sign in one.signs] for detector in DETECTORS for sign in detector.signs
}

_SIGNS = frozenset(sign for detector in DETECTORS for sign in detector.signs)
_LONGEST_SIGN = max(map(len, _SIGNS))
_SHORTEST_SIGNS = tuple(one for one in sorted(_SIGNS) if not any(other in one for other in _SIGNS - {one}))
"""A text with any sign contains one of these."""
_FIRST_PARTS = {
    sign: next((part for part in (b":", b"~", b"-", b"/", b"pass", sign) if part in sign), sign) for sign in _BY_SIGN
}
_GATES = tuple(
    (gate, tuple(sign for sign, part in _FIRST_PARTS.items() if part == gate))
    for gate in dict.fromkeys(_FIRST_PARTS.values())
)
"""The signs by a part of them to search for first: one byte, which many texts lack, is found far faster than a word."""
_ANY_GATE = lazy_pattern("|".join(sorted(re.escape(gate.decode()) for gate, _ in _GATES)))
_MAX_SEARCHED_CHARS = 400  # of a text in which one pattern for all gates is faster than a search for each
_SIGN_BEGINNINGS = frozenset(sign[:size] for sign in _BY_SIGN for size in range(1, len(sign)))
_SIGN_ENDS = frozenset(sign[-size:] for sign in _BY_SIGN for size in range(1, len(sign)))


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text, in order, without overlaps. Linear in the text."""
    return _scan(text, 0, free_at=-1, is_final=True).secrets


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


def suspect_texts(texts: Sequence[str]) -> list[str]:
    """Those of some short texts that may contain a secret: each has a sign of one, or a long run.

    They are searched together for all signs, and then each separately for the few that were found.
    """
    together = "\n".join(texts)
    plain = together.encode("ascii", "replace")
    has_runs, signs = has_long_run(runs_of(plain)), _signs_in(_view(together, plain))
    if not has_runs and not signs:
        return []
    return [text for text in texts if _is_suspect(text, signs, has_runs=has_runs)]


def _is_suspect(text: str, signs: Sequence[bytes], *, has_runs: bool) -> bool:
    plain = text.encode("ascii", "replace")
    lowered = _view(text, plain)
    return any(sign in lowered for sign in signs) or (has_runs and has_long_run(runs_of(plain)))


def _view(text: str, plain: bytes) -> bytes:
    """The view of a text; `plain` is the text in ASCII."""
    return names.view(text).encode("ascii") if names.may_differ(text) else plain.lower()


class Finder:
    """Finds the secrets of a text that arrives in pieces.

    `text` is the part of it that is still needed, `released` how much of that was certain before the last piece,
    `certain` how much is certain now.
    """

    def __init__(self) -> None:
        self.text = ""
        self.released = 0
        self.certain = 0
        self._free_at = -1  # the end of the last secret
        self._undecided_at = 0  # the start of what is undecided; used only while something is held back
        self._alert_to = 0  # an introduction may have begun whose value comes before this position
        self._prose_from = 0  # before this position, a mark may belong to an introduction that continues
        self._searched_to = 0  # for signs
        self._open: Ending | None = None  # the ending of a secret that continues at `released`

    @property
    def is_open(self) -> bool:
        """Whether a secret continues in the next piece."""
        return self._open is not None

    def passes(self, piece: str) -> bool:
        """Accept a piece that is certain at once and has no secret; False, without accepting it, for any other."""
        known = len(self.text)
        if self._open is not None or self.certain != known or known > _MOST_KEPT:
            return False
        is_plain = (
            known >= self._alert_to
            and len(piece) <= _LONGEST_PLAIN
            and _PLAIN_WORDS.match(piece) is not None
            and not ("earer" in piece or "asic" in piece or "dapi" in piece or "cio" in piece)
            and not ("pass" in piece or "ecret" in piece or "oken" in piece or "key" in piece or "redent" in piece)
            and not ("otp" in piece or "pw" in piece or "dentif" in piece or "echo" in piece)
        )  # ordinary words that begin no key and no introduction: the cheap first test
        if is_plain and known < self._prose_from:
            is_plain = not self._sees_sign(piece, known)
        if not is_plain and piece and self._needs_scan(piece, known):
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
            self.certain = known + len(piece)
            return _NOTHING
        at = self._search_from()
        self.text += piece
        found: list[Secret] = []
        if self._open is None or self._continue_secret(self._open, found, is_final=is_final):
            self._look(at, found, is_final=is_final)
        return found

    def _forget(self) -> None:
        """Drop the released text that no longer matters for later pieces."""
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
        """The first position at which a secret may begin that is not found yet."""
        first = self._undecided_at if self.released < len(self.text) else self.released
        return max(self._free_at, first - LONGEST_INTRODUCTION, 0)

    def _needs_scan(self, piece: str, known: int) -> bool:
        """Whether the new piece may contain an introduction or a key, or the value of an earlier introduction."""
        plain = (self.text[-_SIGN_AHEAD:] + piece).encode("ascii", "replace")
        is_prose = not plain.translate(None, _PROSE) and piece.isascii() and _PROSE_SIGN.search(plain) is None
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
        start = max(self._searched_to - _SIGN_AHEAD, known - _MARKED, 0)
        self._searched_to = end = known + len(piece)
        text = self.text[start:] + piece
        lowered = names.view(text) if names.may_differ(text) else text.lower()
        if not any(map(lowered.__contains__, _SHORTEST_SIGNS)):
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
        """Continue a secret that began at `start`: the text that its ending no longer examines is certain."""
        self.certain = self._undecided_at = max(_safe_end(self.text), start)
        self._free_at = -1
        found.append(Secret(start, self.certain, None, self._open is not None and self._open.is_block))


class _Scan(Struct, frozen=True):
    """The secrets that were found, and what is undecided, with the place that was being judged."""

    secrets: list[Secret]
    undecided: Undecided | None = None
    undecided_at: int = 0


class _Places:
    """The places at which one detector finds an introduction, from left to right."""

    def __init__(self, text: str, lowered: str, detector: Detector, at: int) -> None:
        self._text, self._lowered, self._detector = text, lowered, detector
        self._found: re.Match[str] | None = None
        self._next = max(at - LONGEST_INTRODUCTION, 0) if detector.can_hold_secrets else at
        self.at = self.begin = -1

    def go_to(self, at: int) -> bool:
        """Go to the first place at or after `at` and after the last one; False if there is none."""
        start = self._next if self._detector.can_hold_secrets else max(at, self._next)
        while (found := self._detector.pattern.search(self._lowered, start)) is not None:
            self.begin, self._next, self._found = found.start(), found.start() + 1, found
            self.at = found.end() if self._detector.can_hold_secrets else found.start()
            if self.at >= at:
                return True
            start = self._next
        return False

    def judge(self, free_at: int, *, is_final: bool) -> SecretVerdict:
        """The verdict on the current place."""
        assert self._found is not None
        free_at = free_at if free_at <= self.begin else -1
        verdict = self._detector.judge(FoundIntroduction(self._text, self._lowered, self._found, free_at, is_final))
        if isinstance(verdict, Secret) and not verdict.rule:
            return structs.replace(verdict, rule=self._detector.name)
        return verdict


def _scan(text: str, at: int, *, free_at: int, is_final: bool) -> _Scan:
    """Scan from `at` on; `free_at` is the end of an earlier secret, so that a word begins there."""
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
    """The first position at which a secret may begin: if the undecided one is none, an earlier one may count."""
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
    """The places of keys, and of each detector with a sign in the text."""
    plain = text.encode("ascii", "replace")
    searched = _without_frames(plain) if len(plain) > _MOST_KEPT else plain
    may_differ = b"\\u" in searched or b"%" in searched or not text.isascii()
    readable = names.view(text) if may_differ else ""
    if has_long_run(runs_of(searched, is_final=is_final)):
        yield KeyPlaces(text, runs_of(plain, is_final=is_final))
    found = _signs_in(readable.encode("ascii") if names.OTHER in readable else searched.lower())
    if found:
        seen = {detector.name: detector for sign in found for detector in _BY_SIGN[sign]}.values()
        readable = readable or plain.decode("ascii").lower()
        for one in seen:
            may_follow = not is_final and not one.can_hold_secrets
            if not one.marks or may_follow or any(map(readable.__contains__, one.marks)):
                yield _Places(text, readable, one, at)


def _signs_in(lowered: bytes) -> list[bytes]:
    """The signs in the text."""
    if len(lowered) < _MAX_SEARCHED_CHARS and _ANY_GATE.search(lowered.decode("ascii")) is None:
        return []
    return [sign for gate, signs in _GATES if gate in lowered for sign in signs if sign == gate or sign in lowered]


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
