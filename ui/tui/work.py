"""Slow work of a widget or a screen: begun here, superseded by what is begun later in the same group."""

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker


def begin(node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, supersedes: bool = True) -> None:
    """Begin work that ends with its node; what the node began before in the group is left, if this `supersedes` it.

    Nothing of it runs where it is superseded at once, so hand over a function, not a coroutine.
    """
    begun: Worker[None] = node.run_worker(work, group=group, exclusive=supersedes)
    assert begun.node is node
