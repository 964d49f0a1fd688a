"""SQL of a user's own over stable views: it can read what they show, for a while, and nothing else."""

from storage.console.asking import QueryResult, Value, ask
from storage.console.views import VIEWS, Column, View

__all__ = ["VIEWS", "Column", "QueryResult", "Value", "View", "ask"]
