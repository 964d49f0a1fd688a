"""Values in tnetstrings, as mitmproxy writes them: found where they stand, and only as deep as somebody looks.

A value is `<length>:<payload><kind>` (mitmproxy: mitmproxy/io/tnetstring.py). The payload of a dictionary is keys and
values by turns, that of a list its entries.
"""

import re
from dataclasses import dataclass
from typing import Final

from inspector.text import decode

MAX_ENTRIES = 10_000
"""How many entries of one dictionary or list are read: no flow has so many, and each costs more than its bytes."""

_LENGTH = re.compile(rb"(\d{1,12}):")
_KINDS: Final = {
    b",": "bytes",
    b";": "a text",
    b"#": "an integer",
    b"^": "a number",
    b"!": "a boolean",
    b"~": "null",
    b"}": "a dictionary",
    b"]": "a list",
}
_QUOTED = 20


class MalformedValueError(ValueError):
    """What stands here is no tnetstring, or not of the kind that was asked for; the words say which."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its payload is `raw[start:end]`, `kind` the sign behind it. Nothing within it was looked at yet."""

    raw: bytes
    start: int
    end: int
    kind: bytes

    @property
    def is_null(self) -> bool:
        """Whether nothing stands here."""
        return self.kind == b"~"

    def payload(self) -> bytes:
        """The bytes of a value that is bytes or a text."""
        self._must_be(b",", b";")
        return self.raw[self.start : self.end]

    def text(self) -> str:
        """Those bytes as text."""
        return decode(self.payload())

    def number(self) -> float:
        """An integer or a number, which is finite."""
        self._must_be(b"#", b"^")
        try:
            number = float(self.raw[self.start : min(self.end, self.start + 64)])
        except ValueError:
            number = float("inf")
        if not -1e300 < number < 1e300:
            raise MalformedValueError(f"{_KINDS[self.kind]} at byte {self.start} has no digits that make one")
        return number

    def entries(self) -> "list[Value]":
        """The entries of a list, at most `MAX_ENTRIES`."""
        self._must_be(b"]")
        return self._within()

    def members(self) -> "dict[str, Value]":
        """The members of a dictionary, at most half of `MAX_ENTRIES`; of several of one name the last."""
        self._must_be(b"}")
        found = self._within()
        if len(found) % 2:
            raise MalformedValueError(f"the dictionary at byte {self.start} ends with a key that has no value")
        return {key.text(): value for key, value in zip(found[::2], found[1::2], strict=True)}

    def _within(self) -> "list[Value]":
        found: list[Value] = []
        at = self.start
        while at < self.end:
            if len(found) == MAX_ENTRIES:
                raise MalformedValueError(f"{_KINDS[self.kind]} has more than {MAX_ENTRIES} entries")
            found.append(value_at(self.raw, at, self.end))
            at = found[-1].end + 1
        return found

    def _must_be(self, *kinds: bytes) -> None:
        if self.kind not in kinds:
            raise MalformedValueError(
                f"{_KINDS[self.kind]} stands at byte {self.start} where {_KINDS[kinds[0]]} was expected"
            )


def value_at(raw: bytes, at: int, end: int) -> Value:
    """The value that begins at `at` and ends before `end`; MalformedValueError where none does."""
    length = _LENGTH.match(raw, at, end)
    if length is None:
        found = decode(raw[at : min(at + _QUOTED, end)])
        raise MalformedValueError(f"a length was expected at byte {at}, and {found!r} was found")
    start, stop = length.end(), length.end() + int(length[1])
    kind = raw[stop : stop + 1]
    if stop >= end or kind not in _KINDS:
        raise MalformedValueError(f"the value at byte {at} does not end where its length says")
    return Value(raw, start, stop, kind)
