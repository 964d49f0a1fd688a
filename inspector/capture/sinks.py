"""Opens the sink for a target: a database, a trace file, or what a package offers by entry point."""

import re
from importlib.metadata import entry_points
from pathlib import Path

from weaklink.inspector.capture.events import SINKS_ENTRY_POINT_GROUP, Sink
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.errors import SinkError

STORE = "store"
"""The name of the entry point of weaklink's own database."""

_SCHEME = re.compile(r"([a-z][a-z0-9.-]*)(?:\+[a-z0-9.-]+)?://", re.IGNORECASE)
_DATABASES = frozenset({"postgresql", "postgres", "sqlite"})


def open_sink(target: str | Path | None = None) -> Sink:
    """Open the sink of a target; the caller closes it.

    A path that ends in `.jsonl` is a trace file. An address is opened by the entry point in `weaklink.sinks` that has
    the name of its scheme, if there is one. Everything else is a database, None the default one.

    SinkError if the target cannot be opened, or nothing installed opens it; StoreError for a database.
    """
    text = "" if target is None else str(target)
    scheme = scheme_of(text)
    if is_trace_file(text):
        return TraceFileSink(text)
    return _from_entry_point(STORE if not scheme or scheme in _DATABASES else scheme, target)


def is_trace_file(target: str) -> bool:
    """Whether a target is the path of a trace file."""
    return not scheme_of(target) and target.endswith(".jsonl")


def is_database(target: str) -> bool:
    """Whether a target is a database: a file's path, or its URL."""
    scheme = scheme_of(target)
    return scheme in _DATABASES or (not scheme and not is_trace_file(target))


def scheme_of(target: str) -> str:
    """The scheme of an address in lower case, without its driver; `""` for a path."""
    match = _SCHEME.match(target)
    return match[1].lower() if match else ""


def _from_entry_point(name: str, target: str | Path | None) -> Sink:
    point = next(iter(entry_points(group=SINKS_ENTRY_POINT_GROUP, name=name)), None)
    if point is None and name == STORE:
        raise SinkError(
            f"{target or 'The default database'} is a database, and weaklink's store is not installed here; "
            "`pip install weaklink` installs it, and a path that ends in `.jsonl` needs no store."
        )
    if point is None:
        raise SinkError(
            f"No installed package provides a sink for `{name}://`; a place is a database (a file, or "
            "`postgresql://HOST/NAME` for several machines), or a path that ends in `.jsonl`."
        )
    try:
        make = point.load()
    except ImportError as error:
        raise SinkError(f"The sink `{name}` cannot be loaded: {error}.") from error
    sink: Sink = make(target)
    return sink
