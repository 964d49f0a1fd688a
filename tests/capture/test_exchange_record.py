"""What a recording keeps of each exchange for a replay, and how the database and a trace file hold it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture import scripted_answers as scripted
from tests.capture.answer import Answer
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.model import Json
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.trace_file.lines import ExchangePacker, exchanges_of
from weaklink.inspector.trace_file.reading import read_recordings, read_trace_file
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store

_KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6" * 2
_TYPE = (("Content-Type", "text/event-stream"), ("Set-Cookie", "a=b"), ("X-Request-Id", "req_1"), ("Retry-After", "2"))


def _exchange(
    recorder: Recorder, messages: Sequence[Json], answer: Answer, *, path: str = "/v1/chat/completions"
) -> bytes:
    """Tell a recorder of one exchange with the pieces of an answer; the request's body."""
    body = json.dumps({"messages": messages, "model": "m", "stream": True, "tools": []}).encode()
    headers = (("content-length", str(len(body))), ("authorization", f"Bearer {_KEY}"))
    observer = recorder.began(
        RequestHead("POST", "/v1/chat/completions", headers, upstream="https://host.test/api", at_s=100.0)
    )
    observer.request_arrived(body)
    observer.answer_began(200, _TYPE, 100.5)
    for number, piece in enumerate(_bytes(answer)):
        observer.answer_arrived(piece, 101.0 + number)
    observer.ended(ExchangeEnd.COMPLETE, 120.0)
    return body


def _bytes(answer: Answer) -> list[bytes]:
    return [piece for piece in answer.pieces if isinstance(piece, bytes)]


def _recorded(
    destination: Path, *messages: Sequence[Json], answer: Answer, redactor: Redactor | None = None
) -> list[bytes]:
    sink = TraceFileSink(destination)
    recorder = Recorder(sink, redactor=redactor)
    sent = [_exchange(recorder, some, answer) for some in messages]
    recorder.close()
    sink.close()
    return sent


def _said(words: str) -> Json:
    return {"role": "user", "content": words}


def test_an_exchange_is_kept_with_its_pieces_and_few_headers(tmp_path: Path) -> None:
    answer = scripted.chat_stream("Hello", " world")
    (sent,) = _recorded(tmp_path / "t.jsonl", [_said("Hi")], answer=answer)
    ((_, (exchange,)),) = read_recordings(tmp_path / "t.jsonl")
    assert (exchange.method, exchange.path, exchange.status) == ("POST", "/api/v1/chat/completions", 200)
    assert exchange.headers == (("content-type", "text/event-stream"), ("x-request-id", "req_1"), ("retry-after", "2"))
    assert (exchange.request, list(exchange.pieces()), exchange.end) == (sent, _bytes(answer), ExchangeEnd.COMPLETE)
    assert exchange.offsets_s == tuple(1.0 + number for number in range(len(_bytes(answer))))
    assert (exchange.turn, exchange.is_redacted, exchange.withheld) == (2, False, "")


def test_a_history_that_grows_is_stored_once(tmp_path: Path) -> None:
    history: list[Json] = [_said("A question of some length. " * 20)]
    requests = []
    for number in range(30):
        requests.append(list(history))
        history += [{"role": "assistant", "content": "Hello world"}, _said(f"And number {number}? " * 20)]
    sent = _recorded(tmp_path / "t.jsonl", *requests, answer=scripted.chat_stream("Hello", " world"))
    ((trace, exchanges),) = read_recordings(tmp_path / "t.jsonl")
    assert [exchange.request for exchange in exchanges] == sent
    line = (tmp_path / "t.jsonl").read_text().splitlines()[1]
    kept = sum(len(record["request"]["text"]) for record in json.loads(line)["trace"]["exchanges"])
    assert kept < 2 * len(sent[-1])
    assert [trace] == list(read_trace_file(tmp_path / "t.jsonl"))


@pytest.mark.parametrize("pieces", [(f"key {_KEY} end",), (f"key {_KEY[:20]}", f"{_KEY[20:]} end")])
def test_no_secret_is_kept_wherever_it_was(tmp_path: Path, pieces: tuple[str, ...]) -> None:
    redactor = Redactor()
    _recorded(tmp_path / "t.jsonl", [_said(f"Use {_KEY}")], answer=scripted.chat_stream(*pieces), redactor=redactor)
    assert _KEY[20:] not in (tmp_path / "t.jsonl").read_text()
    ((_, (exchange,)),) = read_recordings(tmp_path / "t.jsonl")
    assert exchange.is_redacted
    assert (exchange.answer is None) == bool(exchange.withheld) == (len(pieces) > 1)


def test_without_content_no_body_is_kept(tmp_path: Path) -> None:
    redactor = Redactor(keep_content=False)
    _recorded(tmp_path / "t.jsonl", [_said("Hi")], answer=scripted.chat_stream("Hello"), redactor=redactor)
    ((_, (exchange,)),) = read_recordings(tmp_path / "t.jsonl")
    assert (exchange.request, exchange.answer, exchange.withheld) == (
        None,
        None,
        "The recording was made with `--no-content`.",
    )


def test_the_database_keeps_them_and_deletes_them_with_their_trace(tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        sink = StoreSink(store)
        recorder = Recorder(sink)
        models = recorder.began(RequestHead("GET", "/v1/models", upstream="https://host.test", at_s=90.0))
        models.answer_began(200, (("content-type", "application/json"),), 91.0)
        models.answer_arrived(b'{"data": []}', 91.0)
        models.ended(ExchangeEnd.COMPLETE, 92.0)
        sent = _exchange(recorder, [_said("Hi")], scripted.chat_stream("Hello"))
        recorder.close()
        sink.close()
        ((id_, exchanges),) = store.exchanges.of("latest").traces.items()
        assert [(exchange.method, exchange.path, exchange.request, exchange.turn) for exchange in exchanges] == [
            ("GET", "/v1/models", b"", 0),
            ("POST", "/api/v1/chat/completions", sent, 2),
        ]
        assert exchanges[0].answer == b'{"data": []}'
        store.delete([id_])
        with store._database.reading() as connection:  # what is deleted cannot be asked for
            assert connection.exec_driver_sql("SELECT count(*) FROM exchange").scalar() == 0


_BODIES = st.lists(st.sampled_from([b"a" * 70, b"b" * 70, b"\xff\xfe", "\u20ac".encode(), b"{}"]), max_size=6).map(
    b"".join
)


@given(st.lists(st.one_of(st.none(), _BODIES), max_size=6))
def test_packed_requests_come_back(bodies: list[bytes | None]) -> None:
    exchanges = [RecordedExchange("POST", "/", request=body) for body in bodies]
    packer = ExchangePacker()
    assert list(exchanges_of([packer.line(exchange) for exchange in exchanges])) == exchanges


def test_a_request_whose_base_is_missing_says_so() -> None:
    packer = ExchangePacker()
    _, *lines = [packer.line(RecordedExchange("POST", "/", request=b"a" * 100 + bytes([index]))) for index in range(3)]
    assert [(exchange.request, bool(exchange.withheld)) for exchange in exchanges_of(lines)] == [(None, True)] * 2
