"""What could stand at a place of a filter: keys, and for each key the values there are."""

import re
from collections.abc import Sequence

from inspector.chain.steps import Status
from storage.filter import KEYS
from ui.tui.chains.filter_bar import Suggestion
from ui.tui.store_access import StoreAccess

_TERM = re.compile(r"\S*$")


async def suggestions(access: StoreAccess, text: str, cursor: int) -> Sequence[Suggestion]:
    """What could stand at code point `cursor` of a filter."""
    typed = _TERM.search(text[:cursor])
    start = typed.start() if typed else cursor
    key, colon, value = text[start:cursor].partition(":")
    if not colon:
        return [Suggestion(start, cursor, f"{one}:") for one in KEYS if one.startswith(key)]
    if key == "status":
        return [Suggestion(start, cursor, f"status:{one}") for one in Status if one.startswith(value)]
    return []
