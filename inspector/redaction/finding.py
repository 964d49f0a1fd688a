"""Finds the secrets of a text, and replaces them by fillers of the same length.

Theory of operation. Every detector lists places at which a secret may begin (a prefix of a key, the name of a
password); the scan takes the leftmost place of all and lets its detector judge it. A secret may begin far behind its
place, so other places between are judged too, and secrets that overlap become one; places within a secret are skipped.
What is found depends on the text alone.

A text that arrives in pieces is scanned by a `Finder`. It judges a place only when the `WINDOW` of text on which the
verdict depends is there, or the text ends: no detector knows of text that is still missing. Until then, the text from
that place on is held back; all text before it is certain. The Finder keeps as much earlier text as detectors look back,
so it finds what a scan of the whole text finds. A scan goes on a little before where the last one ended, because
introductions overlap; it remembers the places there that it judged, so each is judged once.
A secret that reaches the text's end may continue; its `Ending` then searches for the end in later text.

Cost. Most texts have no secret: two automata find the signs of all detectors and the prefixes of all keys, and patterns
are tried only around those. Each place is judged once, by at most `WINDOW` characters, so the scan is linear. A long
text, such as a request with all messages so far, is scanned where it differs from an earlier one (`share`).
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import repeat
from operator import attrgetter, itemgetter
from sys import maxsize

from ahocorasick_rs import BytesAhoCorasick, Implementation
from msgspec import Struct, structs

from weaklink.inspector.redaction import names
from weaklink.inspector.redaction.introductions import DETECTORS, Detector
from weaklink.inspector.redaction.rules import FARTHEST_VALUE, LOOKAHEAD, MAX_INTRODUCTION_CHARS, WINDOW
from weaklink.inspector.redaction.secret_values import FoundIntroduction, Secret
from weaklink.inspector.scanning import lazy_pattern

FILLER = "*"
"""Replaces each character of a secret; no key shape matches it."""

_SECRET_CHARACTER = lazy_pattern(r"(\\+[nrt])|\S")
_BLOCK_CHARACTERS = lazy_pattern(r"(\\+[nrt/]|%0[ADad]|&#\w{1,4};)|\\+u[0-9a-fA-F]{4}|[A-Za-z0-9+/=_-]+")
CONTEXT = MAX_INTRODUCTION_CHARS + 128
"""Code points of earlier text that affect decisions on later text."""

_MAX_KEPT_CHARS = 4 * CONTEXT
_SIGN_AHEAD = max(len(sign) for detector in DETECTORS for sign in detector.rule.signs)
_SHORT = 1_024  # a text that is searched for any sign before it is scanned
_ESCAPED_SIGN_AHEAD = 8 * _SIGN_AHEAD  # the same, with each character as an escape of JSON in JSON


def pattern_secrets(text: str, patterns: Sequence[re.Pattern[str]]) -> list[Secret]:
    """The matches of a user's patterns: their first group, or all if they have none."""
    groups = ((pattern, 1 if pattern.groups else 0) for pattern in patterns)
    return [Secret(*match.span(group)) for pattern, group in groups for match in pattern.finditer(text) if match[group]]


def replaced(text: str, secrets: Iterable[Secret]) -> str:
    """The text with a filler for each character of a secret; white space and escapes of line ends stay."""
    pieces: list[str] = []
    at = 0
    for secret in _disjoint(secrets):
        secret_characters = _BLOCK_CHARACTERS if secret.is_block else _SECRET_CHARACTER
        value = text[secret.start : secret.end]
        filler = secret_characters.sub(lambda found: found[1] or FILLER * len(found[0]), value)
        pieces += (text[at : secret.start], filler)
        at = secret.end
    return "".join((*pieces, text[at:])) if pieces else text


_OPEN_PAIR = lazy_pattern(r":(?<=[\w.+-]:)[^\s:/@\"'`<>\\,;|()]{1,64}(?:@[\w.-]{0,80}(?::[0-9]{0,5})?)?\Z")
"""What may be a password before a host that follows, `user:password@host`, held back until the word ends."""
_OPEN_PAIR_CHARS, _MAX_OVERLAPPING = 160, 16  # the latter: secrets behind a place which is before one of them
_DEPENDENT_CHARS = WINDOW + 2 * MAX_INTRODUCTION_CHARS  # before a change of the text, in which places are judged again
_BATCH = 160  # code points behind a name that are searched together, however small the pieces are


def find_secrets(text: str) -> list[Secret]:
    """The secrets of a text, in order, without overlaps. Linear in the text."""
    return next(secrets_of([text]))[1]


def secrets_of(texts: Iterable[str]) -> Iterator[tuple[str, list[Secret]]]:
    """Each text with its secrets; of most short ones, a search for signs says that they have none."""
    for text in texts:
        if len(text) <= _SHORT and _is_plain(text) and not _OF_ANY.starts(f"{text}\0{text.lower()}"):
            yield text, []
            continue
        finder = Finder(text)
        finder.scan(is_final=True)
        yield text, finder.found()


def _is_plain(text: str) -> bool:
    """Whether a text in lower case is its view."""
    return text.isascii() and "%" not in text and "\\u" not in text.lower()


def _shared_length(text: str, other: str) -> int:
    """How many characters both begin with, by bisection: comparing a slice costs less than a character in Python."""
    low, high = 0, min(len(text), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if text.startswith(other[low:middle], low) else (low, middle)
    return low


class _Signs:
    """Finds the signs of detectors in a text, all at once: one pass of some 2 ns a character."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self._detectors = tuple(detectors)
        self._signs = [(sign, number) for number, known in enumerate(self._detectors) for sign in known.rule.signs]

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        return BytesAhoCorasick([sign.encode() for sign, _ in self._signs], implementation=Implementation.DFA)

    def starts(self, text: str) -> list[int]:
        """Where signs begin in a text; of those that overlap, one."""
        return [start for _, start, _ in self._automaton.find_matches_as_indexes(text.encode("ascii", "replace"))]

    def in_text(self, text: str, first: int) -> Iterable[tuple[Detector, list[int]]]:
        """The detectors that have signs at or after `first`, and where these begin, in order."""
        starts: defaultdict[int, set[int]] = defaultdict(set)
        searched = text[first:].encode("ascii", "replace")
        for sign, start, _ in self._automaton.find_matches_as_indexes(searched, overlapping=True):
            starts[self._signs[sign][1]].add(first + start)
        return [(self._detectors[number], sorted(begins)) for number, begins in starts.items()]


_OF_VIEW = _Signs(detector for detector in DETECTORS if not detector.rule.is_exact)
_OF_TEXT = _Signs(detector for detector in DETECTORS if detector.rule.is_exact)
_OF_ANY = _Signs(DETECTORS)


class Finder:
    """Finds the secrets of a text that arrives in pieces.

    `text` is the part of it that is still needed, `released` how much of that was certain before the last piece,
    `certain` how much is certain now. `open` is the secret that continues there, if one does. `located` are the secrets
    that were found, each with where its introduction begins.
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.released = 0
        self.certain = 0
        self._at = 0  # places before it are judged, and those in `_judged`: where they begin, and by which detector
        self._judged: frozenset[tuple[int, str]] = frozenset()
        self._to, self._behind = maxsize, list[tuple[Secret, int]]()  # secrets from that position on are known
        self.located: list[tuple[Secret, int]] = []
        self._alert_to = 0  # an introduction may have begun whose value comes before this position
        self._wait_to = 0  # what is undecided waits for so much text
        self.open: Secret | None = None

    def share(self, others: Iterable["Finder"]) -> None:
        """Pass over the beginning and the end that this whole text has in common with that of another finder.

        The other one's secrets there are those of this text too, as far as no decision depends on what differs.
        """
        lengths = ((_shared_length(self.text, other.text), other) for other in others)
        length, other = max(lengths, key=itemgetter(0), default=(0, self))
        at = length - _DEPENDENT_CHARS
        for secret, begin in reversed(other.located):  # one that reaches the difference is found again
            at = min(at, begin - CONTEXT) if secret.end > at else at
        if at <= 0:
            return
        self._at = at
        self.located = [(secret, begin) for secret, begin in other.located if secret.end <= at]
        shift = len(self.text) - len(other.text)
        end = len(other.text) - _shared_length(self.text[length:][::-1], other.text[length:][::-1]) + CONTEXT
        if not any(begin < end < secret.end for secret, begin in other.located):
            self._to = end + shift + CONTEXT  # the signs of what begins before are up to there
            self._behind = [(_moved(known, shift), begin + shift) for known, begin in other.located if begin >= end]

    def feed(self, piece: str, *, is_final: bool = False) -> list[Secret]:
        """The secrets in the text that has become certain with this piece; they may begin before it."""
        self.released = self.certain
        if self.released > _MAX_KEPT_CHARS:
            self._forget()
        known = len(self.text)
        if not piece and self.certain == known and self.open is None:
            return []
        is_calm = bool(piece) and not self._may_begin_secret(piece, known)
        self.text += piece
        if self.open is None and self.released == known:
            self._at = max(self._at, known - MAX_INTRODUCTION_CHARS)  # nothing is undecided before
            if is_calm:
                self.certain = len(self.text)
                self._hold_pair()
                return []
        if len(self.text) < self._wait_to and self.open is None and not is_final:
            return []
        secrets: list[Secret] = []
        if self.open is None or self._continue_secret(self.open, secrets, is_final=is_final):
            self._look(secrets, is_final=is_final)
        return secrets

    def remaining(self) -> list[Secret]:
        """The secrets that are not certain yet, as they are if the text ends here. The finder stays as it is."""
        ended = copy(self)
        secrets = ended.feed("", is_final=True)
        return [_moved(secret, len(self.text) - len(ended.text)) for secret in secrets]

    def _forget(self) -> None:
        """Drop the released text that no longer matters for later pieces."""
        surplus = min(self.released, self._at) - CONTEXT
        if surplus > 0:
            self.text = self.text[surplus:]
            self.open = self.open and _moved(self.open, -surplus)
            self.located = [(_moved(held, -surplus), at - surplus) for held, at in self.located if held.end > surplus]
            self._judged = frozenset((begin - surplus, name) for begin, name in self._judged)
            for position in ("released", "certain", "_at", "_alert_to", "_wait_to"):
                setattr(self, position, getattr(self, position) - surplus)

    def _may_begin_secret(self, piece: str, known: int) -> bool:
        """Whether the new piece may contain an introduction or a key, or the value of an earlier introduction."""
        near = self.text[-_ESCAPED_SIGN_AHEAD:] + piece
        new = near if "\\u" in near or "%" in near else near[-len(piece) - _SIGN_AHEAD :]
        if _is_plain(new) and not _OF_ANY.starts(f"{new}\n{new.lower()}"):
            return known < self._alert_to
        if _OF_VIEW.starts(names.view(new)):
            self._alert_to = known + len(piece) + MAX_INTRODUCTION_CHARS
        return known < self._alert_to or bool(_OF_TEXT.starts(new))

    def _continue_secret(self, secret: Secret, secrets: list[Secret], *, is_final: bool) -> bool:
        """Continue the open secret; returns whether it ended."""
        start = self.released
        ends = [ending.end(self.text, start, len(self.text), is_final=is_final) for ending in secret.goes_on]
        end = None if None in ends else max(end for end in ends if end is not None)
        self.certain = max(_safe_end(self.text), start) if end is None else end
        secrets.append(Secret(start, self.certain, is_block=secret.is_block))
        if end is not None:
            self.open = None
            closed = structs.replace(secret, end=end, goes_on=())
            self.located = [*(known for known in self.located if not known[0].goes_on), (closed, secret.start)]
            self._at = secret.start
        return end is not None

    def found(self) -> list[Secret]:
        """The secrets that were found up to now, in order, without overlaps."""
        return _disjoint(secret for secret, _ in self.located)

    def scan(self, *, is_final: bool) -> "_Suspect | None":
        """Judge the places up to the first that needs more text than there is, and return that one.

        A place within a secret may introduce another secret behind it, as in `password: a token` and then `: b`.
        """
        text = self.text
        found = [(secret, begin) for secret, begin in self.located if not secret.goes_on]
        judged = set(self._judged)
        farthest = max((secret.end for secret, _ in found), default=-1)
        undecided = None
        for place in _places(text, self._at, self._to, is_final=is_final):
            free_from, free_at = 0, farthest
            if place.begin < farthest:
                near = found[-_MAX_OVERLAPPING:]
                edges = (place.at, place.begin)
                around = [secret for secret, _ in near if any(secret.start <= edge < secret.end for edge in edges)]
                free_from = max((0, *(secret.end for secret in around)))
                free_at = max((secret.end for secret, _ in near if secret.end <= place.begin), default=-1)
                reaches = place.detector.rule.can_hold_secrets and not any(secret.goes_on for secret in around)
                if around and not (reaches and place.at >= free_from - FARTHEST_VALUE):
                    continue
            if (place.begin, place.detector.rule.name) in judged:
                continue
            if place.end + place.detector.rule.window > len(text) and not is_final:
                undecided = place
                break
            behind = place.judge(text, free_at, is_final=is_final)
            secrets = [secret for secret in behind if secret.start >= free_from]
            found += ((secret, place.begin) for secret in secrets)
            farthest = max((farthest, *(secret.end for secret in secrets)))
            if not any(secret.goes_on for secret in secrets):
                judged.add((place.begin, place.detector.rule.name))
        open_at = (begin for secret, begin in found if secret.goes_on)
        self._at = max(min((len(text) - MAX_INTRODUCTION_CHARS, undecided.at if undecided else len(text), *open_at)), 0)
        self.located = found + self._behind
        self._judged = frozenset(place for place in judged if place[0] >= self._at - MAX_INTRODUCTION_CHARS)
        return undecided

    def _look(self, secrets: list[Secret], *, is_final: bool) -> None:
        """Scan, and add the secrets that are certain now, but for those that are the end of an open one."""
        released = max((self.released, *(secret.end for secret in secrets)))
        undecided = self.scan(is_final=is_final)
        found = self.found()
        self.certain = len(self.text)
        if undecided is not None:
            begins = (secret.start for secret in found if secret.end > undecided.at)
            self.certain = max(released, min((undecided.at, *begins)))
            self._hold_pair()
            decided_at = undecided.end + undecided.detector.rule.window
            self._wait_to = decided_at + (_BATCH if len(self.text) - self.certain > _BATCH else 0)
        elif found and found[-1].goes_on:
            self.open = found[-1]
            self.certain = max(_safe_end(self.text), self.open.start)
        elif not is_final:
            self._wait_to = len(self.text) + _BATCH
            self._hold_pair()
        secrets += [
            structs.replace(secret, end=min(secret.end, self.certain), goes_on=())
            for secret in found
            if secret.start >= released and (secret.end <= self.certain or secret is self.open)
        ]

    def _hold_pair(self) -> None:
        """Hold back what may be a password before a host."""
        pair = _OPEN_PAIR.search(self.text, max(len(self.text) - _OPEN_PAIR_CHARS, 0))
        if pair is not None and pair.start() + 1 < self.certain:
            ends = (secret.end for secret, _ in self.located if secret.end <= self.certain)
            self.certain = max((pair.start() + 1, self.released, *ends))


def _moved(secret: Secret, by: int) -> Secret:
    return structs.replace(secret, start=secret.start + by, end=secret.end + by)


class _Suspect(Struct, frozen=True):
    """Where a detector finds an introduction: it is judged at `at`, and begins and ends where the match does."""

    at: int
    begin: int
    end: int
    detector: Detector
    match: re.Match[str]
    view: str

    def judge(self, text: str, free_at: int, *, is_final: bool) -> list[Secret]:
        """The secrets that it introduces."""
        free_at = free_at if free_at <= self.begin else -1
        secrets = self.detector.judge(FoundIntroduction(text, self.view, self.match, free_at, is_final))
        return [secret if secret.rule else structs.replace(secret, rule=self.detector.rule.name) for secret in secrets]


def _places(text: str, at: int, to: int, *, is_final: bool) -> list[_Suspect]:
    """The places of all detectors from `at` on, whose signs are before `to`, from left to right.

    A detector has one at each position only, and those that introduce nothing are not among them.
    """
    view, first = names.view(text), max(at - MAX_INTRODUCTION_CHARS, 0)
    decided = len(text) - (0 if is_final else WINDOW)
    suspects: list[_Suspect] = []
    for detector, signs in (*_OF_VIEW.in_text(view, first), *_OF_TEXT.in_text(text, first)):
        holds, is_idle, last = detector.rule.can_hold_secrets, detector.is_idle, at - 1
        longest = MAX_INTRODUCTION_CHARS if names.OTHER in view else detector.rule.longest
        start = max(at - longest, 0) if holds else at
        new = signs[bisect_left(signs, start) : bisect_left(signs, to)]
        for match in _matches(detector, text if detector.rule.is_exact else view, new, start):
            begin, end = match.span()
            is_new = (end if holds else begin) > last
            if is_new and not (is_idle and end <= decided and is_idle(view, match)):
                last = end if holds else begin
                suspects.append(_Suspect(last, begin, end, detector, match, view))
    suspects.sort(key=attrgetter("at", "begin"))
    return suspects


def _matches(detector: Detector, text: str, signs: list[int], start: int) -> Iterator[re.Match[str]]:
    """The matches around each sign."""
    pattern, span = detector.pattern, detector.rule.span
    if not span:
        yield from filter(None, map(pattern.match, repeat(text), signs))
        return
    for sign_at in signs:
        while sign_at >= start:
            near = pattern.search(text, max(start, sign_at - span), sign_at + span)
            match = pattern.match(text, near.start()) if near else None
            if match is None:
                break
            yield match
            start = match.start() + 1
        start = max(start, sign_at + 1)


def _disjoint(secrets: Iterable[Secret]) -> list[Secret]:
    """The secrets in order, those that overlap as one."""
    joined: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end)):
        if not joined or secret.start >= joined[-1].end:
            joined.append(secret)
        elif secret.end > joined[-1].end:
            joined[-1] = structs.replace(joined[-1], end=secret.end, goes_on=secret.goes_on, is_block=False)
        elif secret.goes_on and joined[-1].goes_on:
            endings = dict.fromkeys((*joined[-1].goes_on, *secret.goes_on))
            joined[-1] = structs.replace(joined[-1], goes_on=tuple(endings))
    return joined


def _safe_end(text: str) -> int:
    """The end of the certain part of a secret that continues: before what its ending examines, and before an escape."""
    end = max(len(text) - LOOKAHEAD, 0)
    while end and text[end - 1] == "\\" and end > len(text) - 4 * LOOKAHEAD:
        end -= 1
    return end
