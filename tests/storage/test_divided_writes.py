"""However a session is divided into writes, its rows are those of one write, and it is read as it was recorded."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import in_the_gate
from tests.storage.conftest import NewStore
from tests.storage.samples import TOOLS
from tests.storage.test_live import chunks_of
from tests.strategies import turns
from weaklink.inspector.capture.events import TraceEnded, TraceStarted, TurnEnded
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    ExternalId,
    Generation,
    Outcome,
    Part,
    ResultHeader,
    Role,
    SentBefore,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
    Usage,
)
from weaklink.inspector.model.trace import parts_of
from weaklink.inspector.trace_file import read_trace_file, write_trace_file
from weaklink.storage import tables
from weaklink.storage.record_rows import record_rows
from weaklink.storage.running.session import RecordedSession
from weaklink.storage.store import Store

_NOT_OF_THE_CONTENT = {"id", "imported_at_s", "sort_at_s"}


@pytest.fixture(scope="module")
def shared(new_store: NewStore) -> Store:
    """A store that all examples share; each leaves it empty."""
    return new_store()


def rows_of(store: Store, id_: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of a trace in all tables of its record and its inspection, without ids."""
    rows_by_table: dict[str, list[dict[str, Any]]] = {}
    with store._database.reading() as connection:
        hashes = dict(connection.execute(sa.select(tables.toolset.c.id, tables.toolset.c.hash)).all())
        for table in (tables.trace, *tables.RECORD, *tables.DERIVED):
            key = table.c.id if table is tables.trace else table.c.trace_id
            rows = [dict(row) for row in connection.execute(sa.select(table).where(key == id_)).mappings()]
            for row in rows:
                if "toolset_id" in row:
                    row["toolset_id"] = hashes.get(row["toolset_id"])
                for name in (*_NOT_OF_THE_CONTENT, "trace_id"):
                    row.pop(name, None)
            rows_by_table[table.name] = sorted(rows, key=repr)
    return rows_by_table


def agent_trace(*spacings: str, length: int = 1) -> Trace:
    """An agent whose client writes each call's arguments again with its own white space, as anthropic's does.

    `spacings` are the separators that the model wrote behind a key, one for each call.
    """
    words = "what is the weather? " * length
    made: list[Turn] = [
        Turn(Role.SYSTEM, (Part("text", "Be brief. " * length),)),
        Turn(Role.USER, (Part("text", words),)),
    ]
    sent: list[int | SentMessage | SentBefore] = [1, 2]
    before = 0
    for index, spacing in enumerate(spacings):
        value = {"city": "Oslo", "day": index, "comment": "a long text that both have " * 2 * length}
        written = json.dumps(value, separators=(",", spacing))
        header = CallHeader("call:0", "get_weather", f"call-{index}")
        answer = len(made) + 1
        request = SentRequest(before, len(sent) - 2 if before else 0, tuple(sent[-2:] if before else sent))
        generation = Generation(answered_model="claude", tools=TOOLS, usage=Usage(10, 20), request=request)
        made.append(Turn(Role.ASSISTANT, parts_of(_of_call(written)), calls=(header,), generation=generation))
        made.append(Turn(Role.TOOL, (Part("text", "rain " * length),), result=ResultHeader(f"call-{index}")))
        again = json.dumps(value, separators=(",", ":"))
        same = again == written
        version = SentMessage(Role.ASSISTANT, (SentPart("call:0", again),), answer, calls=(header,))
        sent += [answer if same else version, answer + 1]
        before = answer
    return Trace(tuple(made), name="agent", model="claude", external_ids=(ExternalId("session", "agent"),))


def _of_call(written: str) -> Iterator[Any]:
    for chunk in chunks_of(written):
        yield replace(chunk, part="call:0")


_AGENTS = st.builds(
    lambda spacings, length: agent_trace(*spacings, length=length),
    st.lists(st.sampled_from((":", ": ")), min_size=1, max_size=4),
    st.sampled_from((1, 9)),
)
_TRACES = st.lists(turns(), min_size=1, max_size=5).map(
    lambda made: Trace(tuple(made), name="any", external_ids=(ExternalId("session", "any"),))
)


class Division(list[tuple[str, Any]]):
    """What happens to a session, step by step: its turns end, it is written, its written turns leave the memory."""


@st.composite
def divisions(draw: st.DrawFn, whole: Trace) -> Division:
    """One way to record a trace: in which order its turns end, once or again, and when it is written."""
    numbers = list(range(1, len(whole.turns) + 1))
    if draw(st.booleans()):
        late = draw(st.sampled_from(numbers))  # of two answers at once, the first may end last
        numbers.insert(draw(st.integers(numbers.index(late), len(numbers))), late)
        numbers.remove(late)
    known = draw(st.integers(0, 2))
    division = Division([("start", known)])
    for number in numbers:
        if number <= known:
            continue
        if draw(st.integers(0, 7)) == 0:
            division.append(("early", number))
        division.append(("end", number))
        if draw(st.booleans()):
            division.append(("write", draw(st.booleans())))
        if draw(st.integers(0, 3)) == 0:
            division.append(("release", None))
    return division


def record(store: Store, whole: Trace, division: Division, seen: Callable[[int, Trace], None]) -> int:
    """Record the trace as `division` says; call `seen` after each write with its id and what was recorded so far."""
    session = RecordedSession(Trace(()))
    ended: dict[int, Turn] = {}
    id_: int | None = None

    def write(*, may_lag: bool) -> None:
        nonlocal id_
        step = session.step(inspect_trace, store.turns_of_running, may_lag=may_lag)
        if step is not None:
            (id_,) = store.keep_running("host 1 owner", [step])
            session.mark_written(step, id_)
            assert id_ is not None
            seen(id_, replace(whole, turns=tuple(ended[number] for number in sorted(ended)), outcome=None))

    for what, detail in division:
        if what == "start":
            session.add(TraceStarted("k", replace(whole, turns=whole.turns[:detail], outcome=None)))
            ended.update(enumerate(whole.turns[:detail], 1))
        elif what in ("end", "early"):
            turn = whole.turns[detail - 1]
            ended[detail] = turn if what == "end" else replace(turn, parts=())
            session.add(TurnEnded("k", detail, ended[detail]))
        elif what == "write":
            write(may_lag=detail)
        else:
            session.release()
    session.add(TraceEnded("k", whole.outcome))
    step = session.step(inspect_trace, store.turns_of_running)
    assert step is not None
    (final,) = store.keep_running("host 1 owner", [step])
    assert final is not None
    return final


def _as_recorded(store: Store, id_: int, so_far: Trace) -> None:
    """A running trace is read as it was recorded so far, and its rows are those of one write of it."""
    assert store.trace(id_) == so_far
    expected = record_rows(so_far)
    stored = rows_of(store, id_)
    assert stored["part"] == sorted((row for row in expected.parts), key=repr)
    (row,) = stored["trace"]
    assert {name: row[name] for name in expected.trace} == expected.trace


def _check(store: Store, whole: Trace, division: Division) -> None:
    id_ = record(store, whole, division, partial(_as_recorded, store))
    assert store.inspected(id_) == (whole, inspect_trace(whole))
    divided = rows_of(store, id_)
    store.delete([id_])
    (saved,) = store.save([(whole, inspect_trace(whole))])
    assert divided == rows_of(store, saved.id)
    store.delete([saved.id])


@in_the_gate(10)
@given(st.data())
def test_an_agents_rows_do_not_depend_on_when_they_were_written(shared: Store, data: st.DataObject) -> None:
    whole = replace(data.draw(_AGENTS), outcome=data.draw(st.none() | st.just(Outcome(completed=True))))
    _check(shared, whole, data.draw(divisions(whole)))


@in_the_gate(6)
@given(st.data())
def test_the_rows_of_any_turns_do_not_depend_on_when_they_were_written(shared: Store, data: st.DataObject) -> None:
    whole = data.draw(_TRACES)
    _check(shared, whole, data.draw(divisions(whole)))


def test_a_recorded_trace_is_known_again_in_its_exported_file(store: Store, tmp_path: Path) -> None:
    whole = agent_trace(": ", ": ", length=9)
    (saved,) = store.save([(whole, inspect_trace(whole))])
    write_trace_file(tmp_path / "t.jsonl", [store.trace(saved.id)])
    (again,) = read_trace_file(tmp_path / "t.jsonl")
    assert again != whole  # a file has only what a request's text does not share with its turn
    assert [stored.verdict for stored in store.save([(again, inspect_trace(again))])] == ["unchanged"]


def test_a_check_finds_nothing_in_a_trace_that_grows(store: Store) -> None:
    whole = agent_trace(": ", ": ", length=9)
    division = Division([("start", 2)])
    for number in range(3, len(whole.turns) + 1):
        division += [("end", number), ("write", True)]

    def check(id_: int, so_far: Trace) -> None:
        assert store.maintenance.check().problems == (), (id_, len(so_far.turns))

    record(store, whole, division, check)
    assert store.maintenance.check().problems == ()
