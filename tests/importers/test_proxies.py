"""Files of proxies: what is bounded, what a cut leaves, what other traffic comes to, and who is asked for a body."""

import base64
import contextlib
import gzip
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.flow_files import asked, flow, request, response, streamed, tnetstring
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.proxies.har_document import HarDocument, open_har
from weaklink.inspector.importers.proxies.mitmproxy import read_flow
from weaklink.inspector.importers.proxies.tnetstrings import (
    MAX_ENTRIES,
    MalformedValueError,
    StoredFlow,
    TnetString,
    read_flows,
    value_at,
)
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.model import BodyState, ErrorPhase, Generation, Json, Trace

ASKED = asked({"role": "user", "content": "When is high tide?"})
ANSWERED = streamed({"content": "At 17:42."})
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "mitmproxy"


def read(path: Path, content: bytes) -> tuple[list[Trace], list[Skipped]]:
    path.write_bytes(content)
    records = list(read_source(path).records)
    traces = [record for record in records if isinstance(record, Trace)]
    return traces, [record for record in records if isinstance(record, Skipped)]


def generation(trace: Trace) -> Generation:
    found = trace.turns[-1].generation
    assert found is not None
    return found


def plain(value: TnetString) -> object:
    match value.kind:
        case b"}":
            return {key: plain(member) for key, member in value.members().items()}
        case b"]":
            return list(map(plain, value.entries()))
        case b",":
            return value.payload()
        case b";":
            return value.text()
        case b"#" | b"^":
            return value.number()
        case b"!":
            return value.raw[value.start : value.end] == b"true"
    assert value.is_null
    return None


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(-1e200, 1e200)
    | st.binary(max_size=20)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(values)
def test_what_is_written_as_a_tnetstring_is_read_back(value: object) -> None:
    raw = tnetstring(value)
    assert plain(value_at(raw, 0, len(raw))) == value


@given(st.binary(max_size=60))
def test_bytes_that_are_no_flow_are_told(raw: bytes) -> None:
    assert isinstance(read_flow(StoredFlow(1, 0, raw)), Skipped)


@given(st.lists(st.binary(max_size=40), max_size=5), st.data())
def test_a_flow_file_that_ends_anywhere_has_the_flows_before(bodies: list[bytes], data: st.DataObject) -> None:
    flows = [tnetstring({"content": body}) for body in bodies]
    raw = b"".join(flows)
    starts = [sum(map(len, flows[:number])) for number in range(len(flows) + 1)]
    end = data.draw(st.integers(0, len(raw)))
    found = list(read_flows(io.BytesIO(raw[:end])))
    whole = [
        StoredFlow(number, start, flow) for number, (start, flow) in enumerate(zip(starts, flows, strict=False), 1)
    ]
    complete = sum(start <= end for start in starts[1:])
    assert found[:complete] == whole[:complete]
    rest = found[complete:]
    assert [one.start for one in rest if isinstance(one, Skipped)] == ([] if end in starts else [starts[complete]])


@given(st.binary(max_size=80), st.integers(1, 20))
def test_any_bytes_are_read_to_their_end_within_the_limit(raw: bytes, limit: int) -> None:
    found = list(read_flows(io.BytesIO(raw), limit=limit))
    assert all(len(one.raw) <= limit + 14 for one in found if isinstance(one, StoredFlow))


def test_a_flow_beyond_the_limit_is_passed_over_and_the_next_is_read() -> None:
    small = tnetstring({"a": 1})
    large = tnetstring({"content": b"x" * 100})
    found = list(read_flows(io.BytesIO(small + large + small), limit=30))
    assert found == [
        StoredFlow(1, 0, small),
        Skipped("flow 2", "it is longer than 30 bytes", start=len(small)),
        StoredFlow(3, len(small + large), small),
    ]


def test_a_dictionary_of_very_many_members_is_refused_before_it_fills_the_memory() -> None:
    raw = tnetstring([None] * (MAX_ENTRIES + 1))
    with pytest.raises(MalformedValueError, match="more than 10000 entries"):
        value_at(raw, 0, len(raw)).entries()
    inner = b"".join(b"%d:%s," % (len(name), name) + b"0:~" for name in (b"%d" % n for n in range(MAX_ENTRIES)))
    assert isinstance(read_flow(StoredFlow(3, 0, b"%d:%s}" % (len(inner), inner))), Skipped)


def test_a_length_that_reaches_beyond_its_value_is_damage(tmp_path: Path) -> None:
    good = tnetstring(flow(request=request(ASKED), response=response(ANSWERED)))
    broken = good.replace(b"7:version;2:21#", b"7:version;9:21#")
    traces, skipped = read(tmp_path / "x", broken + good)
    assert len(traces) == 1
    assert [one.record for one in skipped] == ["flow 1"]
    assert "does not match its length" in skipped[0].reason


def test_a_flow_file_cut_anywhere_keeps_what_came_before(tmp_path: Path) -> None:
    raw = tnetstring(flow(request=request(ASKED), response=response(ANSWERED)))
    for end in range(len(raw) + 1, 2 * len(raw), 97):
        traces, skipped = read(tmp_path / "x", (raw + raw)[:end])
        assert [trace.turns[-1].parts[0].text for trace in traces] == ["At 17:42."]
        assert [one.record for one in skipped] == ["flow 2"]


def test_packed_flow_files_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    raw = b"".join(
        tnetstring(flow(request=request(ASKED, at_s=10.0 * at), response=response(ANSWERED, at_s=10.0 * at)))
        for at in range(400)
    )
    packed = gzip.compress(raw, mtime=0)
    whole, _ = read(tmp_path / "whole", packed)
    cut, skipped = read(tmp_path / "cut", packed[: len(packed) // 2])
    assert 0 < sum(len(trace.turns) for trace in cut) < sum(len(trace.turns) for trace in whole)
    assert "end of file" in [one.record for one in skipped]


def test_very_much_other_traffic_is_told_in_one_record(tmp_path: Path) -> None:
    probe = tnetstring(flow(request=request(path="/health"), response=response(b"ok", kind="text/plain")))
    raw = probe * 2000 + tnetstring(flow(request=request(ASKED), response=response(ANSWERED)))
    traces, skipped = read(tmp_path / "x", raw)
    assert len(traces) == 1
    reason = "not part of a trace: requests to other services (2000)"
    assert skipped == [Skipped("2000 of 2001 flows", reason, is_irrelevant=True)]


def test_flows_of_older_formats_are_refused_with_what_to_do(tmp_path: Path) -> None:
    old = [{b"version": [0, 11, 2], b"type": b"http"}, flow(version=17), flow(version=5)]
    traces, skipped = read(tmp_path / "x", b"".join(map(tnetstring, old)))
    assert traces == []
    assert [one.record for one in skipped] == ["3 of the flows"]
    assert "mitmdump --no-server --rfile OLD --save-stream-file NEW" in skipped[0].reason


@pytest.mark.parametrize(
    ("words", "connected", "phase"),
    [
        ("Client disconnected.", True, ErrorPhase.CLIENT_ABORT),
        ("stream reset by client (CANCEL)", True, ErrorPhase.CLIENT_ABORT),
        ("peer closed connection", True, ErrorPhase.TRANSPORT),
        ("connection timed out", True, ErrorPhase.TRANSPORT),
        ("[Errno 111] Connect call failed", False, ErrorPhase.CONNECT),
    ],
)
def test_how_a_flow_ended_is_told_from_its_error(
    words: str, connected: bool, phase: ErrorPhase, tmp_path: Path
) -> None:
    failed = flow(
        request=request(ASKED),
        response=response(None) if connected else None,
        server_conn={"timestamp_tcp_setup": 1.0 if connected else None},
        error={"msg": words, "timestamp": 1_790_000_002.0},
    )
    ((trace,), _) = read(tmp_path / "x", tnetstring(failed))
    error = generation(trace).error
    assert error is not None
    assert (error.phase, error.message) == (phase, words)
    assert generation(trace).body is (BodyState.NOT_STORED if connected else BodyState.COMPLETE)


def entry(content: Json, *, body: bytes = ASKED, **beside: Json) -> dict[str, Json]:
    return {
        "startedDateTime": "2026-09-21T12:00:00Z",
        "time": 900,
        "request": {
            "method": "POST",
            "url": "https://api.example.org/v1/chat/completions",
            "headers": [],
            "postData": {"mimeType": "application/json", "text": body.decode()},
        },
        "response": {"status": 200, "headers": [], "content": content},
        **beside,
    }


def har(*entries: Json, **beside: Json) -> bytes:
    return json.dumps(
        {"log": {"version": "1.2", "creator": {"name": "x"}, **beside, "entries": list(entries)}}
    ).encode()


STORED: Json = {"size": len(ANSWERED), "mimeType": "text/event-stream", "text": ANSWERED.decode()}


def text_of(traces: list[Trace]) -> list[str]:
    return [part.text for trace in traces for part in trace.turns[-1].parts]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\n \t"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zlib.compress])
def test_a_har_file_is_known_however_it_is_packed(mark: bytes, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    traces, skipped = read(tmp_path / "x", pack(mark + har(entry(STORED))))
    assert text_of(traces) == ["At 17:42."]
    assert skipped == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_a_body_in_base64_may_be_packed_or_not(encoding: str, is_packed: bool, tmp_path: Path) -> None:
    pack: Callable[[bytes], bytes] = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}.get(
        encoding, bytes
    )
    raw = pack(ANSWERED) if is_packed else ANSWERED
    content: Json = {"text": base64.b64encode(raw).decode(), "encoding": "base64"}
    one = entry(content)
    one["response"] = {
        "status": 200,
        "content": content,
        "headers": [{"name": "Content-Encoding", "value": encoding}],
    }
    traces, _ = read(tmp_path / "x", har(one))
    assert text_of(traces) == ["At 17:42."]


def test_a_body_that_is_called_base64_and_is_none_stands_as_it_is(tmp_path: Path) -> None:
    traces, _ = read(tmp_path / "x", har(entry({"text": "5", "encoding": "base64"})))
    assert text_of(traces)[0] == "5"


def test_a_har_entry_may_be_anywhere_behind_other_members(tmp_path: Path) -> None:
    pages: Json = [{"title": '"entries": [', "id": "p", "entries": [1, 2]}]
    raw = json.dumps(
        {
            "note": {"entries": [5]},
            "log": {"entries_": [], "version": "1.2", "pages": pages, "entries": [entry(STORED)]},
        }
    )
    path = tmp_path / "x"
    path.write_text(raw)
    traces = [one for one in read_source(path, "har").records if isinstance(one, Trace)]
    assert text_of(traces) == ["At 17:42."]
    assert traces[0].provenance.source_version == "1.2"


@given(st.binary(max_size=80))
def test_a_har_document_of_any_bytes_ends(raw: bytes) -> None:
    document = HarDocument(io.BytesIO(raw))
    assert all(isinstance(one, Skipped) or one.raw for one in document.entries())


def test_a_har_file_cut_anywhere_raises_nothing_and_keeps_what_came_before(tmp_path: Path) -> None:
    raw = har(entry(STORED), entry(STORED, startedDateTime="2026-09-21T13:00:00Z"))
    first = raw.index(b"2026-09-21T13") - 20
    for end in range(first, len(raw) - 3, 37):
        traces, skipped = read(tmp_path / "x", raw[:end])
        assert text_of(traces)[0] == "At 17:42."
        assert skipped


def test_a_zlib_bomb_stops_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.inspector.importers.compression._MIN_BOUND_BYTES", 1 << 20)
    monkeypatch.setattr("weaklink.inspector.importers.compression._GROWTH", 1)
    bomb = har(entry(STORED))[:-3] + b"," + b" " * (4 << 20) + b"]}}"
    traces, skipped = read(tmp_path / "x.zhar", zlib.compress(bomb))
    assert text_of(traces) == ["At 17:42."]
    assert skipped == [Skipped("end of file", "the compressed data unpacks to more than 1 MiB")]


def archive(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return made.getvalue()


def test_a_zip_bomb_stops_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weaklink.inspector.importers.archives._MIN_BOUND_BYTES", 1 << 20)
    monkeypatch.setattr("weaklink.inspector.importers.archives._GROWTH", 1)
    bomb = har(entry(STORED))[:-3] + b"," + b" " * (4 << 20) + b"]}}"
    traces, skipped = read(tmp_path / "x.zip", archive(("a.har", bomb)))
    assert text_of(traces) == ["At 17:42."]
    assert skipped == [Skipped("end of file", "the compressed data unpacks to more than 1 MiB")]


def test_names_in_an_archive_are_compared_and_never_written_or_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(ANSWERED)
    members = [("../../escape.txt", b"x"), ("/abs.txt", b"y"), ("dir/a.har", har(entry({"_file": str(outside)})))]
    folder = tmp_path / "in" / "there"
    folder.mkdir(parents=True)
    traces, _ = read(folder / "x.zip", archive(*members))
    assert [generation(trace).body for trace in traces] == [BodyState.NOT_STORED]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in", "outside", "there", "x.zip"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "no document"])
def test_a_damaged_archive_raises_nothing_but_damage(damage: str, tmp_path: Path) -> None:
    raw = archive(("a.har" if damage != "no document" else "a.txt", har(entry(STORED))))
    path = tmp_path / "x.zip"
    path.write_bytes({"cut": raw[:-30], "flipped": raw[:60] + bytes(40) + raw[100:], "no document": raw}[damage])
    with pytest.raises(DamagedDataError):
        read_to_the_end(path)


def read_to_the_end(path: Path) -> None:
    with open_har(SourceFile(path)) as content:
        while content.stream.read():
            pass


def test_an_archive_without_its_end_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    raw = archive(("a.txt", ANSWERED), ("b.har", har(entry({"_file": "a.txt"}))))
    traces, skipped = read(tmp_path / "x.zip", raw[: raw.index(b"PK\1\2")])
    assert text_of(traces) == ["At 17:42."]
    assert skipped == []


def cut_file(folder: Path, raw: bytes) -> Path:
    path = folder / "cut.zhar"
    path.write_bytes(zlib.compress(raw)[:-3])
    return path


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) + 1, 3 << 16])
def test_a_zlib_file_is_read_to_its_last_byte(size: int, tmp_path: Path) -> None:
    raw = har(entry(STORED))
    raw += b" " * (size - len(raw))
    traces, skipped = read(tmp_path / "x.zhar", zlib.compress(raw))
    assert text_of(traces) == ["At 17:42."]
    assert skipped == []
    with SourceFile(cut_file(tmp_path, raw)).open() as stream:
        assert stream.read() == raw
        with pytest.raises(DamagedDataError, match="it ends early"):
            stream.read()


def test_an_archive_with_bytes_inserted_in_a_member_keeps_the_members_after_it(tmp_path: Path) -> None:
    raw = Path("tests/cases/importers/har/playwright.zip").read_bytes()
    path = tmp_path / "doubled.zip"
    path.write_bytes(raw[:394] + raw[188:394] + raw[394:])  # within the first member, which is no log
    traces = [record for record in read_source(path).records if isinstance(record, Trace)]
    assert len(traces) == 2


def test_an_archive_with_any_byte_flipped_raises_nothing(tmp_path: Path) -> None:
    raw = archive(("a.txt", ANSWERED), ("b.har", har(entry({"_file": "a.txt"}))))
    path = tmp_path / "x.zip"
    for at in range(4, len(raw)):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        with contextlib.suppress(UnreadableFileError):
            list(read_source(path).records)


@pytest.mark.parametrize("is_beside", [True, False])
def test_the_events_of_a_browser_give_their_times(is_beside: bool, tmp_path: Path) -> None:
    chunks = [line.removeprefix("data: ") for line in ANSWERED.decode().split("\n\n") if line]
    events: Json = [{"time": 1_789_992_000.25 + at, "data": chunk} for at, chunk in enumerate(chunks)]
    content: Json = {"text": ": OPENROUTER PROCESSING\n\n" + ANSWERED.decode()} if is_beside else {"size": 0}
    ((trace,), _) = read(tmp_path / "x", har(entry(content, _eventSourceMessages=events)))
    part = trace.turns[-1].part("text")
    assert part is not None
    assert part.text == "At 17:42."
    assert part.chunks is not None
    assert part.chunks.offsets_s is not None
    assert math.isclose(part.chunks.offsets_s[0] or 0, 0.25, abs_tol=1e-6)
    assert (trace.turns[-1].part("wire:comments") is not None) is is_beside


def test_events_that_are_not_the_bodys_give_no_times(tmp_path: Path) -> None:
    events: Json = [{"time": 1_789_992_000.25, "data": "another"}]
    ((trace,), _) = read(tmp_path / "x", har(entry(STORED, _eventSourceMessages=events)))
    (part,) = trace.turns[-1].parts
    assert part.text == "At 17:42."
    assert part.chunks is not None
    assert part.chunks.offsets_s is None


@pytest.mark.skipif(not SAMPLES.exists(), reason="the real logs are not here")
@pytest.mark.parametrize("name", ["small.mitm", "small.har"])
def test_the_real_logs_give_what_an_independent_reading_counted(name: str) -> None:
    traces = [one for one in read_source(SAMPLES / name).records if isinstance(one, Trace)]
    turns = [turn for trace in traces for turn in trace.turns]
    assert [len(trace.turns) for trace in traces] == [3, 5, 3, 3, 3, 3, 3]
    assert sum(turn.generation is not None for turn in turns) == 8
    assert sum(len(turn.calls) for turn in turns) == 2
    lost = [turn for turn in turns if turn.generation and turn.generation.body is BodyState.NOT_STORED]
    assert len(lost) == 1
