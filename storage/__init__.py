"""Traces and their inspections, stored in SQLite or PostgreSQL."""

from storage.engine import DatabaseLocation, place_of
from storage.filter import FilterCompletion, FilterError, check_filter
from storage.listing import BY_TIME, Listed, ListSection, Order, Paging, Pulse, rank_of
from storage.live import StoreSink
from storage.liveness import IDLE_AFTER_S
from storage.maintenance import IntegrityReport, StoreStats
from storage.marks import Mark
from storage.running.following import Following
from storage.schema import NoDatabaseYetError
from storage.search_queries import SearchHit, SearchResults
from storage.statistics import CallVerdicts, Prompt, Violations
from storage.store import Store, open_store, upgrade_store
from storage.summaries import ListCursor, TraceSummary
from storage.writing import Saved, Verdict

__all__ = [
    "BY_TIME",
    "IDLE_AFTER_S",
    "CallVerdicts",
    "DatabaseLocation",
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
