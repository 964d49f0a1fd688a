"""Long rows of things cut into groups that one statement takes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")


def in_groups(items: Iterable[_Item], size: int = 500) -> Iterator[list[_Item]]:
    """The items in order, in lists of `size`, the last one shorter; databases bound the parameters of a statement."""
    rest = iter(items)
    while group := list(islice(rest, size)):
        yield group
