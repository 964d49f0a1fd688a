"""A user's SQL before it reaches the database: refused in a sentence where it plainly does not read."""

import re

from inspector.errors import StoreError

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|\()*(\w*)", re.DOTALL)
_BEGINS = ("select", "with", "values")
_LONGEST = 100_000


def check_words(text: str) -> None:
    """StoreError where a text is not the beginning of a statement that reads; what it reads, the database decides."""
    if len(text) > _LONGEST:
        raise StoreError(f"the statement has {len(text):,} characters; {_LONGEST:,} are read")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise StoreError("the statement holds NUL or a lone surrogate, which no database reads")
    found = _FIRST_WORD.match(text)
    if found is None or found[1].lower() not in _BEGINS:
        raise StoreError("write one statement that reads: it begins with SELECT, WITH or VALUES")
