"""Keys that their prefix identifies, found in the long runs of key characters of a text.

A prefix counts where a word begins: at the text's beginning, behind any sign that is no letter or digit, and behind an
escape, whose last letter is no part of the word after it: a line end in JSON at any level, `%0A`, a colour of a
terminal. Within a long run of key characters a dash begins no word, since such a run is a value of its own.
"""

import re
from functools import cache

from inspector.redaction.endings import PatternRun
from inspector.redaction.shapes import KEYS, SHORTEST_KEY, Key
from inspector.redaction.verdicts import Secret, Undecided, Verdict
from inspector.redaction.words import has_random_segment, looks_random

RUN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+/=~"
_RUNS = bytes(97 if byte in RUN_CHARACTERS else 32 for byte in range(256))
_RUN = b"a" * SHORTEST_KEY

_LOOK = 64
_LONGEST_TOKEN_PART = 1_024
_ESCAPE_END = re.compile(
    r"""(?:\\[nrtbfvae0] | \\u[0-9a-f]{4} | \\U[0-9a-f]{8} | \\x[0-9a-f]{2} | \\[0-7]{1,3} | %(?:25)*[0-9a-f]{2}
    | =(?:3D|0A|0D|20|22) | \[[0-9;]{0,8}m)\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_BLOB = re.compile(r"[A-Za-z0-9_-]{40}\Z")
_TOKEN_PART = re.compile(r"[A-Za-z0-9_-]*")
_TOKEN_REST = re.compile(r"[A-Za-z0-9_.-]*")


def runs_of(plain: bytes, *, is_final: bool = True) -> bytes:
    """A text in ASCII with `a` for every key character and a blank for every other.

    Unless it `is_final` a run follows, since the one at the text's end may go on.
    """
    runs = plain.translate(_RUNS)
    return runs if is_final else runs + _RUN


def has_long_run(runs: bytes) -> bool:
    """Is a run long enough for a key."""
    return _RUN in runs


def begins_word(text: str, at: int, free_at: int = -1) -> bool:
    """Whether a word begins at that place, also behind an escape or a secret, the last of which ended at `free_at`."""
    if at in {0, free_at}:
        return True
    before = text[at - 1]
    if before.isascii() and before.isalnum():
        return _ESCAPE_END.search(text, max(at - 16, 0), at) is not None
    return before not in "_-" or _BLOB.search(text, max(at - 40, free_at, 0), at) is None


class KeyPlaces:
    """The places at which a prefix of a key stands in a run that is long enough for one."""

    def __init__(self, text: str, runs: bytes) -> None:
        self._text, self._runs = text, runs
        self._run_end = 0
        self.at = -1

    def go_to(self, at: int) -> bool:
        """Go to the first place from `at` on, which never lies before the last one; False where there is none."""
        while True:
            if at >= self._run_end:
                at = self._runs.find(_RUN, at)
                if at < 0:
                    return False
                end = self._runs.find(b" ", at)
                self._run_end = len(self._runs) if end < 0 else end
            found = _prefixes().search(self._text, at, min(self._run_end, len(self._text)))
            if found is not None:
                self.at = found.start()
                return True
            at = self._run_end

    def judge(self, free_at: int, *, is_final: bool) -> Verdict:
        """The key that begins at the place."""
        return judge_key(self._text, self.at, free_at=free_at, is_final=is_final)


def judge_key(text: str, at: int, *, free_at: int, is_final: bool) -> Verdict:
    """The key that begins at that place, if one does."""
    begins = begins_word(text, at, free_at)
    keys = [one for one in _by_first()[text[at]] if text.startswith(one.prefix, at) and (begins or one.is_free)]
    verdicts = [_judge(key, text, at + len(key.prefix), is_final=is_final) for key in keys]
    possible = [one for one in verdicts if one is not None]
    if possible:  # where the longest prefix is undecided, a shorter one may count in the end
        return possible[0] if isinstance(possible[0], Secret) else Undecided(min(one.start for one in possible))
    if not begins:
        return None
    if text.startswith("eyJ", at):
        return _judge_token(text, at + 3, is_final=is_final)
    return _judge_discord(text, at, is_final=is_final)


def has_prefix(text: str, start: int) -> bool:
    """Whether a prefix of a key stands behind `start`."""
    return _prefixes().search(text, start) is not None


def _judge(key: Key, text: str, start: int, *, is_final: bool) -> Verdict:
    run = _run(key.secret)
    look = max(key.at_least, _LOOK)
    end = run.pattern.match(text, start, start + look).end()  # type: ignore[union-attr]  # it may match nothing
    body = text[start:end]
    is_open = end == len(text) and end < start + look and not is_final
    if len(body) >= key.at_least and (not key.must_mix or has_random_segment(body)):
        return Secret.of(text, start, run, is_final=is_final)
    return Undecided(start) if is_open else None


def _judge_token(text: str, start: int, *, is_final: bool) -> Verdict:
    """A JSON Web Token: two parts or more with dots between."""
    end = _TOKEN_PART.match(text, start, start + _LONGEST_TOKEN_PART).end()  # type: ignore[union-attr]  # the same
    if end == len(text) and end < start + _LONGEST_TOKEN_PART and not is_final:
        return Undecided(start)
    if end - start < 10 or not text.startswith(".", end):
        return None
    second = _TOKEN_PART.match(text, end + 1, end + 33).end()  # type: ignore[union-attr]  # the same
    if second - end < 12:
        return Undecided(start) if second == len(text) and not is_final else None
    return Secret.of(text, start, PatternRun(_TOKEN_REST), is_final=is_final)


def _judge_discord(text: str, at: int, *, is_final: bool) -> Verdict:
    """A Discord bot token: the bot's id in base 64, which stays readable, a time and a signature."""
    found = _discord_id().match(text, at)
    if found is None:
        return None
    start = found.end()
    body = _TOKEN_REST.match(text, start, start + 34)[0]  # type: ignore[index]  # the same
    if len(body) == 34 and body[6] == "." and "." not in body[:6] + body[7:] and looks_random(body):
        return Secret.of(text, start, PatternRun(_TOKEN_REST), is_final=is_final)
    return Undecided(start) if start + len(body) == len(text) and len(body) < 34 and not is_final else None


@cache
def _run(characters: str) -> PatternRun:
    return PatternRun(re.compile(f"[{characters}]*"))


@cache
def _discord_id() -> re.Pattern[str]:
    return re.compile(r"[MNO][A-Za-z0-9_-]{22,27}\.")


@cache
def _by_first() -> dict[str, tuple[Key, ...]]:
    keys = sorted(KEYS, key=lambda key: -len(key.prefix))
    firsts = {key.prefix[0] for key in KEYS} | set("eMNO")
    return {first: tuple(key for key in keys if key.prefix[0] == first) for first in firsts}


@cache
def _prefixes() -> re.Pattern[str]:
    """Any prefix, the ways on from each first letter together, so that most letters are passed over at once."""
    ways = [
        f"{re.escape(first)}(?:{'|'.join(re.escape(key.prefix[1:]) for key in keys)})"
        for first, keys in sorted(_by_first().items())
        if keys
    ]
    return re.compile("|".join((*ways, "eyJ", r"[MNO](?=[A-Za-z0-9_-]{22,27}\.)")))
