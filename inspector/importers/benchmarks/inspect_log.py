"""Logs of Inspect AI's evaluations: `.eval` archives and JSON documents; a trace a sample, and one a sub-agent.

An archive has `_journal/start.json`, a member `samples/<id>_epoch_<n>.json` a sample, and, once the evaluation has
ended, `header.json` (Inspect, `log/_recorders/eval.py`). Version 3 may spread a sample over members of a folder: its
`sample.json`, and lists in `messages/`, `events/` and `attachments/` (`log/_recorders/chunked/format.py`). A JSON log
is one document with all samples; it is read whole, to 64 MiB, and so is each sample of an archive.
"""

import re
from collections.abc import Iterator

from inspector.importers.benchmarks.inspect_archive import Archive, ArchiveMember
from inspector.importers.benchmarks.inspect_sample import Evaluation, MessagePool, read_sample
from inspector.importers.compression import DamagedDataError
from inspector.importers.records import parse_json_bytes, read_rows, too_long
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.memory import RECORD_BYTES
from inspector.model import Json, Trace
from inspector.scanning import lazy_pattern

_ZIP = b"PK\x03\x04"
_FIRST_MEMBER = re.compile(rb"_journal/|samples/.{1,200}_epoch_\d|header\.json|summaries\.json|reductions\.json")
_DOCUMENT = lazy_pattern(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_SAMPLE = lazy_pattern(r"samples/.+_epoch_\d+\.json", re.DOTALL)  # ids may hold anything, slashes too
_SHELL = lazy_pattern(r"(?P<folder>samples/.+_epoch_\d+/)sample\.json", re.DOTALL)
_CHUNK = lazy_pattern(r"(?P<list>.+/(?:messages|events|attachments)/)(?P<start>\d{1,18})\.json")
_HEADERS = ("header.json", "_journal/start.json")
_CUT = "the archive has no directory: it may have been cut off, and what came before was read"


class InspectImporter:
    """One trace a sample, and one for each conversation beside it."""

    name = "inspect"
    signs = "an Inspect log's `eval` and `samples`, plain or in an archive"

    def recognises(self, sample: FileSample) -> float:
        """By the first member of an archive, or by the members of a log's document."""
        if sample.head.startswith(_ZIP):
            return 0.9 if _FIRST_MEMBER.match(sample.head[30:256]) else 0.0
        if any(map(_is_log, sample.rows)):
            return 0.9
        return 0.9 if _DOCUMENT.match(sample.text.lstrip("\ufeff")) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The samples in the file's order; a log without any is skipped."""
        yield from _from_archive(file) if file.head.startswith(_ZIP) else _from_documents(file)


def _is_log(row: JsonObject) -> bool:
    spec = row.get("eval")
    is_named = isinstance(spec, dict) and {"task", "model"} <= spec.keys()
    return is_named and "version" in row and bool({"samples", "results", "plan"} & row.keys())


def _from_documents(file: SourceFile) -> Iterator[Trace | Skipped]:
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        samples = row.value.get("samples")
        if not isinstance(samples, list) or not samples:
            yield Skipped(row.record, "the log has no list `samples` with samples in it")
            continue
        evaluation = Evaluation({key: value for key, value in row.value.items() if key != "samples"})
        for number, sample in enumerate(samples, 1):
            record = f"{row.record}, sample {number}"
            if isinstance(sample, dict):
                yield from read_sample(sample, evaluation, record)
            else:
                yield Skipped(record, "this is no object, as samples are")


def _from_archive(file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        with file.open_seekable() as stream:
            archive = Archive(stream)
            evaluation = Evaluation(_header(archive))
            is_empty = True
            for record, sample in _samples(archive):
                is_empty = False
                yield from [sample] if isinstance(sample, Skipped) else read_sample(sample, evaluation, record)
            if archive.is_cut:
                yield Skipped("end of file", _CUT)
            elif is_empty:
                yield Skipped("archive", "there is no sample in it")
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _header(archive: Archive) -> JsonObject:
    """The log's header; what it began with where there is none yet."""
    named = {member.name: member for member in archive.members if member.name in _HEADERS}
    for name in _HEADERS:
        if name in named:
            found = _content(archive, named[name])
            if isinstance(found, dict):
                return found
    return {}


def _samples(archive: Archive) -> Iterator[tuple[str, JsonObject | Skipped]]:
    chunks = _chunks(archive)
    for member in archive.members:
        shell = _SHELL.fullmatch(member.name)
        if not shell and not _SAMPLE.fullmatch(member.name):
            continue
        found = _content(archive, member)
        if isinstance(found, dict) and shell:
            found = _whole(archive, found, shell["folder"], chunks)
        if isinstance(found, dict):
            yield member.name, found
        else:
            yield member.name, found if isinstance(found, Skipped) else Skipped(member.name, "this is no object")


def _content(archive: Archive, member: ArchiveMember) -> "Json | Skipped":
    try:
        return parse_json_bytes(archive.read(member))
    except (DamagedDataError, ValueError) as error:
        return Skipped(member.name, str(error))  # of JSON it names line and column within the member


def _chunks(archive: Archive) -> dict[str, list[tuple[int, ArchiveMember]]]:
    """The members that hold a part of a list each, by the list's folder, with the place of their first item."""
    chunks: dict[str, list[tuple[int, ArchiveMember]]] = {}
    for member in archive.members:
        if chunk := _CHUNK.fullmatch(member.name):
            chunks.setdefault(chunk["list"], []).append((int(chunk["start"]), member))
    return chunks


def _whole(
    archive: Archive, shell: JsonObject, folder: str, chunks: dict[str, list[tuple[int, ArchiveMember]]]
) -> JsonObject | Skipped:
    """A sample that is spread over members, as it is in one; attachments bear their places as names."""
    left = RECORD_BYTES
    lists: dict[str, list[Json]] = {}
    for name in ("messages", "events", "attachments"):
        items = lists[name] = []
        for _, member in sorted(chunks.get(f"{folder}{name}/", ()), key=lambda chunk: chunk[0]):
            try:
                raw = archive.read(member)
                left -= len(raw)
                if left < 0:
                    return Skipped(f"{folder}sample.json", too_long(RECORD_BYTES))
                found = parse_json_bytes(raw)
            except (DamagedDataError, ValueError) as error:
                return Skipped(member.name, str(error))
            items += found if isinstance(found, list) else []
    pooled: JsonObject = {"messages": lists["messages"]}
    own = MessagePool({"events_data": pooled}).expanded(shell.get("message_refs"), len(lists["messages"]))
    return {
        **shell,
        "messages": own or [],
        "events": lists["events"],
        "events_data": pooled,
        "attachments": {str(at): text for at, text in enumerate(lists["attachments"])},
    }
