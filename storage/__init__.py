"""Traces and their inspections, stored in SQLite or PostgreSQL.

Names are imported at their first use (PEP 562), so that what needs one module does not load SQLAlchemy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weaklink.storage.engine import DatabaseLocation, DatabaseLockedError, place_of
    from weaklink.storage.filter import FilterCompletion, FilterError, check_filter
    from weaklink.storage.listing import BY_TIME, Listed, ListSection, Order, Paging, Pulse, rank_of
    from weaklink.storage.live import StoreSink
    from weaklink.storage.liveness import IDLE_AFTER_S
    from weaklink.storage.maintenance import IntegrityReport, StoreStats
    from weaklink.storage.marks import Mark
    from weaklink.storage.running.following import Following
    from weaklink.storage.saved import Saved, Verdict
    from weaklink.storage.schema import NoDatabaseYetError
    from weaklink.storage.search_queries import SearchHit, SearchResults
    from weaklink.storage.statistics import CallVerdicts, Prompt, Violations
    from weaklink.storage.store import Store, open_store, upgrade_store
    from weaklink.storage.summaries import ListCursor, TraceSummary

__all__ = [
    "BY_TIME",
    "IDLE_AFTER_S",
    "CallVerdicts",
    "DatabaseLocation",
    "DatabaseLockedError",
    "FilterCompletion",
    "FilterError",
    "Following",
    "IntegrityReport",
    "ListCursor",
    "ListSection",
    "Listed",
    "Mark",
    "NoDatabaseYetError",
    "Order",
    "Paging",
    "Prompt",
    "Pulse",
    "Saved",
    "SearchHit",
    "SearchResults",
    "Store",
    "StoreSink",
    "StoreStats",
    "TraceSummary",
    "Verdict",
    "Violations",
    "check_filter",
    "open_store",
    "place_of",
    "rank_of",
    "upgrade_store",
]

_HOMES = {
    "weaklink.storage.engine": (
        "DatabaseLocation",
        "DatabaseLockedError",
        "place_of",
    ),
    "weaklink.storage.filter": (
        "FilterCompletion",
        "FilterError",
        "check_filter",
    ),
    "weaklink.storage.listing": (
        "BY_TIME",
        "Listed",
        "ListSection",
        "Order",
        "Paging",
        "Pulse",
        "rank_of",
    ),
    "weaklink.storage.live": ("StoreSink",),
    "weaklink.storage.liveness": ("IDLE_AFTER_S",),
    "weaklink.storage.maintenance": (
        "IntegrityReport",
        "StoreStats",
    ),
    "weaklink.storage.marks": ("Mark",),
    "weaklink.storage.running.following": ("Following",),
    "weaklink.storage.schema": ("NoDatabaseYetError",),
    "weaklink.storage.search_queries": (
        "SearchHit",
        "SearchResults",
    ),
    "weaklink.storage.statistics": (
        "CallVerdicts",
        "Prompt",
        "Violations",
    ),
    "weaklink.storage.store": (
        "Store",
        "open_store",
        "upgrade_store",
    ),
    "weaklink.storage.summaries": (
        "ListCursor",
        "TraceSummary",
    ),
    "weaklink.storage.saved": (
        "Saved",
        "Verdict",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _attribute(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name
    __getattr__ = _attribute
