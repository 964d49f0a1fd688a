"""Stores of many traces to measure on: a thousand different ones saved, the others copied from them within SQLite.

A copy differs from its original by its id, identity, and time; everything else of it is what `Store.save` wrote, so
the rows are as many, as long and as varied as those of traces that came in one by one.
"""

import random
from pathlib import Path

import sqlalchemy as sa

from benchmarks.corpus import prose
from inspector.inspection import inspect_trace
from inspector.model import (
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
from storage import open_store, place_of, tables, upgrade_store
from storage.engine import new_engine
from storage.packing.blobs import from_blob, text_from_bytes

ORIGINALS = 1_000
RARE, COMMON, IN_A_TWENTIETH, IN_A_FIFTIETH = "xylophone", "weather", "quarry", "lantern"
RARE_TRACES = 5
"""So many traces hold the rare word, in a store of any size; the common one is in nine of ten."""

_APART_S = 60.0
_TOOLS = tuple(ToolDefinition(f"tool_{number}", "Does a thing", {"type": "object"}) for number in range(20))
_MODELS = ("hermes-4-70b", "hermes-4-405b", "qwen3-32b", "llama-3.3-70b", "glm-4.6")
_SOURCES = ("openai-messages", "litellm", "otel", "proxy")


def made_store(traces: int, folder: Path) -> Path:
    """A store of so many traces, made where there is none yet, its text index filled."""
    path = folder / f"store-{traces}.db"
    if path.exists():
        upgrade_store(path)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unready = path.with_suffix(".unready")
    unready.unlink(missing_ok=True)
    originals = min(ORIGINALS, traces)
    with open_store(unready) as store:
        store.save((one, inspect_trace(one)) for one in map(a_trace, range(originals)))
        store.index_pending()
    engine = new_engine(place_of(unready))
    with engine.begin() as connection:
        _copy(connection, originals, traces // originals)
    engine.dispose()
    with open_store(unready) as store:
        rare = (_with_rare_word(number, traces) for number in range(RARE_TRACES))
        store.save((one, inspect_trace(one)) for one in rare)
        store.index_pending()
    unready.rename(path)
    return path


def a_trace(number: int, started_s: float | None = None) -> Trace:
    """One of many traces: a question, a call of one of twenty tools, its result and an answer; some go wrong."""
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
            prose(200, number),
        )
    )
    at = number * _APART_S + rng.random() * 3600 if started_s is None else started_s
    cut = number % 10 == 7
    generation = Generation(
        answered_model=model, tools=_TOOLS[: 5 + number % 3], started=Instant(at), usage=Usage(100 + number % 50, 20)
    )
    cut_off = {"finish": FinishReason.LENGTH, "body": BodyState.TRUNCATED} if cut else {}
    last = Generation(answered_model=model, started=Instant(at + 2), usage=Usage(150, 30), **cut_off)  # type: ignore[arg-type]  # fields of two kinds
    return Trace(
        (
            Turn(Role.USER, (Part("text", words),)),
            Turn(Role.ASSISTANT, (Part("text", call),), generation=generation),
            Turn(Role.TOOL, (Part("text", f'{{"value": {number}}}'),), result=ResultHeader(name=tool.name)),
            Turn(Role.ASSISTANT, (Part("text", prose(150, number + 1)),), generation=last),
        ),
        name=f"session {number}",
        started=Instant(at),
        external_ids=(ExternalId("session", f"s{number}"),),
        provenance=Provenance(_SOURCES[number % 4], f"log-{number % 50}.jsonl", record=f"line {number}"),
    )


def _with_rare_word(number: int, traces: int) -> Trace:
    at = (number + 0.5) / RARE_TRACES * traces * _APART_S
    made = a_trace(10_000_000 + number, at)
    return Trace(
        (Turn(Role.USER, (Part("text", f"where is the {RARE}?"),)), *made.turns[1:]),
        name=made.name,
        started=made.started,
        external_ids=made.external_ids,
        provenance=made.provenance,
    )


def _copy(connection: sa.Connection, originals: int, times: int) -> None:
    """Copy the first traces, so that there are `times` as many; all within the database."""
    if times < 2:
        return
    connection.exec_driver_sql("CREATE TEMP TABLE copy (k INTEGER PRIMARY KEY)")
    connection.execute(sa.text("INSERT INTO copy VALUES (:k)"), [{"k": k} for k in range(1, times)])
    copy = sa.table("copy", sa.column("k", sa.Integer))
    later = copy.c.k * originals
    for table in (tables.trace, *tables.RECORD, *tables.DERIVED):
        changed = {
            "id": table.c.get("id", later) + later,
            "trace_id": table.c.get("trace_id", later) + later,
            "identity": sa.func.randomblob(32),
            "fingerprint": sa.func.randomblob(32),
            "sort_at_s": table.c.get("sort_at_s", later) + later * _APART_S,
        }
        columns = [changed.get(column.name, column) for column in table.c]
        first = table.c["trace_id" if "trace_id" in table.c else "id"]
        rows = sa.select(*columns).select_from(table.join(copy, sa.true())).where(first <= originals)
        key = [changed.get(column.name, column) for column in table.primary_key]
        connection.execute(sa.insert(table).from_select([column.name for column in table.c], rows.order_by(*key)))
    _copy_text_index(connection, originals)


def _copy_text_index(connection: sa.Connection, originals: int) -> None:
    part = tables.part.c
    texts: dict[int, list[str]] = {}
    wanted = sa.select(part.trace_id, part.text).where(part.trace_id <= originals)
    for id_, blob in connection.execute(wanted.order_by(part.trace_id, part.turn, part.number)):
        texts.setdefault(id_, []).append(text_from_bytes(from_blob(blob)))
    connection.exec_driver_sql("CREATE TEMP TABLE body (id INTEGER PRIMARY KEY, body TEXT)")
    bodies = [{"id": id_, "body": "\n\ue000\n".join(some)} for id_, some in texts.items()]
    connection.execute(sa.text("INSERT INTO body VALUES (:id, :body)"), bodies)
    connection.exec_driver_sql(
        f"INSERT INTO search_text (rowid, body) SELECT id + k * {originals}, body FROM copy, body ORDER BY k, id"
    )
