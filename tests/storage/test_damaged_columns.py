"""Whatever stored column of a trace is damaged: the rest is shown, it is said, `db check` names it, a repair helps."""

import random
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from tests.examples import one_in
from tests.storage.test_divided_writes import agent_trace
from weaklink.inspector.capture.events import ChunksArrived, TraceStarted, TurnStarted
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Chunk,
    ExternalId,
    Generation,
    Part,
    Provenance,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
)
from weaklink.inspector.model.exchange import RecordedExchange, compacted
from weaklink.inspector.trace_file import write_trace_file
from weaklink.storage import tables
from weaklink.storage.exchanges import StoredExchanges, packed_exchanges, put_exchanges
from weaklink.storage.live import StoreSink
from weaklink.storage.packing.values import pack
from weaklink.storage.record_rows import record_rows
from weaklink.storage.store import Store
from weaklink.storage.summaries import ListCursor, TraceSummary
from weaklink.ui.views.trace import trace_lines

_NOT_COVERED = {
    *(tables.trace.c.identity, tables.trace.c.fingerprint, tables.trace.c.imported_at_s, tables.trace.c.sort_at_s),
    *(tables.trace.c.inspector_version, tables.trace.c.context_share, tables.trace.c.outcome, tables.trace.c.reward),
    *(tables.trace.c.project, tables.trace.c.certainty),
    *(tables.part.c.characters, tables.part.c.chunk_count),
    *(tables.tool.c.hash, tables.tool.c.name),
}
"""Columns that nothing of the trace is read from: those of lists' order, of the text index and of filters."""

_OF_AN_ORDER = {tables.toolset_tool.c.number, tables.exchange.c.number}
"""Columns of which only the order matters: another number may mean the same."""

_OF_A_TRACE = (tables.trace, tables.external_id, tables.turn, tables.part, tables.inspection)
_BESIDE = (tables.toolset, tables.tool, tables.toolset_tool, tables.exchange)
_COLUMNS = [
    column
    for table in (*_OF_A_TRACE, *_BESIDE)
    for column in table.c
    if column.name not in ("id", "trace_id", "toolset_id", "tool_id") and column not in _NOT_COVERED
]
_SAVED = replace(
    agent_trace(": ", ":", length=40),
    name="agent",
    provenance=Provenance("openai-messages", "log.jsonl", record="line 1"),
)


def _damaged(column: sa.Column[Any], value: Any, rng: random.Random, *, on_file: bool) -> Iterator[Any]:
    """What a value may become: truncated, with a changed byte, empty, of another kind."""
    if isinstance(value, bytes):
        index = rng.randrange(5, len(value)) if len(value) > 5 else 0
        yield from (
            value[: len(value) // 2],
            value[:3],
            b"",
            value[:index] + bytes([value[index] ^ 0x10]) + value[index + 1 :],
        )
        yield bytes([value[0] ^ 0xFF]) + value[1:]
    elif isinstance(value, str):
        yield "changed"
        if value:
            yield ""
        if on_file:
            yield sa.cast(b"\xff\xfe" + value.encode(), sa.Text)
    elif isinstance(value, int | float):
        yield from (value + 7, -value - 1)
        if on_file:
            yield sa.literal_column("'x'")
    else:
        yield "changed" if isinstance(column.type, sa.Text) else 7


def _fill(store: Store) -> int:
    """Save a trace with exchanges, and another one with the same tools; the id of the first."""
    other = replace(agent_trace(": "), name="other", external_ids=(ExternalId("session", "other"),))
    first, _ = store.save([(trace, inspect_trace(trace)) for trace in (_SAVED, other)])
    exchanges = [
        RecordedExchange("POST", "/v1", request=b"{" + b"a" * 300 + b"%d" % index, answer=b"b") for index in (1, 2)
    ]
    with store._database.writing() as connection:
        put_exchanges(connection, first.id, packed_exchanges(exchanges))
    store.search.index_pending()
    return first.id


class _Seen(NamedTuple):
    """What every interface reads of a trace."""

    trace: Trace
    inspection: Inspection
    summary: TraceSummary
    exchanges: StoredExchanges

    @property
    def tells(self) -> bool:
        """Whether any of it reports damage."""
        withheld = [
            exchange.withheld for some in self.exchanges.traces.values() for exchange in some if exchange.withheld
        ]
        return bool(self.trace.provenance.warnings or self.summary.damaged or self.exchanges.damage or withheld)

    @property
    def content(self) -> tuple[object, ...]:
        """All that does not depend on the id."""
        summary = replace(self.summary, id=0, cursor=ListCursor(0.0, 0), imported_at_s=0.0)
        return self.trace, self.inspection, summary, tuple(self.exchanges.traces.values())


def _read_everywhere(store: Store, id_: int) -> _Seen:
    """Read a trace through everything that shows it: nothing fails, and the other trace is as it was."""
    trace, inspection = store.inspected(id_)
    assert list(trace_lines(trace, inspection, id=id_, width=80, full=True))
    write_trace_file(StringIO(), [trace])
    (summary,) = [listed for listed in store.traces() if listed.id == id_]
    assert store.summary(id_) == summary
    store.search.find("weather")
    store.traces("status:ok tool:get_weather")
    assert store.inspected(id_ + 1)[0].name == "other"
    return _Seen(trace, inspection, summary, store.exchanges.of(id_))


def _damage(store: Store, column: sa.Column[Any], row: Sequence[Any], value: Any) -> bool:
    """Write a damaged value; False if the database refuses it."""
    keys = column.table.primary_key.columns
    where = [key == part for key, part in zip(keys, row, strict=False)]
    try:
        with store._database.engine.begin() as connection:
            if store.location.path is not None:
                connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            return connection.execute(sa.update(column.table).where(*where).values({column.name: value})).rowcount == 1
    except sa.exc.SQLAlchemyError:
        return False


def _row(store: Store, column: sa.Column[Any], id_: int, rng: random.Random) -> Sequence[Any]:
    """The key of a row of the trace, and the value of the column in it."""
    table = column.table
    keys = list(table.primary_key.columns)
    own = (
        table.c.trace_id == id_ if "trace_id" in table.c else table.c.id == id_ if table is tables.trace else sa.true()
    )
    with store._database.engine.begin() as connection:
        rows = connection.execute(sa.select(*keys, column).where(own).order_by(*keys)).all()
    return rng.choice([row for row in rows if row[-1] is not None] or rows)


@pytest.mark.campaign
@pytest.mark.one_in(6)
@pytest.mark.parametrize("column", _COLUMNS, ids=str)
def test_a_damaged_column_is_noticed_and_withholds_nothing_else(store: Store, column: sa.Column[Any]) -> None:
    """The gate damages a third of the columns on each database, each in one or two of six ways."""
    rng = random.Random(str(column))
    before: _Seen | None = None
    written = 0
    for number in one_in(6, range(6), seed=str(column)):
        id_ = _fill(store)
        before = before or _read_everywhere(store, id_)
        row = _row(store, column, id_, rng)
        values = list(_damaged(column, row[-1], rng, on_file=store.location.path is not None))
        value = values[number % len(values)]
        if _damage(store, column, row, value):
            written += 1
            seen = _read_everywhere(store, id_)
            assert seen.tells or seen.content == before.content, value
            assert store.maintenance.check().problems or column in _OF_AN_ORDER, value
            report = store.maintenance.repair(inspect_trace)
            again = _read_everywhere(store, id_)
            assert again.tells or again.content == before.content, (value, report)
            assert bool(report.left) == bool(store.maintenance.check().problems), (value, report)
        store.delete([id_, id_ + 1])
        with store._database.engine.begin() as connection:
            for table in (tables.toolset_tool, tables.toolset, tables.tool):
                connection.execute(sa.delete(table))
    assert written


@pytest.mark.one_in(4)
@pytest.mark.parametrize("table", [*_OF_A_TRACE[1:], tables.toolset_tool, tables.exchange], ids=str)
def test_a_missing_row_is_noticed_and_withholds_nothing_else(store: Store, table: sa.Table) -> None:
    id_ = _fill(store)
    before = _read_everywhere(store, id_)
    key = next(iter(table.primary_key.columns))
    row = _row(store, key, id_, random.Random(1))
    with store._database.engine.begin() as connection:
        keys = zip(table.primary_key.columns, row, strict=False)
        connection.execute(sa.delete(table).where(*(column == value for column, value in keys)))
    seen = _read_everywhere(store, id_)
    if table is not tables.exchange:  # a missing exchange has no trace left
        assert seen.tells or seen.content == before.content
        assert store.maintenance.check().problems
    report = store.maintenance.repair(inspect_trace)
    again = _read_everywhere(store, id_)
    if table is not tables.exchange:
        assert again.tells or again.content == before.content, report
    assert bool(report.left) == bool(store.maintenance.check().problems), report


def _former(facts: dict[str, Any]) -> bytes:
    """The facts of `_QUESTION`, of its one answer and of its trace, as weaklink 0.2.0 packed them."""
    if "generation" not in facts:
        return pack(facts)
    (sent,) = facts["generation"]["request"]["messages"]
    parts = [
        [part["name"], part["text"], *((part["prefix"], part.get("suffix", 0)) if "prefix" in part else ())]
        for part in sent["parts"]
    ]
    request = [0, 0, [1, "user", parts, "", [], None]]
    return pack({"generation": {"attempt": 1, "body": "complete", "request": request}})


_QUESTION = Turn(Role.USER, (Part("text", "Where is it warm? " * 9),))


def test_a_recording_of_0_2_0_is_read_and_its_checksum_is_repaired(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sum is over the compact form of requests, though its turns are stored in their whole form."""
    sent = SentMessage(Role.USER, (SentPart("text", "Where is it warm? " * 9 + "Today"),), 1)
    answer = Turn(Role.ASSISTANT, (Part("text", "Here"),), generation=Generation(request=SentRequest(messages=(sent,))))
    whole = Trace((_QUESTION, answer))
    with monkeypatch.context() as patched:
        patched.setattr("weaklink.storage.record_rows.pack_facts", _former)
        store.save([(whole, inspect_trace(whole))])
        wrong = record_rows(compacted(whole)).trace
        assert wrong["turns_checksum"] != record_rows(whole).trace["turns_checksum"]
    with store._database.engine.begin() as connection:
        names = ("turns_checksum", "record_checksum")
        connection.execute(sa.update(tables.trace).values({name: wrong[name] for name in names}))
    assert store.inspected(1) == (whole, inspect_trace(whole))
    (problem,) = store.maintenance.check().problems
    assert "it is intact, but the checksum of its turns is one that weaklink 0.2.0 computed" in problem
    report = store.maintenance.repair(inspect_trace)
    assert (report.repaired, report.left) == (("trace 1: its record was rebuilt",), ())
    assert store.inspected(1) == (whole, inspect_trace(whole))
    assert store.maintenance.check().problems == ()
    assert store.maintenance.repair(inspect_trace).repaired == ()


def test_what_a_recorder_left_open_is_read_without_its_damaged_pieces(store: Store) -> None:
    sink = StoreSink(store)
    sink.accept(TraceStarted("k", replace(_SAVED, turns=())))
    sink.accept(TurnStarted("k", 1, Role.ASSISTANT))
    for text in ("Good", "day"):
        sink.accept(ChunksArrived("k", 1, (Chunk(0, "text", text),)))
        sink.flush()
    with store._database.engine.begin() as connection:
        number = tables.live_piece.c.number
        connection.execute(sa.update(tables.live_piece).where(number == 1).values(body=b"damaged"))
    (turn,) = store.open_turns(1).values()
    assert [part.text for part in turn.parts] == ["day", "In the database, 1 of its pieces is damaged."]
    sink.close()
