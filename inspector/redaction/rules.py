"""The tables of redaction, read from `rules.toml` once: its head says how they are written."""

import re
import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern, one_of

MAX_INTRODUCTION_CHARS = 512
"""The longest match of a detector's pattern, in code points."""
LOOKAHEAD = 176
"""In code points: what is further than this before the text's end is decided."""
PEEK = 128  # code points of a value that are examined
AHEAD = PEEK + LOOKAHEAD
FARTHEST_VALUE = 340
"""Code points from an introduction to its value, at most."""
WINDOW = AHEAD + FARTHEST_VALUE
"""Code points after an introduction of which a verdict depends, however the text is cut."""


class DetectorRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A detector as it is in the table; see `introductions.Detector`."""

    name: str
    signs: tuple[str, ...]
    pattern: str
    judge: str
    can_hold_secrets: bool = False
    span: int = MAX_INTRODUCTION_CHARS
    longest: int = MAX_INTRODUCTION_CHARS
    window: int = WINDOW
    is_exact: bool = False


class _Rules(Struct, frozen=True, forbid_unknown_fields=True):
    keys: str
    characters: dict[str, str]
    words: dict[str, str]
    relations: dict[str, str]
    commands: dict[str, str]
    runs: dict[str, tuple[str, str, int]]
    patterns: dict[str, str]
    detectors: tuple[DetectorRule, ...]


RULES = msgspec.convert(
    tomllib.loads(files("weaklink.inspector.redaction").joinpath("rules.toml").read_text("utf-8")), _Rules
)
_PART = re.compile(r"\{([A-Z_]+)\}")


def words(name: str) -> tuple[str, ...]:
    """A list of words."""
    return tuple(re.split(r",\s+", RULES.words[name].strip()))


def pattern(text: str) -> str:
    """A pattern of the table, as one line, with the parts in it."""
    line = "".join(map(str.strip, text.splitlines())) if "\n" in text else text
    return _PART.sub(lambda found: part(found[1]), line)


def part(name: str) -> str:
    """A part of patterns; `WORDS` are the last words of names."""
    names = (*words("passwords"), *words("names"))
    return one_of(names) if name == "WORDS" else pattern(RULES.patterns[name])


class _Patterns:
    """The patterns of the judges as attributes; each is compiled at its first use."""

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name not in RULES.patterns:
            raise AttributeError(name)
        self.__dict__[name] = made = lazy_pattern(pattern(RULES.patterns[name]))
        return made


PATTERNS = _Patterns()
