"""User-written SQL over stable views: it can read only what the views show, for a bounded time."""

from weaklink.storage.console.sql_executor import QueryResult, Value, ask
from weaklink.storage.console.views import VIEWS, View, ViewColumn

__all__ = ["VIEWS", "QueryResult", "Value", "View", "ViewColumn", "ask"]
