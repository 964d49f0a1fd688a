"""What gateways' logs mean: sessions go across requests, a lost answer is told as lost, made-up ids tell nothing."""

import csv
import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers import reading as together_module
from weaklink.inspector.importers.gateways import logged_requests as gateway_tables
from weaklink.inspector.importers.gateways import logged_requests as gateways
from weaklink.inspector.importers.gateways.logged_requests import body_of, entries_of
from weaklink.inspector.importers.reading import group_files, read_group, read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import BodyState, ErrorPhase, Json, RecognisedBy, Role, Trace, Turn, TurnFlag

CASES = Path(__file__).parents[1] / "cases" / "importers"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


def traces(path: Path) -> list[Trace]:
    return [record for record in read_source(path).records if isinstance(record, Trace)]


def skipped(path: Path) -> list[str]:
    return [record.reason for record in read_source(path).records if isinstance(record, Skipped)]


def written(tmp_path: Path, rows: Iterable[object], name: str = "file") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(name: str) -> list[dict[str, Json]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def answers(trace: Trace) -> list[Turn]:
    return [turn for turn in trace.turns if turn.generation is not None]


def bodies(trace: Trace) -> list[BodyState]:
    return [turn.generation.body for turn in trace.turns if turn.generation is not None]


def errors(trace: Trace) -> list[tuple[ErrorPhase, int | None] | None]:
    made = [turn.generation for turn in trace.turns if turn.generation is not None]
    return [None if one.error is None else (one.error.phase, one.error.status) for one in made]


def call_texts(trace: Trace) -> list[str]:
    return [part.text for turn in answers(trace) for part in turn.parts if part.name.startswith("call:")]


def test_litellms_requests_are_one_session_though_each_has_a_trace_id_of_its_own() -> None:
    session, _ = traces(CASES / "litellm" / "payloads.jsonl")
    assert [turn.role for turn in session.turns].count(Role.USER) == 1
    assert session.recognised_by is RecognisedBy.PREFIX_CHAIN
    assert call_texts(session) == ['{"port": "Brest"', '{"port": "Brest"}']


def test_litellms_empty_answers_are_lost_and_a_stream_that_broke_off_is_told_from_a_refusal() -> None:
    session, other = traces(CASES / "litellm" / "payloads.jsonl")
    assert errors(session) == [None, (ErrorPhase.HTTP, 429), None, (ErrorPhase.TRANSPORT, None), None]
    kept, lost = BodyState.COMPLETE, BodyState.NOT_STORED
    assert bodies(session) == [kept, lost, kept, lost, kept]
    assert [turn.generation.attempt for turn in answers(session) if turn.generation] == [1, 1, 2, 1, 2]
    assert bodies(other) == [lost]
    assert any("is lost" in warning for warning in other.provenance.warnings)


def test_litellms_first_token_is_when_its_completion_started_if_it_streamed() -> None:
    rows = rows_of("litellm/payloads.jsonl")
    first = answers(traces(CASES / "litellm" / "payloads.jsonl")[0])[0].generation
    assert first is not None
    assert first.first_token is not None
    assert first.first_token.at_s == rows[0]["completionStartTime"]


@pytest.mark.parametrize("separator", ["\n", ""])
def test_the_objects_that_litellm_puts_in_a_bucket_are_one_log_when_put_one_behind_the_other(
    separator: str, tmp_path: Path
) -> None:
    path = tmp_path / "bucket"
    objects = [json.dumps(row, indent=4) for row in rows_of("litellm/payloads.jsonl")]
    path.write_text(separator.join(objects), encoding="utf-8")
    whole = traces(CASES / "litellm" / "payloads.jsonl")
    assert [trace.turns for trace in traces(path)] == [trace.turns for trace in whole]


def test_a_log_that_is_too_long_to_hold_is_gathered_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "MAX_HELD_BYTES", 3_000)
    found = traces(CASES / "litellm" / "payloads.jsonl")
    assert len(found) == 3
    assert all(any("several traces" in warning for warning in trace.provenance.warnings) for trace in found)
    assert [len([turn for turn in answers(trace) if not turn.flags]) for trace in found] == [3, 2, 1]
    assert any(TurnFlag.COPIED_CONTEXT in turn.flags for turn in found[1].turns)


@pytest.fixture
def bucket(tmp_path: Path) -> list[str]:
    """LiteLLM's requests as the S3 logger puts them there, and a file of another source."""
    paths = []
    for number, row in enumerate(rows_of("litellm/payloads.jsonl")):
        day = tmp_path / f"2027-01-{15 + number // 4}"
        day.mkdir(exist_ok=True)
        path = day / f"time-08-00-{number:02}-000000_{row['id']}.json"
        path.write_text(json.dumps(row, indent=4), encoding="utf-8")
        paths.append(str(path))
    other = written(tmp_path, [{"messages": [{"role": "user", "content": "x"}]}], "other")
    return [paths[0], str(other), *paths[1:]]


def test_the_objects_of_a_bucket_are_read_as_one_log(bucket: list[str]) -> None:
    together, alone = (group.paths for group in group_files(bucket))
    assert (alone, len(together)) == ((bucket[1],), 9)
    records = list(read_group(together, "litellm"))
    found = [record for record in records if isinstance(record, Trace)]
    whole = traces(CASES / "litellm" / "payloads.jsonl")
    assert [(trace.turns, trace.external_ids) for trace in found] == [
        (trace.turns, trace.external_ids) for trace in whole
    ]
    assert [(trace.provenance.file, trace.provenance.record) for trace in found] == [
        (together[0], "document 1"),
        (together[8], "document 1"),
    ]
    assert {trace.provenance.source for trace in found} == {"litellm"}
    assert [(record.file, record.record) for record in records if isinstance(record, Skipped)] == [
        (together[number], "document 1") for number in (3, 6, 7)
    ]


def test_only_so_much_is_read_as_one_log(bucket: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together_module, "MAX_TOGETHER_BYTES", 8_000)
    groups = [group.paths for group in group_files(bucket)]
    assert [path for group in groups for path in group if path != bucket[1]] == [bucket[0], *bucket[2:]]
    assert 2 < len(groups) < 10
    monkeypatch.setattr(together_module, "MAX_FILE_BYTES", 100)
    assert [len(group.paths) for group in group_files(bucket)] == [1] * 10


def test_a_file_that_is_gone_is_alone_and_one_that_goes_is_told(bucket: list[str]) -> None:
    together, *_ = (group.paths for group in group_files(bucket))
    Path(together[4]).unlink()
    assert (together[4],) in [group.paths for group in group_files(bucket)]
    with pytest.raises(UnreadableFileError, match="and the files read with it: No such file"):
        list(read_group(together, "litellm"))


def test_openrouters_facts_in_several_files_keep_their_places(tmp_path: Path) -> None:
    rows = rows_of("openrouter/generations.jsonl")
    paths = tuple(str(written(tmp_path, [row], f"{number}")) for number, row in enumerate(rows[:2]))
    assert [group.paths for group in group_files(paths)] == [paths]
    found = [record for record in read_group(paths, "openrouter") if isinstance(record, Trace)]
    assert [(one.provenance.file, one.provenance.record) for one in found] == [(path, "line 1") for path in paths]


def test_an_object_of_litellm_alone_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "time-08-00-00_r1.json"
    path.write_text(json.dumps(rows_of("litellm/payloads.jsonl")[2], indent=4), encoding="utf-8")
    (trace,) = traces(path)
    assert [turn.role for turn in trace.turns] == [
        Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT,
    ]  # fmt: skip


def test_a_line_with_a_batch_of_litellms_payloads_is_read_as_its_payloads(tmp_path: Path) -> None:
    rows = rows_of("litellm/payloads.jsonl")
    path = written(tmp_path, [rows[:3], rows[3:]])
    assert [trace.turns for trace in traces(path)] == [
        trace.turns for trace in traces(CASES / "litellm" / "payloads.jsonl")
    ]


def test_requests_are_put_in_order_by_their_times(tmp_path: Path) -> None:
    rows = rows_of("litellm/payloads.jsonl")
    first, _ = traces(written(tmp_path, reversed(rows)))
    assert first.turns == traces(CASES / "litellm" / "payloads.jsonl")[0].turns


def test_a_log_of_litellm_that_grew_gives_the_same_ids(tmp_path: Path) -> None:
    rows = rows_of("litellm/payloads.jsonl")
    short, long = traces(written(tmp_path, rows[:2], "a"))[0], traces(written(tmp_path, rows, "b"))[0]
    assert short.external_ids == long.external_ids
    assert len(short.turns) < len(long.turns)


def test_a_retry_under_one_made_up_trace_id_makes_no_session_of_it(tmp_path: Path) -> None:
    rows = rows_of("litellm/payloads.jsonl")
    rows[1]["trace_id"] = rows[2]["trace_id"] = "of-the-router"
    first, _ = traces(written(tmp_path, rows))
    assert first.recognised_by is RecognisedBy.PREFIX_CHAIN
    assert len(answers(first)) == 5


def test_other_peoples_requests_are_other_sessions(tmp_path: Path) -> None:
    rows = rows_of("litellm/payloads.jsonl")[:3:2]
    for row, key in zip(rows, ("one", "two"), strict=True):
        row["metadata"] = {"user_api_key_hash": key}
    assert len(traces(written(tmp_path, rows))) == 2


def test_anthropics_blocks_become_calls_and_results_in_litellms_payloads() -> None:
    first, *_ = traces(CASES / "litellm" / "endpoints.jsonl")
    assert [turn.role for turn in first.turns] == [
        Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT,
    ]  # fmt: skip
    assert [turn.result.is_error for turn in first.turns if turn.result] == [True]


def test_spend_logs_without_messages_say_which_setting_keeps_them() -> None:
    assert "store_prompts_in_spend_logs" in skipped(CASES / "litellm" / "spend_logs.json")[0]


def test_helicones_streamed_text_gives_chunks_and_the_arguments_as_far_as_they_came() -> None:
    first, *_ = traces(CASES / "helicone" / "export.jsonl")
    assert call_texts(first) == ['{"port": "Br', '{"port": "Brest"}']
    text = answers(first)[0].parts[0]
    assert [chunk.text for chunk in text.arrivals()] == ["I ", "look."]
    assert text.chunks is not None
    assert text.chunks.offsets_s is None


def test_helicones_session_id_is_how_its_session_is_recognised() -> None:
    first, *_ = traces(CASES / "helicone" / "export.jsonl")
    assert first.recognised_by is RecognisedBy.HEADER
    assert ("helicone-session-id", "s-7") in [(one.name, one.value) for one in first.external_ids]


def test_helicones_cancelled_stream_is_the_clients_doing_and_keeps_what_came() -> None:
    cancelled = traces(CASES / "helicone" / "export.jsonl")[2]
    assert errors(cancelled) == [(ErrorPhase.CLIENT_ABORT, None)]
    assert (bodies(cancelled), cancelled.turns[-1].parts[0].text) == ([BodyState.TRUNCATED], "All of")


def test_portkeys_trace_id_counts_where_different_requests_have_it() -> None:
    found = traces(CASES / "portkey" / "export.jsonl")
    assert [trace.recognised_by for trace in found] == [
        RecognisedBy.PREFIX_CHAIN,
        RecognisedBy.HEADER,
        RecognisedBy.HEADER,
        RecognisedBy.PREFIX_CHAIN,
    ]
    assert errors(found[3]) == [(ErrorPhase.HTTP, 500), (ErrorPhase.HTTP, 401), None]


def test_openrouters_facts_are_no_empty_answers() -> None:
    found = traces(CASES / "openrouter" / "generations.jsonl")
    assert {body for trace in found for body in bodies(trace)} == {BodyState.NOT_STORED}
    assert [errors(trace) for trace in found] == [
        [None],
        [(ErrorPhase.CLIENT_ABORT, None)],
        [(ErrorPhase.IN_STREAM, None)],
    ]


def test_a_table_gives_the_same_sessions_as_its_rows_in_json() -> None:
    table, page = (traces(CASES / "litellm" / f"spend_logs.{kind}") for kind in ("csv", "json"))
    assert [(one.turns, one.external_ids) for one in table] == [(one.turns, one.external_ids) for one in page]


def test_a_tables_broken_rows_are_told_and_cost_no_others(tmp_path: Path) -> None:
    whole = (CASES / "helicone" / "export.csv").read_bytes()
    names, _, rest = whole.partition(b"\n")
    path = tmp_path / "table"
    path.write_bytes(names + b"\n" + b"x," * 30 + b"y\n\xff,\0\n\n" + rest + b'z,"never closed\n' + rest)
    assert len(traces(path)) == 3
    reasons = skipped(path)
    assert reasons[0] == "it has 31 fields, but the table has 18 columns"
    assert len(reasons) == 5  # two short rows, and what the open quote swallowed


def test_a_field_of_a_table_has_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_tables, "RECORD_BYTES", 2_000)
    path = tmp_path / "table"
    path.write_bytes((CASES / "helicone" / "export.csv").read_bytes() + b"x," + b"y" * 3_000 + b"\n")
    before = csv.field_size_limit()
    try:
        assert len(traces(path)) == 3
        assert skipped(path)[-1] == "it is longer than 2000 bytes; the rest of the file was not read"
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_a_packed_log_that_was_cut_gives_what_came_before(share: float, tmp_path: Path) -> None:
    row, chance = rows_of("portkey/export.jsonl")[0], random.Random(7)
    words = [chance.randbytes(1000).hex() for _ in range(150)]
    rows = [{**row, "request": {"messages": [{"role": "user", "content": one}]}} for one in words]
    packed = gzip.compress(written(tmp_path, rows).read_bytes())
    path = tmp_path / "cut.gz"
    path.write_bytes(packed[: int(len(packed) * share)])
    found = [trace.turns[0].parts[0].text for trace in traces(path)]
    assert 0 < len(found) < 150
    assert found == words[: len(found)]
    assert any("damaged" in reason for reason in skipped(path))


ODD: list[Json] = [None, 5, -1e300, True, "", "x", "{", [], [1], ["a", {"role": 1}], {}, {"a": {"b": []}}, [[]]]


@pytest.mark.parametrize("name", ["litellm/payloads.jsonl", "helicone/export.jsonl", "portkey/export.jsonl"])
def test_a_member_of_any_kind_raises_nothing(name: str, tmp_path: Path) -> None:
    row = rows_of(name)[0]
    rows = [{**row, key: odd} for key in row for odd in ODD]
    if name.startswith("litellm"):
        nested = ("metadata", "model_parameters", "error_information")
        rows += [{**row, outer: {inner: odd}} for outer in nested for inner in INNER for odd in ODD]
    found = list(read_source(written(tmp_path, rows), name.partition("/")[0]).records)
    assert any(isinstance(record, Trace) for record in found)


INNER = ("requester_metadata", "headers", "session_id", "messages", "tools", "stream", "system", "error_code", "status")


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd is not None])
def test_openrouters_members_of_any_kind_raise_nothing(odd: Json, tmp_path: Path) -> None:
    rows = json.loads((CASES / "openrouter" / "contents.json").read_text(encoding="utf-8"))
    changed = [{**row, key: odd} for row in rows for key in row]
    changed += [
        {**row, outer: {**row[outer], key: odd}} for row in rows for outer in ("input", "output") for key in row
    ]
    assert list(read_source(written(tmp_path, changed), "openrouter").records)


def test_the_rows_of_a_page_are_told_from_a_row_that_has_a_member_of_that_name() -> None:
    assert [place for place, _ in entries_of({"data": [{"a": 1}, 5, {"b": 1}]})] == [", row 1", ", row 3"]
    assert list(entries_of({"data": []})) == [("", {"data": []})]
    assert list(entries_of({"data": {"a": 1}})) == [("", {"a": 1})]


@pytest.mark.parametrize(
    ("value", "body"),
    [({"a": "\ud83d"}, b'{"a":"\\ud83d"}'), ({"a": 10**30}, b'{"a":1000000000000000000000000000000}'), ("x", b"x")],
)
def test_a_body_keeps_what_json_bears(value: Json, body: bytes) -> None:
    assert body_of(value) == body


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples lie beside the project only where it is developed")
def test_litellms_own_sample_has_three_sessions_one_call_and_one_lost_answer() -> None:
    path = SAMPLES / "litellm" / "standard_logging_payload.jsonl"
    found = traces(path)
    assert [len(trace.turns) for trace in found] == [3, 3, 3]
    assert [call_texts(trace) for trace in found] == [[], ['{"location": "Paris, France", "unit": "celsius"}'], []]
    assert [bodies(trace)[0] for trace in found] == [BodyState.COMPLETE, BodyState.COMPLETE, BodyState.NOT_STORED]


@pytest.mark.parametrize("name", ["helicone/export.csv", "litellm/spend_logs.csv"])
def test_a_byte_in_a_table_that_is_not_utf_8_stays_one(name: str, tmp_path: Path) -> None:
    table = (CASES / name).read_bytes()
    path = tmp_path / "table.csv"
    path.write_bytes(table.replace(b"Brest", b"Br\xe9st"))
    assert path.read_bytes() != table
    texts = [part.text for trace in traces(path) for turn in trace.turns for part in turn.parts]
    expected = [part.text for trace in traces(CASES / name) for turn in trace.turns for part in turn.parts]
    assert texts == [text.replace("Brest", "Br\udce9st") for text in expected] != expected
