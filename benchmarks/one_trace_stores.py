"""Stores of one trace each, made where they are missing."""

from collections.abc import Callable
from pathlib import Path

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.storage import open_store, upgrade_store


def one_trace_store(path: Path, make: Callable[[int], Trace], size: int) -> Path:
    """The file with a store of the trace of that size, made where there is none yet."""
    if path.exists():
        upgrade_store(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unready = path.with_suffix(".unready")
    unready.unlink(missing_ok=True)
    trace = make(size)
    with open_store(unready) as store:
        store.save([(trace, inspect_trace(trace))])
        store.search.index_pending()
    unready.rename(path)
    return path
