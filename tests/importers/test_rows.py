"""JSON files as rows: lines, arrays and documents, whatever is wrong with one of them."""

import gzip
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.importers.records import (
    Element,
    Line,
    Row,
    first_rows,
    layout_of,
    parse_json_bytes,
    read_elements,
    read_lines,
    read_rows,
)
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.model import Json

_JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(max_size=2), inner, max_size=4),
)


def rows(content: bytes, tmp_path: Path, *, limit: int = 10_000) -> list[Row | Skipped]:
    path = tmp_path / "rows"
    path.write_bytes(content)
    return list(read_rows(SourceFile(path), limit=limit))


def told(content: bytes, tmp_path: Path, *, limit: int = 10_000) -> list[tuple[str, object]]:
    """Each record's place, with its value or the reason why it has none."""
    return [
        (row.record, row.value if isinstance(row, Row) else row.reason) for row in rows(content, tmp_path, limit=limit)
    ]


def test_lines_are_numbered_and_blank_ones_passed_over(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": 2}'
    assert told(content, tmp_path) == [("line 1", {"a": 1}), ("line 4", {"a": 2})]


def test_a_bad_line_is_skipped_with_its_column_and_the_rest_read(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a" 2}\n{"a": 3\n[4]\n"five"\n6\nnull\n{"a": 7}\n'
    assert told(content, tmp_path) == [
        ("line 1", {"a": 1}),
        ("line 2", "invalid JSON: expecting ':' delimiter at column 6"),
        ("line 3", "the JSON is truncated: expecting ',' delimiter at column 8"),
        ("line 4", "expected an object, found a list"),
        ("line 5", "expected an object, found a string"),
        ("line 6", "expected an object, found a number"),
        ("line 7", "expected an object, found null"),
        ("line 8", {"a": 7}),
    ]


def test_a_line_beyond_the_bound_is_read_past(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a": "' + b"x" * 3_000_000 + b'"}\n{"a": 3}\n'
    assert told(content, tmp_path) == [
        ("line 1", {"a": 1}),
        ("line 2", "it is longer than 10000 bytes"),
        ("line 3", {"a": 3}),
    ]


def test_a_line_of_just_the_bound_is_read() -> None:
    assert list(read_lines(io.BytesIO(b"12345\n67890"), limit=5)) == [Line(1, b"12345"), Line(2, b"67890")]
    assert [type(line) for line in read_lines(io.BytesIO(b"123456\n1"), limit=5)] == [Skipped, Line]
    block = 1 << 20
    for length, limit in ((block, block), (block - 1, block * 2), (block * 2, block * 2), (block * 3 + 5, block * 4)):
        for end in (b"", b"\n2"):
            first, *rest = read_lines(io.BytesIO(b"x" * length + end), limit=limit)
            assert isinstance(first, Line)
            assert (len(first.raw), [type(line) for line in rest]) == (length, [Line] if end else [])
            first, *rest = read_lines(io.BytesIO(b"x" * length + end), limit=length - 1)
            assert [type(line) for line in (first, *rest)] == [Skipped, Line][: 2 if end else 1]


def test_an_array_is_read_entry_by_entry(tmp_path: Path) -> None:
    content = b'[\n {"a": "] , \\" {"},\n 5, {"b": [{}]}\n]\n'
    assert told(content, tmp_path) == [
        ("entry 1", {"a": '] , " {'}),
        ("entry 2", "expected an object, found a number"),
        ("entry 3", {"b": [{}]}),
    ]


def test_an_entry_that_is_broken_takes_no_neighbour_along(tmp_path: Path) -> None:
    records = told(b'[{"a": 1}, {"a" 2}, {"a": 3}, , {"a": 5}', tmp_path)
    assert [record for record, value in records if isinstance(value, dict)] == ["entry 1", "entry 3", "entry 5"]
    assert records[-1] == ("end of file", "the array is not closed: the file may be truncated")


def test_a_record_that_is_a_list_of_objects_counts_as_messages(tmp_path: Path) -> None:
    content = b'[[{"role": "user"}], [5], []]'
    assert told(content, tmp_path) == [
        ("entry 1", {"messages": [{"role": "user"}]}),
        ("entry 2", "expected an object, found a list"),
        ("entry 3", "expected an object, found a list"),
    ]


def test_documents_over_several_lines_are_read_one_by_one(tmp_path: Path) -> None:
    content = json.dumps({"a": {"b": 1}}, indent=2).encode() * 2
    assert told(content, tmp_path) == [("document 1", {"a": {"b": 1}}), ("document 2", {"a": {"b": 1}})]


@pytest.mark.parametrize(
    ("head", "layout"),
    [
        (b'{"a": 1}', "line"),
        (b'{"a": 1}\n{"a": 2}', "line"),
        (b'{"a": 1\n{"a": 2}', "line"),
        (b'not JSON\n{"a": 2}', "line"),
        (b'{"a": "' + b"x" * 70_000, "line"),
        (b'{"a": 1}{"a": 2}\n', "document"),
        (b'{"a": 1} "b"\n', "line"),
        (b'{"a": 1}{"a": 2}\n{"a": 3}\n', "line"),
        (b'[{"a": 1}]\n[{"a": 2}]\n', "line"),
        (b'[\n[{"a": 1}]\n]', "entry"),
        (b' \n[{"a": 1}]', "entry"),
        (b'\xef\xbb\xbf[\n{"a": 1}]', "entry"),
        (b'{\n"a": 1}', "document"),
        (b'{"a": [\n1]}', "document"),
        (b'{"a": 1\n}', "document"),
    ],
)
def test_the_layout_shows_at_the_beginning(head: bytes, layout: str) -> None:
    assert layout_of(head) == layout


def test_json_keeps_what_fast_readers_refuse() -> None:
    assert parse_json_bytes(b'"\\ud83d"') == "\ud83d"
    assert parse_json_bytes(b'"\xff"') == "\udcff"
    assert parse_json_bytes(b"1e400") == float("inf")
    assert parse_json_bytes(b"123456789012345678901234567890") == 123456789012345678901234567890
    assert parse_json_bytes(b"9" * 5000) == Decimal("9" * 5000)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json_bytes(b"[" * 100_000)


def test_a_row_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    one, other = rows(b'{"a": 1}\r\n{"a":1}\n', tmp_path)
    assert isinstance(one, Row)
    assert isinstance(other, Row)
    assert len(one.digest) == 16
    assert one.digest != other.digest


def test_damaged_compression_keeps_what_came_before(tmp_path: Path) -> None:
    lines = b"".join(b'{"a": %d}\n' % at for at in range(50_000))
    *_, read, last = rows(gzip.compress(lines)[:-5_000], tmp_path)
    assert isinstance(read, Row)
    assert last == Skipped("end of file", "the compressed data is damaged: Compressed file ended before the "
                           "end-of-stream marker was reached")  # fmt: skip


def test_a_sample_looks_beyond_the_first_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"banner\n" + b"[1]\n" * 50 + b'{"a": 1}\n' * 100)
    assert len(list(first_rows(SourceFile(path)))) == 32


@given(values=st.lists(_JSON, max_size=6), indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_elements_are_what_json_has(values: list[Json], indent: int | None, *, ascii_only: bool) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    read = list(read_elements(io.BytesIO(text)))
    assert all(isinstance(element, Element) for element in read)
    cut = [json.loads(element.raw.decode("utf-8", "surrogatepass")) for element in read if isinstance(element, Element)]
    assert cut == json.loads(text.decode("utf-8", "surrogatepass"))


@given(
    values=st.lists(st.dictionaries(texts(max_size=2), _JSON, max_size=3), min_size=1, max_size=3),
    cuts=st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["", '"', "\\", "\n}", "}", "{"])), max_size=3),
)
def test_a_document_ends_where_its_brackets_balance_however_it_is_indented(
    values: list[dict[str, Json]], cuts: list[tuple[int, str]]
) -> None:
    text = "\n".join(json.dumps({"a": value}, indent=1) for value in values)
    for at, instead in cuts:
        text = text[: at + 1] + instead + text[at + 2 :] if at + 1 < len(text) else text
    raw = text.encode()
    by_brackets = raw.replace(b"{\n", b"{ \n")  # whose first line is not that of an indented document
    read, counted = (list(read_elements(io.BytesIO(one))) for one in (raw, by_brackets))
    assert [one.raw.replace(b"{\n", b"{ \n") for one in read if isinstance(one, Element)] == [
        one.raw for one in counted if isinstance(one, Element)
    ]


@given(content=st.binary(max_size=40) | texts().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_elements_end_for_any_bytes(content: bytes) -> None:
    list(read_elements(io.BytesIO(content), limit=20))
    list(read_elements(io.BytesIO(b"[" + content), limit=20))
    list(read_lines(io.BytesIO(content), limit=20))
