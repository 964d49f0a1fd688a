"""Rows of training data: JSON lines, arrays, Parquet and folders of `datasets`, in and out, with bad rows named."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from weaklink.inspector.atomic_write import UnwritableFileError
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow, find_data_files
from weaklink.inspector.dataset.rows import OutputIsInputError, open_row_file, read_data, read_file
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.inspector.trace_file import write_trace_file

TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
ROWS: list[dict[str, Any]] = [
    {"id": "a", "messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "No."}], "tools": []},
    {
        "id": "b",
        "messages": [
            {"role": "user", "content": "Go 😀"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
            {"role": "tool", "tool_call_id": "1", "content": "x"},
        ],
        "tools": [TOOL],
        "quality_score": 0.5,
    },
]


def values(path: Path | str) -> list[Any]:
    return [row.value for row in read_data([str(path)])]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with open_row_file(str(path)) as writer:
        for row in rows:
            writer.write(row)
    return path


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    rows = list(read_data([str(write(tmp_path / name, ROWS))]))
    assert [row.value for row in rows] == ROWS
    assert [(type(row), row.record) for row in rows] == [
        (DataRow, "line 1" if name.endswith("jsonl") else "row 1"),
        (DataRow, "line 2" if name.endswith("jsonl") else "row 2"),
    ]


def test_objects_with_different_keys_are_json_text_in_parquet_and_gain_no_nulls(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"arguments": {"city": "Oslo"}},
        {"arguments": {"days": 3, "unit": None}},
        {"arguments": None},
    ]
    path = write(tmp_path / "x.parquet", rows)
    assert parquet.read_table(path).column("arguments").to_pylist() == [
        '{"city": "Oslo"}',
        '{"days": 3, "unit": null}',
        None,
    ]
    assert values(path) == [*rows[:2], {}]


def test_arguments_of_messages_become_their_json_text_in_parquet(tmp_path: Path) -> None:
    call = {"function": {"name": "f", "arguments": {"city": "Oslo"}}}
    path = write(tmp_path / "x.parquet", [{"messages": [{"role": "assistant", "tool_calls": [call]}]}])
    (row,) = values(path)
    assert row["messages"][0]["tool_calls"][0]["function"]["arguments"] == '{"city": "Oslo"}'


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


@given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=5))
def test_rows_of_any_values_survive_parquet(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = write(tmp_path_factory.mktemp("rows") / "x.parquet", rows)
    assert [_without_nulls(row) for row in values(path)] == [
        _without_nulls(json.loads(json.dumps(row))) for row in rows
    ]


def _without_nulls(value: Any) -> Any:
    """A value as Parquet can hold it: an absent member and null are the same there."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


def test_a_row_that_cannot_be_read_is_named_by_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 1,, "b": 2}\n[1]\n{"a": 2}\n', encoding="utf-8")
    good, bad, list_, last = read_file(str(path))
    assert (good.record, last.record) == ("line 1", "line 5")
    assert isinstance(bad, RejectedRow)
    assert isinstance(list_, RejectedRow)
    assert (bad.record, bad.line, bad.column, bad.text) == ("line 3", 3, 9, '{"a": 1,, "b": 2}')
    assert (list_.line, list_.column, list_.reason) == (4, 1, "the row is a list, not an object")
    assert bad.value.keys() == {"file", "record", "line", "column", "error", "text"}


def test_a_trace_file_is_rejected_once_and_says_how_to_make_rows_of_it(tmp_path: Path) -> None:
    write_trace_file(tmp_path / "t.jsonl", [Trace((Turn(Role.USER, (Part("text", "Go."),)),) * 3)] * 2)
    (rejected,) = read_file(str(tmp_path / "t.jsonl"))
    assert isinstance(rejected, RejectedRow)
    assert "`weaklink export ID --to messages`" in rejected.reason


def test_a_bad_entry_of_an_array_is_placed_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[\n  {"a": 1},\n  {"a":\n   1,, "b": 2},\n  {"a": 2}\n]', encoding="utf-8")
    good, bad, last = read_file(str(path))
    assert (good.record, last.record) == ("entry 1", "entry 3")
    assert isinstance(bad, RejectedRow)
    assert (bad.line, bad.column) == (4, 6)


def test_a_table_that_breaks_off_is_rejected_and_the_next_file_is_read(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.parquet", ROWS).read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-9])
    write(tmp_path / "b.jsonl", ROWS)
    bad, *rows = read_data([str(tmp_path)])
    assert isinstance(bad, RejectedRow)
    assert (bad.record, len(rows)) == ("file", 2)


def arrow_file(path: Path, rows: list[dict[str, Any]]) -> None:
    table = pyarrow.Table.from_pylist(rows)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def test_a_saved_data_set_dict_is_read_split_by_split(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    for split in ("test", "train"):
        folder = tmp_path / split
        folder.mkdir()
        arrow_file(folder / "data-00000-of-00001.arrow", [{"text": f"{split} {index}"} for index in range(150)])
        (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
        state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
        (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    texts = [row["text"] for row in values(tmp_path)]
    assert texts == [f"{split} {index}" for split in ("train", "test") for index in range(150)]


def test_patterns_and_folders_name_data_files_only(tmp_path: Path) -> None:
    for name in ("data/train-0.jsonl", "data/train-1.jsonl", "data/test.jsonl", "README.md", ".cache/x.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"text": "x"}\n', encoding="utf-8")
    assert [Path(file).name for file in find_data_files([f"{tmp_path}/data/train-*.jsonl"])] == [
        "train-0.jsonl",
        "train-1.jsonl",
    ]
    assert [Path(file).name for file in find_data_files([str(tmp_path)])] == [
        "test.jsonl",
        "train-0.jsonl",
        "train-1.jsonl",
    ]
    with pytest.raises(UnreadableFileError, match="no such file"):
        find_data_files([str(tmp_path / "gone.jsonl")])
    with pytest.raises(UnreadableFileError, match="no JSON lines"):
        find_data_files([f"{tmp_path}/*.parquet"])


@pytest.mark.parametrize("name", ["link.jsonl", "rows.jsonl"])
def test_output_never_replaces_an_input(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS)
    (tmp_path / "link.jsonl").symlink_to(path)
    with pytest.raises(OutputIsInputError), open_row_file(str(tmp_path / name), [str(path)]):
        pass
    assert values(path) == ROWS


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_output_that_fails_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, ROWS)
    with pytest.raises(TypeError), open_row_file(str(path)) as writer:
        writer.write({"a": object()})  # type: ignore[dict-item]  # no JSON value
    assert values(path) == ROWS
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with pytest.raises(UnwritableFileError), open_row_file(str(tmp_path / "gone" / name)) as writer:
        writer.write({"a": 1})
