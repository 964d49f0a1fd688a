"""What benchmarks' logs and servers' logs mean, and what is done with archives that are cut, broken or bombs."""

import json
import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import pytest

from tests.importers.archives import Packed, archive
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.servers.served_completions import OutputPiece, ServedCompletion, traces_served
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.memory import RECORD_BYTES
from weaklink.inspector.model import BodyState, Json, ParentWhy, Role, StreamDetail, Trace

CASES = Path(__file__).parents[1] / "cases" / "importers"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
EVAL = {"run_id": "R", "task": "harbour", "model": "small-8b"}
START = Packed("_journal/start.json", json.dumps({"version": 2, "eval": EVAL}).encode())


def read(path: Path, source: str | None = None) -> list[Trace | Skipped]:
    return list(read_source(path, source).records)


def traces(path: Path) -> list[Trace]:
    return [record for record in read(path) if isinstance(record, Trace)]


def skipped(path: Path) -> dict[str, str]:
    return {record.record: record.reason for record in read(path) if isinstance(record, Skipped)}


def sample(number: int = 1, **more: Json) -> bytes:
    said: list[Json] = [
        {"id": "u", "role": "user", "content": "Where?"},
        {"id": "a", "role": "assistant", "content": "Here.", "source": "generate"},
    ]
    value: dict[str, Json] = {"id": number, "epoch": 1, "messages": said, "events": []}
    return json.dumps({**value, **more}).encode()


def packed(number: int = 1, method: int = 93, *, streamed: bool = False) -> Packed:
    return Packed(f"samples/{number}_epoch_1.json", sample(number), method, streamed)


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "log"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("method", [0, 8, 93])
def test_a_member_is_read_whatever_its_method(method: int, tmp_path: Path) -> None:
    path = written(tmp_path, archive([START, packed(method=method)]))
    assert [turn.role for turn in traces(path)[0].turns] == [Role.USER, Role.ASSISTANT]


@pytest.mark.parametrize("method", [8, 93])
def test_members_whose_sizes_stand_behind_them_are_found_without_a_directory(method: int, tmp_path: Path) -> None:
    members = [START, *(packed(number, method, streamed=True) for number in range(1, 4))]
    path = written(tmp_path, archive(members, directory=False))
    assert [trace.name for trace in traces(path)] == [f"harbour {number}, epoch 1" for number in range(1, 4)]
    assert list(skipped(path)) == ["end of file"]


def test_an_archive_that_was_cut_anywhere_keeps_the_samples_before(tmp_path: Path) -> None:
    whole = archive([START, packed(1), packed(2, 8), packed(3, streamed=True)])
    starts = [whole.index(f"samples/{number}".encode()) for number in (2, 3)]
    found = []
    for end in range(4, len(whole)):
        path = written(tmp_path, whole[:end])
        records = read(path, "inspect")
        assert any(isinstance(record, Skipped) for record in records)
        found.append(sum(isinstance(record, Trace) for record in records))
    assert found == sorted(found)
    assert found[-1] == 3
    assert [found[start - 4] for start in starts] == [1, 2]


def test_large_sizes_are_read_from_the_zip64_field(tmp_path: Path) -> None:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr(START.name, START.content)
        with log.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            member.write(sample())
    whole = stream.getvalue()
    assert len(traces(written(tmp_path, whole))) == 1
    assert len(traces(written(tmp_path, whole[: whole.index(b"PK\1\2")]))) == 1


def test_a_broken_member_is_skipped_alone(tmp_path: Path) -> None:
    whole = bytearray(archive([START, packed(1, 0), packed(2), packed(3)]))
    whole[whole.index(b"Where?")] ^= 1
    path = written(tmp_path, bytes(whole))
    assert skipped(path) == {"samples/1_epoch_1.json": "the archive is damaged or truncated within this member"}
    assert len(traces(path)) == 2


def test_members_that_cannot_be_unpacked_say_why(tmp_path: Path) -> None:
    whole = bytearray(archive([START, packed(1), packed(2)]))
    for at, name in ((8, b"samples/1"), (9, b"samples/2")):
        header = whole.rindex(name) - 46
        whole[header + at] |= 1 if at == 8 else 0
        whole[header + 10] = 12 if at == 9 else whole[header + 10]
    reasons = skipped(written(tmp_path, bytes(whole)))
    assert reasons["samples/1_epoch_1.json"] == "it is encrypted"
    assert reasons["samples/2_epoch_1.json"] == "it is compressed with method 12, which is not supported"


def test_a_bomb_stops_at_its_bound(tmp_path: Path) -> None:
    bomb = Packed("samples/1_epoch_1.json", bytes(RECORD_BYTES + 1))
    path = written(tmp_path, archive([START, bomb, packed(2)]))
    assert path.stat().st_size < 1 << 20
    assert skipped(path) == {"samples/1_epoch_1.json": "it is longer than 64 MiB"}
    assert len(traces(path)) == 1


def test_names_in_an_archive_are_never_paths(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    evil = Packed("samples/../../evil_epoch_1.json", sample())
    path = written(inner, archive([START, evil, packed(2)]))
    assert [trace.provenance.record for trace in traces(path)] == [evil.name, packed(2).name]
    assert [found.name for found in tmp_path.rglob("*")] == ["inner", "log"]


def test_pooled_messages_that_are_repeated_beyond_reason_are_left_out(tmp_path: Path) -> None:
    pool: list[Json] = [{"id": str(number), "role": "user", "content": "x"} for number in range(1000)]
    answer: Json = {"choices": [{"message": {"id": "z", "role": "assistant", "content": "y"}}]}
    refs: list[Json] = [[0, 1000] for _ in range(10_000)]
    event: Json = {"event": "model", "model": "m", "input": [], "input_refs": refs, "output": answer}
    content = sample(events=[event], events_data={"messages": pool, "calls": []})
    [trace] = traces(written(tmp_path, archive([START, Packed("samples/1_epoch_1.json", content)])))
    assert (
        "1 requests outside the conversation are left out: they repeat too many messages" in trace.provenance.warnings
    )


def test_an_attachment_that_is_repeated_beyond_reason_stays_a_reference(tmp_path: Path) -> None:
    said: list[Json] = [{"id": str(number), "role": "user", "content": "attachment://h"} for number in range(300)]
    content = sample(messages=said, attachments={"h": "x" * (1 << 20)})
    [trace] = traces(written(tmp_path, archive([START, Packed("samples/1_epoch_1.json", content)])))
    texts = [len(turn.parts[0].text) for turn in trace.turns]
    assert texts == [1 << 20] * 32 + [len("attachment://h")] * 268
    assert "texts beyond 32 MiB in total remain references to attachments" in trace.provenance.warnings


def test_inspects_malformed_arguments_are_found_where_they_are_quoted() -> None:
    trace = traces(CASES / "inspect" / "log.eval")[0]
    answers = [turn for turn in trace.turns if turn.calls]
    assert [turn.parts[-1].text for turn in answers] == ['{"ship":  "Aurora"}', '{"ship": "Auro']


def test_a_request_that_failed_stands_where_it_was_sent() -> None:
    trace = traces(CASES / "inspect" / "log.eval")[0]
    failed = next(turn for turn in trace.turns if turn.generation and turn.generation.error)
    assert failed.generation is not None
    assert failed.generation.body is BodyState.NOT_STORED
    assert trace.turns.index(failed) == 4


def test_sub_agents_and_graders_are_traces_below_their_sample() -> None:
    own, helper, grader, *_ = traces(CASES / "inspect" / "log.eval")
    assert [turn.role for turn in helper.turns] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]
    for below in (helper, grader):
        assert below.parent is not None
        assert (below.parent.external_id, below.parent.why) == (own.external_ids[0], ParentWhy.SUBAGENT)


def test_what_a_simulated_user_does_with_tools_is_not_in_the_agents_trace() -> None:
    agent, user = traces(CASES / "tau2-bench" / "results.json")
    assert [call.name for turn in agent.turns for call in turn.calls] == ["get_line", "get_line"]
    assert [call.name for turn in user.turns for call in turn.calls] == ["toggle_roaming", "check_status"]
    assert user.parent is not None
    assert user.parent.external_id == agent.external_ids[0]


def test_calls_that_were_parsed_out_of_a_text_are_kept_beside_it_and_count_once() -> None:
    [trace] = traces(CASES / "tau-bench" / "document.json")
    answer, result = trace.turns[2:4]
    assert [call.name for call in answer.calls] == ["get_user"]
    assert 'invoke name="get_user"' in answer.parts[0].text
    assert result.result is not None
    assert (result.result.name, result.result.call_id) == ("get_user", answer.calls[0].id)
    inspection = inspect_trace(trace)
    assert [(step.call.name, step.location.part) for step in inspection.chain.steps] == [("get_user", "call:0")]
    assert not [one for one in inspection.diagnostics if one.rule.layer]


def test_vllms_deltas_keep_their_token_ids() -> None:
    [trace] = traces(CASES / "vllm" / "stream.log")
    part = trace.turns[2].part("text")
    assert part is not None
    assert part.grade is StreamDetail.TOKEN_IDS
    assert [chunk.text for chunk in part.arrivals()] == [part.text[:10], part.text[10:40], part.text[40:]]


def test_a_log_line_that_quotes_another_is_read_as_what_it_is(tmp_path: Path) -> None:
    quoted = "Received request chatcmpl-x: params: SamplingParams(n=1)"
    line = (
        f"INFO 11-20 12:00:06 [logger.py:69] Generated response chatcmpl-a: output: {quoted!r}, finish_reason: stop\n"
    )
    [trace] = traces(written(tmp_path, line.encode()))
    assert [part.text for part in trace.turns[0].parts] == [quoted]


@pytest.mark.parametrize("text", ['it\'s "both"\n\t\\', "\x00\x1f\xa0\u2028\U0001f6a2\udc80", "None", ""])
def test_vllms_texts_are_what_was_written(text: str, tmp_path: Path) -> None:
    line = f"INFO 11-20 12:00:06 [logger.py:69] Generated response chatcmpl-a: output: {text!r}, finish_reason: stop\n"
    [trace] = traces(written(tmp_path, line.encode()))
    assert [part.text for part in trace.turns[0].parts] == [text]


def test_sglangs_cut_texts_are_flagged_and_others_are_not(tmp_path: Path) -> None:
    rows = [
        {
            "timestamp": "2026-04-01T09:00:00",
            "event": "request.finished",
            "rid": name,
            "obj": {"text": f"<|im_start|>user\n{name}<|im_end|>\n<|im_start|>assistant\n"},
            "out": {"text": text, "meta_info": {}},
        }
        for name, text in (
            ("cut", "a" * 1024 + "..." + "b" * 1024),
            ("long", "a" * 1025 + "..." + "b" * 1024),
            ("whole", "Wait ... what?"),
        )
    ]
    found = traces(written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows).encode()))
    bodies = [turn.generation.body for trace in found for turn in trace.turns if turn.generation]
    assert bodies == [BodyState.TRUNCATED, BodyState.COMPLETE, BodyState.COMPLETE]


def test_a_servers_log_is_held_in_portions() -> None:
    prompts = ["<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"]
    prompts.append(prompts[0] + "Hello<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n")

    def served() -> Iterable[ServedCompletion]:
        for at, prompt in enumerate(prompts):
            yield ServedCompletion(f"r{at}", f"line {at}", prompt, pieces=[OutputPiece("Hello")])

    assert [len(found.turns) for found in traces_served(served(), ()) if isinstance(found, Trace)] == [4]
    portions = [found for found in traces_served(served(), (), held_bytes=1) if isinstance(found, Trace)]
    assert [len(found.turns) for found in portions] == [2, 4]


def test_a_text_that_never_ends_is_told_however_long_it_is(tmp_path: Path) -> None:
    line = b"INFO Received request chatcmpl-a: prompt: '" + b"\\'" * 500_000
    assert skipped(written(tmp_path, line)) == {"line 1": "the line is truncated within a string"}


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not at hand")
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("inspect/repo-2025-05-12T20-28-26-04-00_security-guide.json", (6, 6, 15)),
        ("inspect/repo-log_formats.eval", (1, 1, 3)),
        ("inspect/repo-log_read_sample.json", (1, 1, 3)),
        ("tau-bench/docent-tb_airline.json", (1, 20, 42)),
    ],
)
def test_real_logs_hold_what_was_counted_by_hand(name: str, counts: tuple[int, int, int]) -> None:
    found = traces(SAMPLES / name)
    turns = [turn for trace in found for turn in trace.turns]
    assert (len(found), sum(turn.generation is not None for turn in turns), len(turns)) == counts


def test_a_zip_that_is_no_log_of_inspects_is_not_taken_for_one(tmp_path: Path) -> None:
    path = written(tmp_path, archive([Packed("word/document.xml", b"<x/>", 8)]))
    with pytest.raises(UnreadableFileError, match="unknown format: a ZIP archive"):
        read(path)
