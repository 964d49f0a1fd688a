"""An upgrade while recorders write: they wait for it, or write again, and nothing of what they record is lost."""

from threading import Event, Thread
from time import sleep

import pytest
import sqlalchemy as sa

from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.model import Chunk, Part, Role, Trace, Turn
from weaklink.storage.engine import location_of, new_engine, writing
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store, upgrade_store

_RECORDERS = 4
_SESSIONS = 3  # of each recorder after the upgrade began, and one before


class _Recorder(Thread):
    """Records sessions of a few chunks, one after the other, until it is told to stop; each answer says its number."""

    def __init__(self, database: str, name: str, stop: Event) -> None:
        super().__init__()
        self._sink, self._label, self._until = StoreSink(database), name, stop
        self.made: list[str] = []

    def run(self) -> None:
        while not self._until.is_set() or len(self.made) <= _SESSIONS:
            key = f"{self._label} {len(self.made)}"
            self.made.append(key)
            words = [f"{key}, word {index}. " for index in range(20)]
            self._sink.accept(TraceStarted(key, Trace((), name=key)))
            self._sink.accept(TurnEnded(key, 1, Turn(Role.USER, (Part("text", f"Say {key}"),))))
            self._sink.accept(TurnStarted(key, 2, Role.ASSISTANT))
            for position, word in enumerate(words):
                self._sink.accept(ChunksArrived(key, 2, (Chunk(position, "text", word, position / 10),)))
                sleep(0.005)
            self._sink.accept(TurnEnded(key, 2, Turn(Role.ASSISTANT, (Part("text", "".join(words)),))))
            self._sink.accept(TraceEnded(key))
        self._sink.flush()
        self.dropped = self._sink.dropped
        self._sink.close()


@pytest.mark.one_in(2)
def test_an_upgrade_under_load_loses_nothing(database: str) -> None:
    stop = Event()
    with open_store(database):
        pass
    engine = new_engine(location_of(database))
    recorders = [_Recorder(database, f"recorder {number}", stop) for number in range(_RECORDERS)]
    with writing(engine) as connection:
        for table in ("imported_trace", "imported_file", "probe_run"):
            connection.execute(sa.text(f"DROP TABLE {table}"))
        # as an older weaklink has it, whose recorders these are
        connection.execute(sa.text("UPDATE weaklink_version SET version_num = 'v0018'"))
    engine.dispose()
    for recorder in recorders:
        recorder.start()
    while not all(recorder.made for recorder in recorders):
        sleep(0.01)
    assert upgrade_store(database) is True
    stop.set()
    for recorder in recorders:
        recorder.join()
    assert [recorder.dropped for recorder in recorders] == [0] * _RECORDERS
    made = {key for recorder in recorders for key in recorder.made}
    assert len(made) > _RECORDERS * _SESSIONS
    with open_store(database) as store:
        stored = {store.trace(summary.id) for summary in store.traces(limit=10_000)}
    assert {trace.name for trace in stored} == made
    for trace in stored:
        assert trace.turns[1].parts[0].text == "".join(f"{trace.name}, word {index}. " for index in range(20))
