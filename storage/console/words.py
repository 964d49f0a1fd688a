"""A user's SQL before it reaches the database: one statement that reads."""

import re
from collections.abc import Iterable, Iterator

from inspector.errors import StoreError

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)        # comments
    |'(?:[^']|'')*(?:'|\Z)              # a text
    |"(?:[^"]|"")*(?:"|\Z)              # a name
    |\$(?:[A-Za-z_]\w*)?\$              # PostgreSQL's other quotes
    |[A-Za-z_]\w*|;|\S""",
    re.DOTALL | re.VERBOSE,
)
_BEGINS = ("select", "with", "values")
_LONGEST = 100_000
# What PostgreSQL's functions of these names do is not reading of our views; SQLite's authorizer says so itself.
_FORBIDDEN = re.compile(
    r"(?:pg_|lo_|dblink|set_config|current_setting|query_to_|table_to_|schema_to_|database_to_|cursor_to_)"
)


def one_reading(text: str) -> str:
    """The statement without its last semicolon. StoreError where it is not one, or does something else than read."""
    if len(text) > _LONGEST:
        raise StoreError(f"the statement has {len(text):,} characters; {_LONGEST:,} are read")
    words, end = [], len(text)
    for found in _tokens(text):
        word = found[0]
        if word == "$$" or (word.startswith("$") and word.endswith("$") and len(word) > 1):
            raise StoreError(f"character {found.start() + 1}: quote texts with apostrophes, not with `{word}`")
        if end < len(text):
            raise StoreError(f"character {found.start() + 1}: one statement at a time; this is a second one")
        if word == ";":
            end = found.start()
            continue
        words.append(word.lower())
        if word.lower() == "u" and text[found.end() : found.end() + 1] == "&":
            raise StoreError(f"character {found.start() + 1}: write names and texts as they are, without `U&`")
        if _FORBIDDEN.match(word.lower().strip('"')):
            raise StoreError(f"character {found.start() + 1}: `{word}` is not for reading views")
    if not words or words[0] not in _BEGINS:
        raise StoreError("write one statement that reads: it begins with SELECT, WITH or VALUES")
    return text[:end]


def refuse_schemas(statement: str, schemas: Iterable[str]) -> None:
    """StoreError where a statement names one of these schemas, whose tables are not for it."""
    known = {name.lower() for name in schemas}
    for found in _tokens(statement):
        if found[0].strip('"').replace('""', '"').lower() in known:
            raise StoreError(f"character {found.start() + 1}: only the views may be read, not `{found[0]}`")


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return (found for found in _TOKEN.finditer(text) if not found[0].startswith(("--", "/*")))
