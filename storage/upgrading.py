"""A database of an older weaklink, upgraded to this one's tables."""

from pathlib import Path

from storage.engine import new_engine
from storage.failures import sentences
from storage.location import place_of
from storage.schema import check_file, upgrade
from storage.store import Store


def upgrade_store(where: str | Path | None = None) -> bool:
    """Upgrade the database to this weaklink's version of the tables; whether that changed it.

    What was recorded stays as it is. Inspections that another weaklink packed otherwise are made again when a trace is
    read, until `reinspect` keeps new ones. What pages ask about all traces is summed up.
    StoreError as `open_store` raises it.
    """
    place = place_of(where)
    check_file(place, create=False)
    engine = new_engine(place)
    try:
        with sentences(place):
            is_changed = upgrade(engine, place)
        Store(engine, place).sum_pending()
        return is_changed
    finally:
        engine.dispose()
