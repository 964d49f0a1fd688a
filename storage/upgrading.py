"""A database of an older weaklink, lifted to this one's tables."""

from pathlib import Path

from storage.engine import new_engine
from storage.failures import sentences
from storage.location import place_of
from storage.schema import check_file, upgrade
from storage.store import Store


def upgrade_store(where: str | Path | None = None) -> bool:
    """Lift the database to this weaklink's version of the tables; whether that changed it.

    What older tables do not hold is filled in from the traces and inspections that are there, which takes some time;
    and what pages ask about all traces is summed up.
    StoreError as `open_store` raises it.
    """
    place = place_of(where)
    check_file(place, create=False)
    engine = new_engine(place)
    try:
        with sentences(place):
            is_lifted = upgrade(engine, place)
        Store(engine, place).sum_pending()
        return is_lifted
    finally:
        engine.dispose()
