"""Traces and their inspections, stored in SQLite or PostgreSQL."""

from weaklink.storage.engine import DatabaseLocation, DatabaseLockedError, place_of
from weaklink.storage.filter import FilterCompletion, FilterError, check_filter
from weaklink.storage.listing import BY_TIME, Listed, ListSection, Order, Paging, Pulse, rank_of
from weaklink.storage.live import StoreSink
from weaklink.storage.liveness import IDLE_AFTER_S
from weaklink.storage.maintenance import IntegrityReport, StoreStats
from weaklink.storage.marks import Mark
from weaklink.storage.running.following import Following
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.search_queries import SearchHit, SearchResults
from weaklink.storage.statistics import CallVerdicts, Prompt, Violations
from weaklink.storage.store import Store, open_store, upgrade_store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.storage.writing import Saved, Verdict

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
