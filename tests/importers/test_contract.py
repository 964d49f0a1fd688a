"""What holds for every importer: it knows its own files and no others, reads them the same each time, and bears all."""

import contextlib
import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from tests.case_files import case_text
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.records import first_rows
from weaklink.inspector.importers.registry import importers, source_names
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Role, Trace
from weaklink.inspector.trace_file import write_trace_file

CASES = Path(__file__).parents[1] / "cases" / "importers"
FILES = sorted(path for path in CASES.glob("*/*") if not path.name.endswith(".expected"))
HOSTILE = {
    "nul": b"\0" * 5000,
    "random": random.Random(1).randbytes(70_000),
    "invalid UTF-8": b'{"conversations": [{"from": "gpt", "value": "\xff\xfe\xc3"}]}\n\xff\xff\n',
    "truncated": b'{"conversations": [{"from": "gpt", "value": "x"}]}\n{"conversations": [{"from": "gp',
    "truncated array": b'[{"conversations": [{"from": "gpt", "value": "x"}]}, {"conversations": [{"from',
    "no objects": b'[1, 2]\n"text"\nnull\n17\n',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep in a row": b'{"conversations": [{"from": "gpt", "value": ' + b"[" * 900 + b"]" * 900 + b"}]}\n",
    "long integer": b'{"id": ' + b"7" * 5000 + b', "result": "x"}\n',
    "lone surrogates": b'{"messages": [{"role": "assistant", "content": "\\ud83d \\udc00"}]}\n',
    "string messages": b'{"messages": ["text", {"role": "assistant"}, 5]}\n{"conversations": ["a", {"from": 1}]}\n',
    "odd members": b'{"messages": [{"role": ["x"], "content": {"a": 1}, "tool_calls": {"b": 2}}], "tools": {"x": 1}}\n',
    "odd result": b'{"id": "simple_0", "result": [[[1, null], {"f": null}], 5, {"g": [1]}]}\n',
    "odd times": b'{"text": "x", "prompt": 5, "timestamp": "0001-01-01T00:00:00+14:00", "created": 1e400}\n',
    "bomb": gzip.compress(b"\0" * 3_000_000),
    "cut gzip": gzip.compress(b'{"text": "x", "prompt": "y"}\n' * 5000)[:-200],
    "blank": b" \n\r\n\t\n",
    "mark": b"\xef\xbb\xbf",
    "UTF-16": '{"text": "x"}'.encode("utf-16"),
    "pickle": b"\x80\x04\x95\x10",
}


def read(path: Path, source: str | None = None) -> list[Trace | Skipped]:
    return list(read_source(path, source).records)


def written(path: Path) -> str:
    """A case's records as a trace file has them, in YAML; what was skipped, and where, follows."""
    records = read(path)
    stream = io.StringIO()
    write_trace_file(stream, (_by_its_name(record) for record in records if isinstance(record, Trace)))
    skipped = (_facts(record) for record in records if isinstance(record, Skipped))
    return "".join(map(case_text, [*map(json.loads, stream.getvalue().splitlines()), *skipped]))


def _facts(skipped: Skipped) -> dict[str, object]:
    """What is not as it is by default."""
    fields = {field.name: field.default for field in structs.fields(Skipped)}
    return {name: value for name, value in structs.asdict(skipped).items() if value != fields[name]}


def _by_its_name(trace: Trace) -> Trace:
    known = trace.provenance
    return structs.replace(trace, provenance=structs.replace(known, file=Path(known.file).name))


def test_names_are_distinct_and_speak() -> None:
    assert [name for name, times in Counter(source_names()).items() if times > 1] == []
    assert all(name == name.lower() and name.replace("-", "").isalnum() for name in source_names())


def test_signs_are_a_phrase_that_a_sentence_can_hold() -> None:
    for importer in importers():
        signs = getattr(importer, "signs", "rows")
        assert signs.strip() == signs != ""
        assert not signs.endswith(".")
        assert signs.count("`") % 2 == 0
        assert len(signs) <= 100


def test_every_importer_has_cases() -> None:
    assert {path.parent.name for path in FILES} == set(source_names())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_is_recognised_by_its_own_importer(path: Path) -> None:
    file = SourceFile(path)
    sample = FileSample(file, first_rows(file))
    sure = {importer.name: importer.recognises(sample) for importer in importers()}
    assert all(0 <= sureness <= 1 for sureness in sure.values())
    assert max(sure, key=lambda name: sure[name]) == path.parent.name
    assert read_source(path).source == path.parent.name


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_files_name_is_no_evidence(path: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "x.bin"
    renamed.write_bytes(path.read_bytes())
    assert read_source(renamed).source == path.parent.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_reads_as_expected(path: Path, *, update_goldens: bool) -> None:
    expected = path.with_name(f"{path.name}.expected")
    if update_goldens:
        expected.write_text(written(path), encoding="utf-8")
    assert written(path) == expected.read_text(encoding="utf-8"), "mend with: pytest tests/importers --update-goldens"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_reads_the_same_each_time(path: Path) -> None:
    assert read(path) == read(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_trace_says_where_it_comes_from_and_is_told_from_all_others(path: Path) -> None:
    traces = [record for record in read(path) if isinstance(record, Trace)]
    assert traces
    for trace in traces:
        assert trace.provenance.source
        assert trace.provenance.record
        assert all(turn.parts for turn in trace.turns)
        assert all(turn.generation is None for turn in trace.turns if turn.role is not Role.ASSISTANT)
    identities = [trace.external_ids or trace.provenance.record for trace in traces]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_trace_can_be_inspected(path: Path) -> None:
    for record in read(path):
        if isinstance(record, Trace):
            texts = {(turn, part.name): part.text for turn, one in enumerate(record.turns, 1) for part in one.parts}
            for part in inspect_trace(record).parts:
                text = texts[part.turn, part.part]
                assert "".join(span.range.of(text) for span in part.spans) == text


@pytest.mark.one_in(4)
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("source", [None, *source_names()])
def test_nothing_but_unreadable_is_raised(content: bytes, source: str | None, tmp_path: Path) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(content)
    for record in _as_far_as_it_goes(path, source):
        if isinstance(record, Trace):
            texts = {(turn, part.name): part.text for turn, one in enumerate(record.turns, 1) for part in one.parts}
            for part in inspect_trace(record).parts:
                text = texts[part.turn, part.part]
                assert "".join(span.range.of(text) for span in part.spans) == text
        else:
            assert record.record
            assert record.reason


def _as_far_as_it_goes(path: Path, source: str | None) -> Iterator[Trace | Skipped]:
    with contextlib.suppress(UnreadableFileError):
        yield from read_source(path, source).records
