"""Traces and their inspections, kept in SQLite or PostgreSQL."""

from storage.checking import IntegrityReport
from storage.excerpts import SearchHit, SearchResults
from storage.filter import FilterCompletion, FilterError, check_filter
from storage.live import StoreSink
from storage.liveness import IDLE_AFTER_S
from storage.location import DatabaseLocation, place_of
from storage.marks import Mark
from storage.paging import Listed, ListSection, Order, Paging, Pulse
from storage.running.following import Following
from storage.schema import NoDatabaseYetError
from storage.statistics_breaks import Violations
from storage.statistics_keys import Prompt
from storage.store import Store, open_store
from storage.summaries import ListCursor, TraceSummary
from storage.upgrading import upgrade_store
from storage.upkeep import StoreStats
from storage.writing import Saved, Verdict

__all__ = [
    "IDLE_AFTER_S",
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
    "upgrade_store",
]
