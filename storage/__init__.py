"""Traces and their inspections, kept in SQLite or PostgreSQL."""

from storage.excerpts import SearchHit, SearchResults
from storage.filter import Completion, FilterError, check_filter
from storage.live import StoreSink
from storage.location import Place, place_of
from storage.marks import Mark
from storage.running.following import Following
from storage.schema import NoDatabaseYetError
from storage.store import Store, open_store
from storage.summaries import Cursor, TraceSummary
from storage.upgrading import upgrade_store
from storage.upkeep import StoreStats
from storage.writing import Saved, Verdict

__all__ = [
    "Completion",
    "Cursor",
    "FilterError",
    "Following",
    "Mark",
    "NoDatabaseYetError",
    "Place",
    "Saved",
    "SearchHit",
    "SearchResults",
    "Store",
    "StoreSink",
    "StoreStats",
    "TraceSummary",
    "Verdict",
    "check_filter",
    "open_store",
    "place_of",
    "upgrade_store",
]
