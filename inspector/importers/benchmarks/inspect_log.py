"""Logs of Inspect AI's evaluations: `.eval` archives and JSON documents.

One trace per sample, and one per sub-agent.

Logs: an archive has `_journal/start.json`, a member `samples/<id>_epoch_<n>.json` per sample, and, once the evaluation
has ended, `header.json` (Inspect, `log/_recorders/eval.py`). Version 3 may spread a sample over members of a folder:
its `sample.json`, and lists in `messages/`, `events/` and `attachments/` (`log/_recorders/chunked/format.py`). A JSON
log is one document with all samples; it is read whole, up to 64 MiB, and so is each sample of an archive.
"""

import re
from collections.abc import Iterator

from weaklink.inspector.importers.archives import NO_DIRECTORY, ZIP, Archive, ArchiveMember
from weaklink.inspector.importers.benchmarks.inspect_sample import pooled_messages, read_sample
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.log_source import LogSource, traces_in_each_row
from weaklink.inspector.importers.records import Row, parse_json_bytes
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern

_FIRST_MEMBER = re.compile(rb"_journal/|samples/.{1,200}_epoch_\d|header\.json|summaries\.json|reductions\.json")
_DOCUMENT = lazy_pattern(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_SAMPLE = lazy_pattern(r"samples/.+_epoch_\d+\.json", re.DOTALL)  # ids may contain any characters, even slashes
_SHELL = lazy_pattern(r"(?P<folder>samples/.+_epoch_\d+/)sample\.json", re.DOTALL)
_CHUNK = lazy_pattern(r"(?P<list>.+/(?:messages|events|attachments)/)(?P<start>\d{1,18})\.json")
_HEADERS = ("header.json", "_journal/start.json")


def _score(sample: FileSample) -> float:
    """By the first member of an archive, or by the beginning of a log's document."""
    if sample.head.startswith(ZIP):
        return 0.9 if _FIRST_MEMBER.match(sample.head[30:256]) else 0.0
    return 0.9 if _DOCUMENT.match(sample.text.lstrip("\ufeff")) else 0.0


def _is_log(row: JsonObject) -> bool:
    spec = row.get("eval")
    is_named = isinstance(spec, dict) and {"task", "model"} <= spec.keys()
    return is_named and "version" in row and bool({"samples", "results", "plan"} & row.keys())


def _in_document(row: Row) -> Iterator[Trace | Skipped]:
    samples = row.value.get("samples")
    if not isinstance(samples, list) or not samples:
        yield Skipped(row.record, "the log has no list `samples` with samples in it")
        return
    header = {key: value for key, value in row.value.items() if key != "samples"}
    for number, sample in enumerate(samples, 1):
        record = f"{row.record}, sample {number}"
        if isinstance(sample, dict):
            yield from read_sample(sample, header, record)
        else:
            yield Skipped(record, "the sample is not an object")


def _from_archive(file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        with file.open_seekable() as stream:
            archive = Archive(stream)
            header = _header(archive)
            is_empty = True
            for record, sample in _samples(archive):
                is_empty = False
                yield from [sample] if isinstance(sample, Skipped) else read_sample(sample, header, record)
            if archive.is_cut:
                yield Skipped("end of file", NO_DIRECTORY)
            elif is_empty:
                yield Skipped("archive", "the archive contains no sample")
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _header(archive: Archive) -> JsonObject:
    """The log's header; if the evaluation has not ended, the one from its start."""
    by_name = {member.name: member for member in archive.members if member.name in _HEADERS}
    for name in _HEADERS:
        if name in by_name:
            found = _content(archive, by_name[name])
            if isinstance(found, dict):
                return found
    return {}


def _samples(archive: Archive) -> Iterator[tuple[str, JsonObject | Skipped]]:
    chunks = _chunks(archive)
    for member in archive.members:
        shell = _SHELL.fullmatch(member.name)
        if not shell and not _SAMPLE.fullmatch(member.name):
            continue
        content = _content(archive, member)
        if isinstance(content, dict) and shell:
            content = _whole(archive, content, shell["folder"], chunks)
        if isinstance(content, dict):
            yield member.name, content
        else:
            yield (
                member.name,
                content if isinstance(content, Skipped) else Skipped(member.name, "the sample is not an object"),
            )


def _content(archive: Archive, member: ArchiveMember) -> "Json | Skipped":
    try:
        return parse_json_bytes(archive.read(member))
    except (DamagedDataError, ValueError) as error:
        return Skipped(member.name, str(error))  # a JSON error contains line and column within the member


def _chunks(archive: Archive) -> dict[str, list[tuple[int, ArchiveMember]]]:
    """The members that contain a part of a list, by the list's folder, with the index of their first item."""
    chunks: dict[str, list[tuple[int, ArchiveMember]]] = {}
    for member in archive.members:
        if chunk := _CHUNK.fullmatch(member.name):
            chunks.setdefault(chunk["list"], []).append((int(chunk["start"]), member))
    return chunks


def _whole(
    archive: Archive, shell: JsonObject, folder: str, chunks: dict[str, list[tuple[int, ArchiveMember]]]
) -> JsonObject | Skipped:
    """A sample that is spread over members, joined to one object; attachments have their index as name."""
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
    pool = lists["messages"]
    return {
        **shell,
        "messages": pooled_messages(pool, shell.get("message_refs"), len(pool)) or [],
        "events": lists["events"],
        "events_data": {"messages": pool},
        "attachments": {str(at): text for at, text in enumerate(lists["attachments"])},
    }


INSPECT = LogSource(
    name="inspect",
    signs="an Inspect log's `eval` and `samples`, plain or in an archive",
    is_row=_is_log,
    confidence=0.9,
    score=_score,
    reader=lambda file: _from_archive(file) if file.head.startswith(ZIP) else traces_in_each_row(file, _in_document),
)
"""One trace per sample, and one for each other conversation in it; a log without any is skipped."""
