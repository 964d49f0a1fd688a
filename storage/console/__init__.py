"""SQL of a user's own over stable views: it can read what they show, for a while, and nothing else."""

from storage.console.sql_executor import QueryResult, Value, ask
from storage.console.views import VIEWS, View, ViewColumn

__all__ = ["VIEWS", "QueryResult", "Value", "View", "ViewColumn", "ask"]
