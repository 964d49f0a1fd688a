"""Rows on their way into the database, and long lists of them split into groups that one statement takes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

Row: TypeAlias = dict[str, Any]
"""One row's values by column name; it never leaves `storage`."""

Toolset: TypeAlias = tuple[tuple[str, bytes], ...]
"""Offered tools, in order: the name of each, and its packed definition."""

_Item = TypeVar("_Item")


def in_groups(items: Iterable[_Item], size: int = 500) -> Iterator[list[_Item]]:
    """The items in order, in lists of `size`, the last one shorter; databases bound the parameters of a statement."""
    rest = iter(items)
    while group := list(islice(rest, size)):
        yield group
