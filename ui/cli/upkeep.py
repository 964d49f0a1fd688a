"""What a command that reads sees to first, and does without where the database may not be written."""

import sys

from inspector.errors import StoreError
from storage import Store
from ui.cli.progress import progress_bar
from ui.views.visible import visible_line

PATIENCE_S = 2.0
"""How long a command that reads waits for another program that writes."""
_STEP = 100


def end_broken_off(store: Store) -> None:
    """End the traces whose recorder was killed, so that none is shown as running for ever."""
    try:
        store.recover()
    except StoreError as error:
        say(f"what a killed recorder left behind is shown as far as it was read, since it could not be ended: {error}")


def fill_text_index(store: Store) -> None:
    """Read what waits into the text index."""
    waiting = store.stats().not_indexed
    try:
        with progress_bar("reading traces into the text index", waiting) as advance:
            while waiting > 0 and (done := store.index_pending(limit=_STEP)):
                advance(done)
                waiting -= done
    except StoreError as error:
        say(f"the text index could not be written: {error}")


def say(sentence: str) -> None:
    """A sentence beside the data."""
    sys.stderr.write(f"weaklink: {visible_line(sentence)}\n")
