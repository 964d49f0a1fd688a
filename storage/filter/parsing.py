"""Reads a filter: words, "quoted phrases" and `key:value`, under `and`, `or`, `not` and parentheses."""

from storage.filter.failing import FilterError
from storage.filter.terms import Filter

LONGEST = 10_000
"""Characters of a filter."""


def parse_filter(text: str) -> Filter:
    """What a filter says; an empty one lets everything through. FilterError where it cannot be read."""
    if not text.strip():
        return ()
    if len(text) > LONGEST:
        raise FilterError(f"a filter has at most {LONGEST:,} characters, and this one has {len(text):,}", LONGEST)
    # Only here: Lark takes 40 ms to load, and most of what uses a store asks for no filter.
    from storage.filter.grammar import read  # noqa: PLC0415

    return read(text)


def check_filter(text: str) -> FilterError | None:
    """What is wrong with a filter, None where it can be read: for a line that shows so while it is written."""
    try:
        parse_filter(text)
    except FilterError as error:
        return error
    return None
