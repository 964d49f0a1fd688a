"""`weaklink data fix`: a copy of training data that differs only where something was repaired, and says where."""

import json
import os
import random
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.ui.conftest import Run


def call(payload: str) -> str:
    return f"<tool_call>\n{payload}\n</tool_call>"


COMMA = call('{"name": "f", "arguments": {"city": "Rome",}}')
SOUND = call('{"name": "f", "arguments": {"city": "Rome"}}')
GUESS = '<tool_call>\n{"name": "f", "arguments": {"a": [1, 2}}\n</tool_call>'
OFFERED = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def fixed(run: Run, tmp_path: Path, raw: bytes, *options: str, name: str = "rows.jsonl") -> bytes:
    (tmp_path / name).write_bytes(raw)
    done = run("data", "fix", name, "--output", "fixed", *options)
    assert done.returncode == (b": line " in done.stderr), done.stderr  # a record that cannot be read
    assert (tmp_path / name).read_bytes() == raw
    return (tmp_path / "fixed").read_bytes()


def changes(run: Run, tmp_path: Path, raw: bytes, *options: str) -> dict[str, Any]:
    (tmp_path / "rows.jsonl").write_bytes(raw)
    done = run("data", "fix", "rows.jsonl", "--json", *options)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            b'\xef\xbb\xbf{"id":  1,"text": %s, "n": 1.50e3, "n": 1E400}\r\n\r\n{"id": 2, "text": "\\/ \\u00e9"}'
            % json.dumps(COMMA).encode(),
            b'\xef\xbb\xbf{"id":  1,"text": %s, "n": 1.50e3, "n": 1E400}\r\n\r\n{"id": 2, "text": "\\/ \\u00e9"}'
            % json.dumps(SOUND).encode(),
            id="spellings of numbers, doubled keys, blanks, line ends and a byte order mark",
        ),
        pytest.param(
            rb'{"text": "<tool_call>\n{\u0022name\": \"f\", \"arguments\": {\"q\": \"\u00e9\nx\"}}\n<\/tool_call>"}',
            rb'{"text": "<tool_call>\n{\u0022name\": \"f\", \"arguments\": {\"q\": \"\u00e9\\nx\"}}\n<\/tool_call>"}',
            id="escapes around the repair",
        ),
        pytest.param(
            b'{"text": ""}\n{junk\n[1]\n{"text": %s}\n{"text": 5}\n\xff\xfe\n' % json.dumps(COMMA).encode(),
            b'{"text": ""}\n{junk\n[1]\n{"text": %s}\n{"text": 5}\n\xff\xfe\n' % json.dumps(SOUND).encode(),
            id="lines that are no records",
        ),
        pytest.param(
            b'{"text": "caf\xff <tool_call>\\n{\\"name\\": \\"f\\", \\"arguments\\": {\\"a\\": 1,}}\\n</tool_call>"}\n',
            b'{"text": "caf\xff <tool_call>\\n{\\"name\\": \\"f\\", \\"arguments\\": {\\"a\\": 1}}\\n</tool_call>"}\n',
            id="bytes that are not UTF-8",
        ),
    ],
)
def test_everything_but_the_repair_stays_byte_for_byte(
    weaklink: Run, tmp_path: Path, before: bytes, after: bytes
) -> None:
    assert fixed(weaklink, tmp_path, before) == after


def test_conversations_of_both_shapes_are_repaired(weaklink: Run, tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": COMMA, "weight": 1}]
    row = {"system": "Be kind.", "conversations": said, "more": {"a": 1}}
    result = json.loads(fixed(weaklink, tmp_path, json.dumps(row).encode()))
    said[1]["value"] = SOUND
    assert result == row


def test_arguments_in_fields_of_their_own_are_repaired(weaklink: Run, tmp_path: Path) -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a": 1,}'}},
        {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{'a': 'x'}"}},
    ]
    answer: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": COMMA}], "tool_calls": calls}
    row = {"messages": [{"role": "user", "content": "Go."}, answer], "tools": OFFERED}
    result = json.loads(fixed(weaklink, tmp_path, json.dumps(row).encode()))
    answer["content"][0]["text"] = SOUND
    answer["tool_calls"][0]["function"]["arguments"] = '{"a": 1}'
    answer["tool_calls"][1]["function"]["arguments"] = '{"a": "x"}'
    assert result == row


def test_a_completion_that_goes_on_where_its_prompt_ends_is_repaired(weaklink: Run, tmp_path: Path) -> None:
    prompt = "<|im_start|>user\nGo.<|im_end|>\n<|im_start|>assistant\n"
    row = {"prompt": prompt, "completion": f"\u00e9 {COMMA}<|im_end|>", "model": "hermes-3"}
    result = json.loads(fixed(weaklink, tmp_path, json.dumps(row).encode()))
    assert result == row | {"completion": f"\u00e9 {SOUND}<|im_end|>"}


def test_a_pretty_printed_list_keeps_its_shape(weaklink: Run, tmp_path: Path) -> None:
    rows = [
        {"conversations": [{"from": "human", "value": "Go."}, {"from": "gpt", "value": text}]}
        for text in (SOUND, COMMA, "Done.", COMMA)
    ]
    before = json.dumps(rows, indent=2)
    after = before.replace(json.dumps(COMMA), json.dumps(SOUND))
    assert before != after
    assert fixed(weaklink, tmp_path, before.encode(), name="rows.json").decode() == after


def test_raw_text_is_repaired(weaklink: Run, tmp_path: Path) -> None:
    before = f"<|im_start|>user\r\nGo.\xa0<|im_end|>\n<|im_start|>assistant\n{COMMA}<|im_end|>\n"
    assert fixed(weaklink, tmp_path, before.encode(), name="t.txt").decode() == before.replace(COMMA, SOUND)


def test_a_file_without_faults_is_copied_as_it_is(weaklink: Run, tmp_path: Path) -> None:
    raw = b' {"text": "Hello."} \n\n{"text": %s}' % json.dumps(SOUND).encode()
    assert fixed(weaklink, tmp_path, raw) == raw


def test_fixes_that_lie_in_one_another_are_all_made(weaklink: Run, tmp_path: Path) -> None:
    before = call("```json\n{'name': 'f', 'parameters': {'a': True, 'b': [None,],}}\n```")
    row = json.loads(fixed(weaklink, tmp_path, json.dumps({"text": before}).encode()))
    assert row["text"] == call('\n{"name": "f", "arguments": {"a": true, "b": [null]}}\n')
    again = changes(weaklink, tmp_path, (tmp_path / "fixed").read_bytes())
    assert again["changes"] == again["left"] == []


def test_guesses_are_made_only_when_asked_for(weaklink: Run, tmp_path: Path) -> None:
    raw = json.dumps({"text": GUESS}).encode()
    assert changes(weaklink, tmp_path, raw)["changes"] == []
    (made,) = changes(weaklink, tmp_path, raw, "--unsafe")["changes"]
    assert (made["code"], made["fix"]["safe"]) == ("J120", False)


def test_only_the_rules_that_are_asked_for_are_repaired(weaklink: Run, tmp_path: Path) -> None:
    raw = json.dumps({"text": call("{'name': 'f', 'arguments': {'a': True}}")}).encode()
    assert [change["code"] for change in changes(weaklink, tmp_path, raw, "--select", "J105")["changes"]] == ["J105"]
    assert [change["code"] for change in changes(weaklink, tmp_path, raw, "--ignore", "J105")["changes"]] == ["J103"]


def row_of_set(call_text: str, members: str) -> bytes:
    messages = [{"role": "user", "content": "Caf\u00e9?"}, {"role": "assistant", "content": call_text}]
    return (f'{{"id":  1, {members}, "messages": {json.dumps(messages)}}}\n').encode()


def test_the_type_the_count_of_calls_and_the_scores_of_a_row_are_repaired_with_its_texts(
    weaklink: Run, tmp_path: Path
) -> None:
    wrong = '"type": "Single Tool-Call", "tool_call_count": 3, "quality_score": "0.9", "score": {"accuracy": 2}'
    right = '"type": "single_tool_call", "tool_call_count": 1, "quality_score": 0.9, "score": {"accuracy": 2}'
    assert fixed(weaklink, tmp_path, row_of_set(COMMA, wrong)) == row_of_set(SOUND, right)
    assert fixed(weaklink, tmp_path, row_of_set(SOUND, wrong)) == row_of_set(SOUND, right)
    assert fixed(weaklink, tmp_path, row_of_set(SOUND, right)) == row_of_set(SOUND, right)
    listed = b"[\n  %s,\n  %s]" % (row_of_set(SOUND, wrong).strip(), row_of_set(SOUND, right).strip())
    assert fixed(weaklink, tmp_path, listed, name="rows.json").count(b'"tool_call_count": 1') == 2


def test_a_rule_of_lint_selects_the_fault_that_it_names(weaklink: Run, tmp_path: Path) -> None:
    misnamed = {"role": "assistant", "content": call('{"name": "get_wether", "arguments": {}}')}
    row = {"messages": [{"role": "user", "content": "Go."}, misnamed], "tools": [{"name": "get_weather"}]}
    raw = json.dumps(row).encode() + b"\n"
    codes = {
        options: [change["code"] for change in changes(weaklink, tmp_path, raw, "--unsafe", *options)["changes"]]
        for options in ((), ("--select", "D707"), ("--select", "T401"), ("--ignore", "D707"))
    }
    assert list(codes.values()) == [["T401"], ["T401"], ["T401"], []]


def test_a_guessed_type_needs_unsafe_and_only_selected_rules_of_a_row_are_repaired(
    weaklink: Run, tmp_path: Path
) -> None:
    wrong, right = row_of_set(SOUND, '"type": "single_tool_cal"'), row_of_set(SOUND, '"type": "single_tool_call"')
    assert fixed(weaklink, tmp_path, wrong) == wrong
    assert fixed(weaklink, tmp_path, wrong, "--unsafe") == right
    counted = row_of_set(COMMA, '"tool_call_count": 9')
    assert fixed(weaklink, tmp_path, counted, "--select", "D704") == row_of_set(COMMA, '"tool_call_count": 1')
    assert fixed(weaklink, tmp_path, counted, "--ignore", "D7") == row_of_set(SOUND, '"tool_call_count": 9')


def test_the_diff_shows_the_rule_and_both_lines(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "first", "text": COMMA}) + "\n")
    done = weaklink("data", "fix", "rows.jsonl")
    assert done.stdout.decode().splitlines() == [
        "rows.jsonl:1 first",
        "J104 trailing-comma, turn 1 text 2:43",
        '2 - {"name": "f", "arguments": {"city": "Rome",}}',
        '2 + {"name": "f", "arguments": {"city": "Rome"}}',
        "",
    ]
    assert done.stderr.decode() == "weaklink: 1 trace in 1 file: 1 repair in 1 record\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]


def test_a_hostile_text_is_made_visible_in_the_diff(weaklink: Run, tmp_path: Path) -> None:
    payload = call('{"name": "f", "arguments": {"a": "\x1b[31m\u202e\ud800",}}')
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "\x1b[2J", "text": payload}))
    done = weaklink("data", "fix", "rows.jsonl")
    assert "␛[2J" in done.stdout.decode()
    assert "\\u202e\\ud800" in done.stdout.decode()
    assert b"\x1b" not in done.stdout + done.stderr


def test_an_original_is_never_written_over_by_whatever_name(weaklink: Run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"text": COMMA}))
    (tmp_path / "symbolic.jsonl").symlink_to(rows)
    os.link(rows, tmp_path / "hard.jsonl")
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    before = rows.read_bytes()
    for target in (
        ("--output", "rows.jsonl"),
        ("--output", "./folder/rows.jsonl"),
        ("--output", "symbolic.jsonl"),
        ("--output", "hard.jsonl"),
        ("--out-dir", "."),
        ("--out-dir", "folder"),
    ):
        done = weaklink("data", "fix", "rows.jsonl", *target)
        assert done.returncode == 2
        assert b"never overwrites an original" in done.stderr
        assert rows.read_bytes() == before


def test_a_file_that_fails_on_the_way_leaves_no_copy(weaklink: Run, tmp_path: Path) -> None:
    log = {"type": "session_meta", "payload": {"id": "a"}, "timestamp": "2026-01-01T00:00:00Z"}
    (tmp_path / "log.jsonl").write_text(json.dumps(log) + "\n")
    (tmp_path / "fixed").write_text("What was there.")
    done = weaklink("data", "fix", "log.jsonl", "gone.jsonl", "--out-dir", "copies")
    assert done.returncode == 2
    assert b"never changes logs" in done.stderr
    assert b"gone.jsonl" in done.stderr
    assert not [path for path in (tmp_path / "copies").rglob("*") if path.is_file()]
    assert weaklink("data", "fix", "log.jsonl", "--output", "fixed").returncode == 2
    assert (tmp_path / "fixed").read_text() == "What was there."


def test_a_folder_is_copied_under_its_names(weaklink: Run, tmp_path: Path) -> None:
    for name in ("a/x.jsonl", "a/b/x.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"text": COMMA}))
    done = weaklink("data", "fix", "a", "--out-dir", "copies", "--json")
    assert done.returncode == 0
    assert [file["output"] for file in json.loads(done.stdout)["files"]] == ["copies/x.jsonl", "copies/b/x.jsonl"]
    assert json.loads((tmp_path / "copies/b/x.jsonl").read_text()) == {"text": SOUND}
    clash = weaklink("data", "fix", "a/x.jsonl", "a/b/x.jsonl", "--out-dir", "copies")
    assert (clash.returncode, b"several of the files" in clash.stderr) == (2, True)


def test_a_repair_without_a_place_in_its_record_is_told(weaklink: Run, tmp_path: Path) -> None:
    deltas = [COMMA[:20], COMMA[20:]]
    repaired = changes(weaklink, tmp_path, json.dumps({"deltas": deltas}).encode())
    assert (repaired["changes"], [(record["code"], record["why"]) for record in repaired["left"]]) == (
        [],
        [("J104", "unplaced")],
    )


def test_records_and_files_that_cannot_be_read_are_reported_and_copied_as_they_are(
    weaklink: Run, tmp_path: Path
) -> None:
    rows = f'{json.dumps({"text": COMMA})}\n{{"text": "cut off\n{json.dumps({"text": SOUND})}\n'
    (tmp_path / "rows.jsonl").write_text(rows)
    done = weaklink("data", "fix", "rows.jsonl", "--output", "fixed")
    assert done.returncode == 1
    assert b"weaklink: rows.jsonl: line 2: the JSON is truncated" in done.stderr
    assert (tmp_path / "fixed").read_text().split("\n")[1] == rows.split("\n")[1]
    (tmp_path / "sound.jsonl").write_text(json.dumps({"text": SOUND}) + "\n")
    assert weaklink("data", "fix", "sound.jsonl").returncode == 0
    done = weaklink("data", "fix", "sound.jsonl", "gone.jsonl")
    assert (done.returncode, b"gone.jsonl" in done.stderr) == (1, True)


@pytest.mark.slow
def test_damaged_data_ends_without_anything_to_repair(weaklink: Run, tmp_path: Path) -> None:
    rng = random.Random(8)  # made-up damage
    rows = [json.dumps({"id": index, "text": _damaged(SOUND, rng)}) for index in range(200)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    for options in ((), ("--unsafe",)):
        assert weaklink("data", "fix", "rows.jsonl", "--output", "fixed", *options).returncode == 0
        lines = (tmp_path / "fixed").read_text().split("\n")
        assert [json.loads(line)["id"] for line in lines] == list(range(200))
        done = weaklink("data", "fix", "fixed", "--json", *options)
        assert json.loads(done.stdout)["changes"] == []


def _damaged(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 3)):
        position = rng.randrange(len(text))
        text = (
            text[:position]
            + rng.choice(["", ",", "'", '"', "}", "\n", "True", "\\", "]"])
            + text[position + rng.randint(0, 1) :]
        )
    return text


def _tables(path: Path, rows: pa.Table) -> None:
    """The rows as a file of the kind that the name says."""
    if path.suffix == ".parquet":
        parquet.write_table(rows, path, row_group_size=2, compression="zstd")
        return
    new = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
    with path.open("wb") as out, new(out, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=2)


def _read(path: Path) -> tuple[pa.Table, list[int]]:
    """The rows of a file, and the sizes of its row groups or batches."""
    if path.suffix == ".parquet":
        file = parquet.ParquetFile(path)
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        return file.read(), [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
    with path.open("rb") as stored:
        reader = pa.ipc.open_stream(stored) if path.stem.endswith("stream") else pa.ipc.open_file(stored)
        rows = reader.read_all()
    return rows, [len(batch) for batch in rows.to_batches()]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["rows.parquet", "stream.arrow", "file.arrow", "file.data"])
def test_a_table_is_copied_as_the_same_kind_of_file(weaklink: Run, tmp_path: Path, name: str) -> None:
    kinds = {"instruction": pa.string(), "input": pa.string(), "output": pa.string(), "day": pa.date32()}
    kinds |= {"more": pa.map_(pa.string(), pa.int8()), "raw": pa.binary(), "score": pa.float32()}
    rows = [
        {
            "instruction": "Go",
            "input": "",
            "output": text,
            "day": date(2025, 1, number),
            "more": [("x", number)],
            "raw": b"\xff",
        }
        for number, text in enumerate((SOUND, COMMA, SOUND, COMMA, COMMA), 1)
    ]
    schema = pa.schema(kinds.items(), metadata={"huggingface": "{}"})
    table = pa.Table.from_pylist(rows, schema=schema)
    _tables(tmp_path / name, table)
    copied = f"fixed-{name}"
    done = weaklink("data", "fix", name, "--output", copied)
    assert done.returncode == 0, done.stderr
    before, after = _read(tmp_path / name), _read(tmp_path / copied)
    assert after[1] == before[1] == [2, 2, 1]
    assert after[0].schema.equals(before[0].schema, check_metadata=True)
    assert after[0].drop_columns(["output"]) == before[0].drop_columns(["output"])
    outputs = after[0]["output"].to_pylist()
    assert (outputs[0], outputs[2]) == (SOUND, SOUND)
    assert all(output != COMMA and ",}" not in output for output in outputs)
    again = weaklink("data", "fix", copied, "--json")
    assert json.loads(again.stdout)["changes"] == []


def test_a_repair_that_a_column_cannot_hold_is_reported_and_not_made(weaklink: Run, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    row = {"type": "no_tool_call", "annotation": {"should_call_tool": False}, "tool_call_count": "3", "messages": chat}
    _tables(tmp_path / "file.arrow", pa.Table.from_pylist([row]))
    done = weaklink("data", "fix", "file.arrow", "--output", "copy.arrow", "--json")
    payload = json.loads(done.stdout)
    assert (payload["changes"], [(record["code"], record["why"]) for record in payload["left"]]) == (
        [],
        [("D704", "unplaced")],
    )
    assert _read(tmp_path / "copy.arrow")[0].to_pylist() == [row]


def test_a_cut_table_leaves_no_copy(weaklink: Run, tmp_path: Path) -> None:
    _tables(tmp_path / "stream.arrow", pa.table({"text": [COMMA] * 400}))
    whole = (tmp_path / "stream.arrow").read_bytes()
    (tmp_path / "stream.arrow").write_bytes(whole[: len(whole) // 2])
    done = weaklink("data", "fix", "stream.arrow", "--output", "copy.arrow")
    assert done.returncode == 2
    assert b"stream.arrow: cannot read the table after row" in done.stderr
    assert not (tmp_path / "copy.arrow").exists()


def test_the_copy_of_a_table_is_not_named_as_json(weaklink: Run, tmp_path: Path) -> None:
    _tables(tmp_path / "file.arrow", pa.table({"text": [COMMA]}))
    done = weaklink("data", "fix", "file.arrow", "--output", "copy.jsonl")
    assert done.returncode == 2
    assert b"file.arrow is a table, and so is its copy; name it *.parquet or *.arrow" in done.stderr
    assert not (tmp_path / "copy.jsonl").exists()
