"""What is wrong with a filter, and at which character."""

from collections.abc import Iterable
from difflib import get_close_matches

from inspector.errors import WeaklinkError


class FilterError(WeaklinkError):
    """A filter cannot be read; `position` is the character, from 0, at which it goes wrong, its length at the end."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"filter, character {position + 1}: {message}")
        self.position = position


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that this one seems to mean."""
    return next(iter(get_close_matches(word.lower(), list(known), n=1)), None)


def one_of(known: Iterable[str]) -> str:
    """The words in backticks, for a sentence."""
    *others, last = (f"`{word}`" for word in known)
    return f"{', '.join(others)} or {last}" if others else last
