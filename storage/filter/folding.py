"""Ranges of the case-insensitive indexes: all values that begin with a text, or are equal to it.

Theory of operation. Names and external ids are matched with ILIKE, the only way for a pattern with a star in the
middle. The matches of a pattern with a star only at its end, or without one, are one range of an index that is ordered
by code point, case-insensitively: `NOCASE` on SQLite, `lower(...) COLLATE "C"` on PostgreSQL, whose default collations
have different orders. A range may contain a little more than the pattern matches, so ILIKE is applied to its rows.
"""

import sqlalchemy as sa

from storage import tables

_INDEXED_LENGTH = 200
"""Characters of a name in the index of PostgreSQL, which refuses long texts; migration v0016 has the same number."""
_LAST, _BEFORE_SURROGATES, _AFTER_SURROGATES = 0x10FFFF, 0xD7FF, 0xE000


def folded_range(
    connection: sa.Connection, column: sa.ColumnElement[str], pattern: str
) -> sa.ColumnElement[bool] | None:
    """The condition that a name or external id is in the index range of a pattern; None if the pattern is not a range.

    `*` in the pattern matches anything.
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
    """The first text, ordered by code point, after all texts that begin with `prefix`; None if there is none.

    The text has no surrogates, which no database accepts.
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
    """The text as NOCASE compares it: only ASCII letters are lower-cased."""
    return "".join(one.lower() if one.isascii() else one for one in text)
