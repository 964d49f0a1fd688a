"""Stores of many traces to measure on: a thousand different ones saved, the others copied from them in the database.

A copy differs from its original by its id, identity, and time; everything else of it is what `Store.save` wrote, so
the rows are as many, as long and as varied as those of traces that came in one by one. A trace is a question, a call of
one of twenty tools, its result and an answer.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from benchmarks.corpus import prose
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    ExternalId,
    FinishReason,
    Generation,
    Instant,
    Part,
    Provenance,
    ResultHeader,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)
from weaklink.storage import tables
from weaklink.storage.engine import location_of, new_engine
from weaklink.storage.packing.blobs import from_blob, text_from_bytes
from weaklink.storage.store import open_store, upgrade_store

_MAKE = 4
"""Which stores these are: to be raised with every change of what is put into them."""

_ORIGINALS = 1_000
RARE, COMMON, IN_A_TWENTIETH, IN_A_FIFTIETH = "xylophone", "weather", "quarry", "lantern"
_RARE_TRACES = 5
"""So many traces hold the rare word, in a store of any size; the common one is in nine of ten."""
OLD, _OLDEST_SHARE = "obsidian", 0.05
"""The word that all of the oldest traces hold and no other, and how many of a store those are."""
_APART_S = 60.0

_TOOLS = tuple(ToolDefinition(f"tool_{number}", "Does a thing", {"type": "object"}) for number in range(20))
_MODELS = ("hermes-4-70b", "hermes-4-405b", "qwen3-32b", "llama-3.3-70b", "glm-4.6")
_SOURCES = ("openai-messages", "litellm", "otel", "proxy")


def made_store(traces: int, folder: Path) -> Path:
    """A file with a store of so many traces, made where there is none yet."""
    path = folder / f"store-{_MAKE}-{traces}.db"
    if path.exists():
        upgrade_store(path)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unready = path.with_suffix(".unready")
    unready.unlink(missing_ok=True)
    fill(str(unready), traces)
    unready.rename(path)
    return path


def fill(where: str, traces: int) -> None:
    """Put so many traces into a new store, indexed, summed up, and with the database's statistics of a store in use."""
    with open_store(where) as store:
        store.save((trace, inspect_trace(trace)) for trace in _originals(traces))
        store.search.index_pending()
    engine = new_engine(location_of(where))
    with engine.begin() as connection:
        _copy(connection, traces // min(_ORIGINALS, traces))
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM (ANALYZE)")  # the server does so by itself, but later
    engine.dispose()
    with open_store(where) as store:
        store.save((trace, inspect_trace(trace)) for trace in _rare(traces))
        store.search.index_pending()


def _copy(connection: sa.Connection, times: int) -> None:
    """Copy the first traces, so that there are `times` as many; all within the database."""
    if times < 2:
        return
    connection.exec_driver_sql("CREATE TEMP TABLE copy (k INTEGER PRIMARY KEY)")
    connection.execute(sa.text("INSERT INTO copy VALUES (:k)"), [{"k": k} for k in range(1, times)])
    copy = sa.table("copy", sa.column("k", sa.Integer))
    later = copy.c.k * _ORIGINALS
    for table in (tables.trace, *tables.RECORD, *tables.DERIVED):
        changed = {
            "id": table.c.get("id", later) + later,
            "trace_id": table.c.get("trace_id", later) + later,
            "identity": _bytes_for_this_row(connection),
            "fingerprint": _bytes_for_this_row(connection),
            "sort_at_s": table.c.get("sort_at_s", later) + later * _APART_S,
        }
        columns = [changed.get(column.name, column) for column in table.c]
        rows = sa.select(*columns).select_from(table.join(copy, sa.true()))
        key = [changed.get(column.name, column) for column in table.primary_key]
        connection.execute(sa.insert(table).from_select([column.name for column in table.c], rows.order_by(*key)))
    copy_text_index = _copy_vectors if connection.dialect.name == "postgresql" else _copy_texts
    copy_text_index(connection, int(times * _OLDEST_SHARE))


def _bytes_for_this_row(connection: sa.Connection) -> sa.ColumnElement[bytes]:
    if connection.dialect.name == "postgresql":
        return sa.func.uuid_send(sa.func.gen_random_uuid())
    return sa.func.randomblob(32)


def _copy_texts(connection: sa.Connection, old: int) -> None:
    part = tables.part.c
    texts: dict[int, list[str]] = {}
    wanted = sa.select(part.trace_id, part.text).where(part.trace_id <= _ORIGINALS)
    for id_, blob in connection.execute(wanted.order_by(part.trace_id, part.turn, part.number)):
        texts.setdefault(id_, []).append(text_from_bytes(from_blob(blob)))
    connection.exec_driver_sql("CREATE TEMP TABLE body (id INTEGER PRIMARY KEY, body TEXT)")
    bodies = [{"id": id_, "body": "\n\ue000\n".join(some)} for id_, some in texts.items()]
    connection.execute(sa.text("INSERT INTO body VALUES (:id, :body)"), bodies)
    body = f"CASE WHEN k < {old} THEN body ELSE replace(body, '{OLD} ', '') END"
    connection.exec_driver_sql(
        f"INSERT INTO search_text (rowid, body) SELECT id + k * {_ORIGINALS}, {body} FROM copy, body ORDER BY k, id"
    )


def _copy_vectors(connection: sa.Connection, old: int) -> None:
    body = f"CASE WHEN k < {old} THEN body ELSE ts_delete(body, '{OLD}') END"
    connection.exec_driver_sql(
        "INSERT INTO search_text (trace_id, piece, body)"
        f" SELECT trace_id + k * {_ORIGINALS}, piece, {body} FROM copy, search_text ORDER BY k, trace_id, piece"
    )
    connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('trace', 'id'), (SELECT max(id) FROM trace))")


def _originals(traces: int) -> Iterator[Trace]:
    """The traces that are saved one by one into a store of so many, the oldest first."""
    return (a_trace(number, old=number < traces * _OLDEST_SHARE) for number in range(min(_ORIGINALS, traces)))


def _rare(traces: int) -> Iterator[Trace]:
    """The traces that hold the rare word, spread over a store of so many."""
    return (_with_rare_word(number, traces) for number in range(_RARE_TRACES))


def a_trace(number: int, started_s: float | None = None, *, old: bool = False) -> Trace:
    """One of many traces; some go wrong, `old` ones hold the word of the oldest."""
    rng = random.Random(number)
    tool = _TOOLS[min(rng.randrange(20), rng.randrange(20))]
    model = rng.choice(_MODELS)
    comma = "," if number % 4 == 0 else ""
    call = f'<tool_call>\n{{"name": "{tool.name}", "arguments": {{"day": {number}{comma}}}}}\n</tool_call>'
    words = " ".join(
        (
            COMMON if number % 10 else "climate",
            IN_A_TWENTIETH if number * 7 % 20 == 3 else "meadow",
            IN_A_FIFTIETH if number * 11 % 50 == 3 else "candle",
            f"{OLD} {prose(200, number)}" if old else prose(200, number),
        )
    )
    started = number * _APART_S + rng.random() * 3600 if started_s is None else started_s
    cut = number % 10 == 7
    generation = Generation(
        answered_model=model,
        tools=_TOOLS[: 5 + number % 3],
        started=Instant(started),
        usage=Usage(100 + number % 50, 20),
    )
    cut_off = {"finish": FinishReason.LENGTH, "body": BodyState.TRUNCATED} if cut else {}
    last = Generation(answered_model=model, started=Instant(started + 2), usage=Usage(150, 30), **cut_off)  # type: ignore[arg-type]  # fields of two kinds
    return Trace(
        (
            Turn(Role.USER, (Part("text", words),)),
            Turn(Role.ASSISTANT, (Part("text", call),), generation=generation),
            Turn(Role.TOOL, (Part("text", f'{{"value": {number}}}'),), result=ResultHeader(name=tool.name)),
            Turn(Role.ASSISTANT, (Part("text", prose(150, number + 1)),), generation=last),
        ),
        name=f"session {number}",
        started=Instant(started),
        external_ids=(ExternalId("session", f"s{number}"),),
        provenance=Provenance(_SOURCES[number % 4], f"log-{number % 50}.jsonl", record=f"line {number}"),
    )


def _with_rare_word(number: int, traces: int) -> Trace:
    started = (number + 0.5) / _RARE_TRACES * traces * _APART_S
    made = a_trace(10_000_000 + number, started)
    return Trace(
        (Turn(Role.USER, (Part("text", f"where is the {RARE}?"),)), *made.turns[1:]),
        name=made.name,
        started=made.started,
        external_ids=made.external_ids,
        provenance=made.provenance,
    )
