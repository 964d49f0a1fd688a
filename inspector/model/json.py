"""The type of JSON values, for borders between modules."""

from inspector.json_text import Json

__all__ = ["Json"]
