"""The values of an indexed column, and which of them a filter means."""

import re
from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from storage.packing.escapes import key as key_of


def stored_values(connection: sa.Connection, column: sa.ColumnElement[str], most: int | None = None) -> Sequence[str]:
    """The different values of an indexed column, by jumps along the index: DISTINCT would read it whole."""
    values = sa.select(sa.func.min(column).label("value")).cte("stored_values", recursive=True)
    following = sa.select(sa.func.min(column)).where(column > values.c.value).correlate(values).scalar_subquery()
    values = values.union_all(sa.select(following).where(values.c.value.is_not(None)))
    wanted = sa.select(values.c.value).where(values.c.value.is_not(None))
    return connection.scalars(wanted if most is None else wanted.limit(most)).all()


def meant(stored: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Those of the values that a filter means: without regard to case, `*` for anything."""
    pattern = re.compile("|".join(f"(?:{glob(value)})" for value in wanted), re.IGNORECASE | re.DOTALL)
    return [one for one in stored if pattern.fullmatch(one)]


def glob(value: str) -> str:
    """A regular expression for a value with `*` in it."""
    return ".*".join(map(re.escape, re.sub(r"\*+", "*", key_of(value)).split("*")))


def like(value: str) -> str:
    """A pattern of SQL's LIKE, with a backslash as its escape, for a value with `*` in it."""
    return re.sub(r"\*+", "*", re.sub(r"([\\%_])", r"\\\1", value)).replace("*", "%")
