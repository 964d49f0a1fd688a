"""Parses filters, and completes them at a position: keys, operators, and values that are in the database."""

import re
from collections.abc import Iterable, Iterator

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern
from weaklink.storage import tables
from weaklink.storage.filter.reading import UNITS, WORDS_OF
from weaklink.storage.filter.sql import COLUMNS, TABLES, stored_values
from weaklink.storage.filter.terms import ALIASES, KEYS, Filter, FilterError, FilterKey
from weaklink.storage.packing.blobs import unescaped

MAX_FILTER_CHARS = 10_000
"""Maximum number of characters in a filter."""

MAX_COMPLETIONS = 50
"""Maximum number of completions."""

_COUNTED_TRACES = 300  # the newest, whose values are counted
_MAX_STORED_VALUES = 500  # that are read from an indexed column
_TERM = lazy_pattern(  # the last term of a filter, as far as it is typed
    r"""
    (?: [^\s"()]
      | "(?:[^"\\]|\\.)*(?:"|\Z)   # a quoted value, perhaps not closed yet
      | (?<=[^\s"(])\(              # an opening bracket within a term: `tool:f(`
    )*\Z
    """,
    re.DOTALL | re.VERBOSE,
)
_PLAIN = lazy_pattern(r'[^\s"(),]+')
_SIGN = lazy_pattern(r"!=|[<>]=?|[=~]")

_DESCRIPTIONS = {
    FilterKey.STATUS: "how the trace ended",
    FilterKey.CERTAINTY: "how sure that verdict is: `high` or `low`",
    FilterKey.MODEL: "the model that answered",
    FilterKey.SOURCE: "where the trace came from",
    FilterKey.FORMAT: "the format it was read as",
    FilterKey.TOOL: "a tool that was called",
    FilterKey.CODE: "a violated rule: its code, the start of its code, or its name",
    FilterKey.LAYER: "a layer that differs, or who caused the difference",
    FilterKey.CONTEXT: "what happened to earlier messages in later requests, or the share of the context used: `>50%`",
    FilterKey.ARG: "an argument of a call: `$.city=Oslo`",
    FilterKey.KIND: "a kind of span it contains",
    FilterKey.SEVERITY: "a severity of its diagnostics",
    FilterKey.STEP: "the step at which it broke",
    FilterKey.BREAK: "the rule or outcome of its first break",
    FilterKey.BREAK_TOOL: "the tool of the call at its first break",
    FilterKey.VIOLATES: "a schema violation: rule, tool and argument, as in `S203 get_weather $.days`",
    FilterKey.ERRORS: "how many errors it has",
    FilterKey.WARNINGS: "how many warnings it has",
    FilterKey.DURATION: "how long it took",
    FilterKey.FIRST_TOKEN: "the longest wait for a first token",
    FilterKey.GAP: "the longest gap between two chunks",
    FilterKey.TOKENS: "its input and output tokens",
    FilterKey.TURNS: "how many turns it has",
    FilterKey.CALLS: "how many calls it has",
    FilterKey.REASONING: "whether assistant turns contain reasoning",
    FilterKey.PROMPT: "the hash of its system prompt and tools",
    FilterKey.OUTCOME: "whether its source reports its task as done",
    FilterKey.REWARD: "the reward or score that its source reports",
    FilterKey.PROJECT: "the folder that the agent worked in",
    FilterKey.SESSION: "an id that its source assigned to it",
    FilterKey.NAME: "its name",
    FilterKey.ID: "its number",
    FilterKey.FORKS: "`yes` also shows traces of `ask`, `doctor` and `replay`",
    FilterKey.MARKED: "whether it is marked",
    FilterKey.NOTE: "text in the note of a mark",
    FilterKey.SINCE: "started at or after this time: `2h`, `2026-11-01`",
    FilterKey.BEFORE: "started before this time",
}
"""A description of each key, for completions."""

_JOINS = {"and": "both must match", "or": "one must match", "not": "the next term must not match"}


def parse_filter(text: str) -> Filter:
    """Parse a filter; an empty one matches everything. FilterError if it is invalid."""
    if not text.strip():
        return ()
    if len(text) > MAX_FILTER_CHARS:
        raise FilterError(
            f"a filter has at most {MAX_FILTER_CHARS:,} characters; this one has {len(text):,}", MAX_FILTER_CHARS
        )
    from weaklink.storage.filter.grammar import read  # noqa: PLC0415  # Lark takes 40 ms, and most commands use no filter

    return read(text)


def check_filter(text: str) -> FilterError | None:
    """The error in a filter, None if it is valid: for input fields that check it while the user types."""
    try:
        parse_filter(text)
    except FilterError as error:
        return error
    return None


class FilterCompletion(Struct, frozen=True):
    """A text that can replace the characters from `start` to `end` of a filter; `what` describes it."""

    start: int
    end: int
    text: str
    what: str


def complete_filter(connection: sa.Connection, text: str, cursor: int) -> list[FilterCompletion]:
    """Completions at the cursor, at most `MAX_COMPLETIONS`; the values of the newest traces come first."""
    match = _TERM.search(text, 0, cursor)
    start = match.start() if match else cursor
    start += text[start:cursor].startswith("-")
    term = text[start:cursor]
    key, colon, value = term.partition(":")
    if not colon:
        offered = [*((f"{key}:", _DESCRIPTIONS[_key(key)]) for key in (*KEYS, *ALIASES)), *_JOINS.items()]
        return _starting(term, offered, start, cursor)
    try:
        chosen = _key(key.lower())
    except ValueError:
        return []
    if chosen is FilterKey.ARG:
        return _arguments(connection, value, cursor)
    piece = value.rpartition(",")[2]
    return _starting(piece, _offered(connection, chosen), cursor - len(piece), cursor, is_value=True)


def _key(name: str) -> FilterKey:
    return ALIASES[name] if name in ALIASES else FilterKey(name)


def _starting(
    begun: str, offered: Iterable[tuple[str, str]], start: int, end: int, *, is_value: bool = False
) -> list[FilterCompletion]:
    """Those of the offered texts that start with `begun`, without duplicates."""
    prefix = begun.removeprefix('"').casefold()
    completions: dict[str, FilterCompletion] = {}
    for text, what in offered:
        if text.casefold().startswith(prefix) and len(completions) < MAX_COMPLETIONS:
            completion = filter_value(text) if is_value else text
            completions.setdefault(completion, FilterCompletion(start, end, completion, what))
    return list(completions.values())


def filter_value(value: str) -> str:
    """A value in filter syntax: quoted unless it is a plain word."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _offered(connection: sa.Connection, key: FilterKey) -> Iterator[tuple[str, str]]:
    """The values of a key: the known ones, or those of the newest traces, then other stored ones."""
    what = _DESCRIPTIONS[key]
    if key in WORDS_OF:
        yield from ((word, what) for word in WORDS_OF[key])
    elif key in COLUMNS:
        column = COLUMNS[key]
        yield from _counted(connection, tables.trace, column, tables.trace.c.id, what)
        yield from (
            (unescaped(value), what) for value in stored_values(connection, column, most=_MAX_STORED_VALUES) if value
        )
    elif key in TABLES:
        table, column = TABLES[key]
        yield from _counted(connection, table, column, table.c.trace_id, what)
        yield from (
            (unescaped(value), what) for value in stored_values(connection, column, most=_MAX_STORED_VALUES) if value
        )
    elif key is FilterKey.SESSION:
        external = tables.external_id
        names = _counted(connection, external, external.c.name, external.c.trace_id, "")
        yield from ((f"{name}=", "ids with this name") for name, _ in names)
        yield from _counted(connection, external, external.c.value, external.c.trace_id, what)
    elif key is FilterKey.NAME:
        yield from _counted(connection, tables.trace, tables.trace.c.name, tables.trace.c.id, what)
    elif key in (FilterKey.SINCE, FilterKey.BEFORE):
        yield from ((word, what) for word in ("today", "yesterday", "1h", "24h", "7d"))
    elif key in UNITS:
        unit = next(iter(UNITS[key]), "")
        yield from ((f"{sign}1{unit}", what) for sign in (">", "<", ">=", "<=") if unit or sign in "><")


def _counted(
    connection: sa.Connection,
    table: sa.Table,
    column: sa.ColumnElement[str],
    trace_id: sa.ColumnElement[int],
    what: str,
    *conditions: sa.ColumnElement[bool],
) -> Iterator[tuple[str, str]]:
    """The most frequent values in the newest traces."""
    trace = tables.trace.c
    newest = sa.select(trace.id).order_by(trace.sort_at_s.desc(), trace.id.desc()).limit(_COUNTED_TRACES)
    ids = list(connection.scalars(newest))
    query = sa.select(column).select_from(table).where(trace_id.in_(ids), column != "", *conditions)
    frequent = query.group_by(column).order_by(sa.func.count().desc(), column).limit(4 * MAX_COMPLETIONS)
    yield from ((unescaped(value), what) for value in connection.scalars(frequent))


def _arguments(connection: sa.Connection, value: str, cursor: int) -> list[FilterCompletion]:
    argument = tables.argument
    sign = _SIGN.search(value)
    if sign is None:
        column = argument.c.path if value.startswith("$") or not value else argument.c.name
        offered = _counted(connection, argument, column, argument.c.trace_id, "an argument")
        return _starting(value, offered, cursor - len(value), cursor)
    path = value[: sign.start()]
    is_chosen = (argument.c.path if path.startswith("$") else argument.c.name) == path
    offered = _counted(connection, argument, argument.c.value, argument.c.trace_id, f"a value of {path}", is_chosen)
    piece = value[sign.end() :].rpartition(",")[2]
    return _starting(piece, offered, cursor - len(piece), cursor, is_value=True)
