"""What a row is on its way into the database."""

from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""One row's values by column name; it never leaves `storage`."""

Toolset: TypeAlias = tuple[tuple[str, bytes], ...]
"""Offered tools, in order: the name of each, and its packed definition."""
