"""What is searched, in the words of each kind of database."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

NOT_INDEXED = re.compile("[\0\ud800-\udfff]")
"""Characters that no database takes; a blank stands for them."""
SQLITE = sa.table("search_text", sa.column("rowid"), sa.column("body"), sa.column("search_text"))
POSTGRESQL = sa.table("search_text", sa.column("trace_id"), sa.column("piece"), sa.column("body"))
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand one behind the other; with `prefix` the last may go on."""

    words: str
    prefix: bool = False


def match(phrases: Sequence[Phrase]) -> sa.ColumnElement[bool]:
    """That a row of an FTS5 table holds all these phrases."""
    quoted = (
        '"' + NOT_INDEXED.sub(" ", phrase.words).replace('"', " ") + '"' + "*" * phrase.prefix for phrase in phrases
    )
    return SQLITE.c.search_text.op("MATCH")(" AND ".join(quoted))


def vector_match(phrase: Phrase, table: sa.FromClause = POSTGRESQL) -> sa.ColumnElement[bool]:
    """That a row of a table of tsvectors holds this phrase."""
    words = words_of(phrase.words).split()
    query = " <-> ".join(words) + ":*" * (phrase.prefix and bool(words))
    return table.c.body.op("@@")(sa.func.to_tsquery("simple", query))


def words_of(text: str) -> str:
    """`text` as PostgreSQL's parser shall see it: words alone, as FTS5 cuts them, without accents."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in plain if not unicodedata.combining(character))
    return _NO_WORD.sub(" ", text)
