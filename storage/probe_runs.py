"""The results of `weaklink probe`, so that the dashboard shows the latest of each endpoint.

A row is one finished run over one endpoint: its address without a key, the model, the time, the id that its traces
have, and the summary as JSON text. Traces of a run may be deleted without it, and the other way round.
"""

import sqlalchemy as sa
from msgspec import Struct

from weaklink.storage import tables
from weaklink.storage.engine import Database
from weaklink.storage.packing.blobs import escaped, unescaped

_run = tables.probe_run.c
_MAX_ENDPOINTS = 200


class ProbeRunRecord(Struct, frozen=True):
    """One run: `session` is the id of its traces, `summary` the JSON text of its summary."""

    url: str
    model: str
    at_s: float
    session: str
    summary: str


class ProbeRuns:
    """The runs of a database, as `Store.probe_runs`. Every method may raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run: ProbeRunRecord) -> None:
        """Store a run."""
        row = {
            "url": escaped(run.url),
            "model": escaped(run.model),
            "at_s": run.at_s,
            "session": escaped(run.session),
            "summary": run.summary.encode("utf-8", "surrogatepass"),
        }
        with self._database.writing() as connection:
            connection.execute(sa.insert(tables.probe_run), row)

    def latest(self) -> list[ProbeRunRecord]:
        """The latest run of each endpoint and model, the newest first; at most 200."""
        newest = sa.select(sa.func.max(_run.id)).group_by(_run.url, _run.model)
        query = sa.select(_run.url, _run.model, _run.at_s, _run.session, _run.summary).where(_run.id.in_(newest))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(_run.id.desc()).limit(_MAX_ENDPOINTS)).all()
        return [
            ProbeRunRecord(
                unescaped(url), unescaped(model), at_s, unescaped(session), summary.decode("utf-8", "surrogatepass")
            )
            for url, model, at_s, session, summary in rows
        ]
