"""Ranges of the indexes that know texts without regard to case: all that begin with a text, or are equal to one.

Theory of operation. A name and an external id are matched by ILIKE, which is all there is for a star within a pattern.
With a star at its end alone, or without one, what a pattern matches is one range of an index whose order is that of
characters, upper case as lower case: `NOCASE` on SQLite, `lower(...) COLLATE "C"` on PostgreSQL, whose own collations
have other orders. A range may hold a little more than the pattern matches, so ILIKE is applied to what it holds.
"""

import sqlalchemy as sa

from storage import tables

_INDEXED_LENGTH = 200
"""Characters of a name that the index of PostgreSQL holds; it refuses long texts. Migration v0016 has it too."""
_LAST, _BEFORE_SURROGATES, _AFTER_SURROGATES = 0x10FFFF, 0xD7FF, 0xE000


def folded_range(
    connection: sa.Connection, column: sa.ColumnElement[str], pattern: str
) -> sa.ColumnElement[bool] | None:
    """That the name or external id in `column` is in the range of what a pattern matches; None where that is no range.

    `*` in the pattern stands for anything.
    """
    begin = pattern.rstrip("*")
    if not begin or "*" in begin:
        return None
    is_whole = begin == pattern
    if connection.dialect.name == "sqlite":
        return _between(sa.collate(column, "NOCASE"), _ascii_lower(begin), is_whole=is_whole)
    indexed = column
    if column is tables.trace.c.name:
        indexed = sa.func.left(column, sa.literal_column(str(_INDEXED_LENGTH)))
        is_whole = is_whole or len(begin) >= _INDEXED_LENGTH
        begin = begin[:_INDEXED_LENGTH]
    lower: str = connection.scalar(sa.select(sa.func.lower(begin))) or ""
    return _between(sa.collate(sa.func.lower(indexed), "C"), lower, is_whole=is_whole)


def after_prefix(prefix: str) -> str | None:
    """The first text, in the order of characters, behind all those that begin with `prefix`; None where there is none.

    The text has no surrogates, which no database takes.
    """
    kept = prefix.rstrip(chr(_LAST))
    if not kept:
        return None
    last = ord(kept[-1])
    return kept[:-1] + chr(_AFTER_SURROGATES if last == _BEFORE_SURROGATES else last + 1)


def _between(column: sa.ColumnElement[str], begin: str, *, is_whole: bool) -> sa.ColumnElement[bool]:
    if is_whole:
        return column == begin
    end = after_prefix(begin)
    return column >= begin if end is None else sa.and_(column >= begin, column < end)


def _ascii_lower(text: str) -> str:
    """The text as NOCASE sees it: only these letters have a case."""
    return "".join(one.lower() if one.isascii() else one for one in text)
