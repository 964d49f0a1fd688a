"""Reads a file into traces: finds the importer that recognises it, adds the provenance, and limits memory.

Also reads the small files of one gateway log together, and reports records that could not be read as faults.
"""

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.held_content import FileContent, HeldContent
from weaklink.inspector.importers.nearest_source import listed, nearest_source
from weaklink.inspector.importers.records import SAMPLE_RECORD_BYTES, first_rows, parse_json_bytes, read_rows
from weaklink.inspector.importers.source import HEAD_BYTES, FileSample, Importer, Numbering, Skipped, SourceFile
from weaklink.inspector.memoized import RecentValues, is_memoizing, memoized
from weaklink.inspector.memory import RECORD_MEMORY, too_long, too_much
from weaklink.inspector.model import Role, Trace, Turn
from weaklink.inspector.rules.recording import UNREADABLE_FILE, UNREADABLE_RECORD
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import LineIndex, Range, binary_kind

MAX_FILE_BYTES = 8 << 20
"""A longer file is read separately."""

MAX_TOGETHER_BYTES = 64 << 20
"""The most stored bytes that are read as one log; memory grows with them."""

UNREADABLE_RULES = frozenset({UNREADABLE_RECORD, UNREADABLE_FILE})
"""The rules on records and files that could not be read. They count whichever other rules a user selects."""

_CLOSE = 0.25

_EVENT = lazy_pattern(r"\ufeff?\s*(?::|(?:data|event|id|retry):)")
_PICKLE = re.compile(rb"\x80[\x02-\x05]|\(?[dl]p\d+\n|c[\w.]+\n\w+\n|[\])}]q\x00")
"""How pickles of each protocol begin: 2 to 5 with the protocol number, 0 and 1 with a container or a class."""

_SMALL = 64 * 1024  # characters; less text cannot reach the bound, whatever it contains
_TURN, _PART, _CALL, _MARK = 2_000, 1_000, 2_000, 3_600
_ASCII, _WIDE = 4, 9
"""Bytes per character, measured over inspecting and packing. A `<` may open a call, or violate a rule."""

_CALLS = lazy_pattern(r"""["']name["']|[\[,]\s*[\w.]+\(""")


class ReadsSeveralFiles(Importer, Protocol):
    """An importer that finds sessions across files."""

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The traces of all files, each with its provenance, and the records that contain no trace."""
        ...


class Recognition(Struct, frozen=True):
    """The source of a file and why, so that it is recognised once; `head` is the hash of the head that it had then."""

    source: str
    why: str
    head: bytes


class FileGroup(Struct, frozen=True):
    """Files that are read as one log; `recognised` is the first one's source, None if it was not looked at."""

    paths: tuple[str, ...]
    recognised: Recognition | None = None


def group_files(paths: Sequence[str], source: str | None = None) -> list[FileGroup]:
    """The files in groups; each group is read as one log. Most groups have one file. The order of first files is kept.

    Files of one source are added to a group until it has `MAX_TOGETHER_BYTES`. `source` is the source that the user
    named for every file. A file that cannot be read has its own group.
    """
    groups: list[tuple[list[str], Recognition | None]] = []
    growing: dict[str, tuple[list[str], int]] = {}
    for path in paths:
        size = _size(path)
        recognised = _recognition(path, source) if len(paths) > 1 and 0 < size <= MAX_FILE_BYTES else None
        name = recognised.source if recognised is not None and reads_together(recognised.source) else ""
        group, size_so_far = growing.get(name, ([], 0))
        if not name or not group or size_so_far + size > MAX_TOGETHER_BYTES:
            group, size_so_far = [], 0
            groups.append((group, recognised))
        group.append(path)
        if name:
            growing[name] = (group, size_so_far + size)
    return [FileGroup(tuple(group), recognised) for group, recognised in groups]


def read_group(paths: Sequence[str], source: str) -> Iterator[Trace | Skipped]:
    """The traces of a group, and the records that contain no trace; `source` is the source of its first file.

    UnreadableFileError if reading a file fails.
    """
    try:
        for found in _by_name(source).read_together([SourceFile(path) for path in paths]):
            yield found if isinstance(found, Skipped) else bounded_trace(found)
    except OSError as error:
        raise UnreadableFileError(f"{paths[0]} and the files read with it: {error.strerror or error}") from error


def reads_together(source: str | None) -> bool:
    """Whether a source finds sessions across files; such files mean more together than each alone."""
    return any(importer.name == source and hasattr(importer, "read_together") for importer in _importers())


def _importers() -> tuple[Importer, ...]:
    from weaklink.inspector.importers.registry import importers  # noqa: PLC0415  # loads every importer: heavy

    return importers()


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):  # ValueError: an impossible path
        return 0


def _recognition(path: str, source: str | None) -> Recognition | None:
    """The source of a file; None if it cannot be read."""
    file = SourceFile(path)
    try:
        found = _source_of(file, source)
        return Recognition(found.importer.name, found.why, _digest(file))
    except (OSError, UnreadableFileError):
        return None


def _digest(file: SourceFile) -> bytes:
    return hashlib.sha256(file.head).digest()


def _by_name(source: str) -> ReadsSeveralFiles:
    found = next(
        importer for importer in _importers() if importer.name == source and hasattr(importer, "read_together")
    )
    return cast("ReadsSeveralFiles", found)


def unreadable_record_fault(skipped: Skipped, text: str) -> Fault:
    """A record that was skipped, as a fault; its range is one character of `text`, the record's own text."""
    start = min(skipped.offset, max(len(text) - 1, 0))
    message = f"This record could not be read: {skipped.reason.removesuffix('.')}."
    return Fault(UNREADABLE_RECORD, Range(start, min(start + 1, len(text))), message)


def unreadable_file_fault(name: str, reason: str) -> Fault:
    """A file that was refused or ended early, as a fault at its beginning; `reason` may begin with the file's name."""
    detail = reason.removeprefix(f"{name}: ").removesuffix(".")
    return Fault(UNREADABLE_FILE, Range(0, 0), f"This file could not be read: {detail}.")


def unreadable_faults(text: str) -> Iterator[Fault]:
    """The faults for the records of a text that could not be read, at their positions in it; records are lines."""
    with HeldContent(io.BytesIO(text.encode("utf-8", "surrogateescape"))) as content:
        try:
            for record in read_source("file", content=content).records:
                if isinstance(record, Skipped) and not record.is_irrelevant:
                    yield _line_fault(record, LineIndex(text))
        except UnreadableFileError as error:
            yield unreadable_file_fault("file", str(error))


def _line_fault(skipped: Skipped, lines: LineIndex) -> Fault:
    line = lines.line(int(skipped.record.removeprefix("line ")))
    return unreadable_record_fault(skipped, line.of(lines.text)).moved(line.start)


class RecognisedSource(Struct, frozen=True):
    """The importer that reads a file, and one sentence with the reason."""

    importer: Importer
    why: str


def most_confident(scores: Sequence[tuple[float, Importer]]) -> RecognisedSource | None:
    """The importer with the highest confidence, the first one of equals; None if no importer recognises the file.

    The sentence gives the signs and the confidence, and the runner-up if its confidence is less than 0.25 lower.
    """
    ranked = sorted(scores, key=lambda scored: -scored[0])
    if not ranked or ranked[0][0] <= 0:
        return None
    confidence, importer = ranked[0]
    why = f"Recognised as `{importer.name}`: {signs_of(importer)} (confidence {confidence:.2g})"
    return RecognisedSource(importer, f"{why}{_runner_up(confidence, ranked[1:])}.")


def named_by_user(importer: Importer) -> RecognisedSource:
    """The importer that the user named; the content of the file was not checked."""
    return RecognisedSource(importer, f"Set by `--source {importer.name}`; the content of the file was not checked.")


def signs_of(importer: Importer) -> str:
    """How the importer recognises its files, as its `signs` describe it if it has them."""
    return str(getattr(importer, "signs", "")) or "the first rows match its format"


def _runner_up(confidence: float, others: Sequence[tuple[float, Importer]]) -> str:
    if not others or others[0][0] <= 0 or confidence - others[0][0] > _CLOSE:
        return ""
    second, importer = others[0]
    return f"; next best: `{importer.name}` (confidence {second:.2g}), {signs_of(importer)}"


class SourceRecords(Struct, frozen=True):
    """A file that is being read: the name of its source, and an iterator over its traces and skipped records.

    `why` is a sentence on how the source was recognised. The records can be iterated over once; the iterator raises
    UnreadableFileError if reading the file fails.
    """

    source: str
    why: str
    records: Iterator[Trace | Skipped]


def read_source(
    path: str | Path,
    source: str | None = None,
    *,
    name: str | None = None,
    size_bytes: int | None = None,
    content: FileContent | None = None,
    numbering: Numbering | None = None,
    recognised: Recognition | None = None,
) -> SourceRecords:
    """Read a file with the importer that recognises its content, or with the one that `source` names.

    gzip and zstd are unpacked first. Every trace has its origin in its provenance; a trace that already has one (from a
    trace file) keeps it. Only what the records need is in memory. `name` is what the file is called, if that is not its
    path. `size_bytes` is how many bytes to read of a file that is still being written. `content` are the bytes if there
    is no file on disk, `numbering` their position in a larger file (see `SourceFile`). `recognised` is how the file was
    recognised before; it counts if the file still begins as it did then. UnreadableFileError, one sentence with the
    name, if the file does not exist, is a folder, is empty or is not a regular file, if no importer recognises it, or
    if no source has that name.
    """
    file = SourceFile(path, name, size_bytes, content, numbering)
    found = _source_of(file, source, recognised)
    return SourceRecords(found.importer.name, found.why, _records(found.importer, file))


def _source_of(file: SourceFile, source: str | None, recognised: Recognition | None = None) -> RecognisedSource:
    """The importer of a file, after all checks of `read_source`."""
    try:
        _check(file)
        if source:
            return named_by_user(_importer_named(file, source))
        if recognised is not None and recognised.head == _digest(file):
            return RecognisedSource(_importer_named(file, recognised.source), recognised.why)
        return _recognised(file)
    except (OSError, ValueError) as error:  # ValueError: an impossible path
        raise _unreadable(file, getattr(error, "strerror", None) or str(error)) from error


def _check(file: SourceFile) -> None:
    if file.content is None:
        _check_path(file)
    if not file.head:
        raise _unreadable(file, "the file is empty")
    if _is_blank(file):
        raise _unreadable(file, "the file contains only white space")


def _check_path(file: SourceFile) -> None:
    if not file.path.exists():
        raise _unreadable(file, "there is no such file")
    if file.path.is_dir():
        raise _unreadable(file, "this is a folder")
    if not file.path.is_file():
        raise _unreadable(file, _no_plain_file(file.path))


def _is_blank(file: SourceFile) -> bool:
    if _without_blanks(file.head):
        return False
    with file.open() as stream:
        return not any(map(_without_blanks, iter(partial(stream.read, HEAD_BYTES), b"")))


def _without_blanks(raw: bytes) -> bytes:
    return raw.strip(b"\xef\xbb\xbf \t\r\n\v\f")


def _no_plain_file(path: Path) -> str:
    """Why a pipe, socket or device is not opened: it may never end, and a source is read more than once."""
    if path.is_fifo():
        return (
            "this is a named pipe (FIFO): name it directly, with a command that also reads standard input, while a "
            "program writes to it"
        )
    return f"this is a {'socket' if path.is_socket() else 'device'}, not a regular file"


def _importer_named(file: SourceFile, source: str) -> Importer:
    for importer in _importers():
        if importer.name == source:
            return importer
    names = [importer.name for importer in _importers()]
    nearest = get_close_matches(source, names, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else f"; known sources: {', '.join(names)}"
    raise _unreadable(file, f"unknown source `{source}`{hint}")


def _recognised(file: SourceFile) -> RecognisedSource:
    """The source of a file; of one that grows, that of before, if it still begins as it did then."""
    if not is_memoizing():
        return _recognised_by_content(file)
    place, head = (file.name, str(file.path)), _digest(file)
    before = _recognised_before.get(place)
    source = before[1] if before is not None and before[0] == head else _recognised_by_content(file)
    _recognised_before.put(place, (head, source))
    return source


_recognised_before: RecentValues[tuple[bytes, RecognisedSource]] = RecentValues()


_OWN_DATABASE = "this is a database of weaklink: `weaklink list --db FILE` lists its traces, and `export` writes them"


def _recognised_by_content(file: SourceFile) -> RecognisedSource:
    sample = FileSample(file, first_rows(file))
    source = most_confident([(_confidence(importer, sample, file), importer) for importer in _importers()])
    if source is None:
        raise _unreadable(file, _why_unknown(sample))
    return source


def _confidence(importer: Importer, sample: FileSample, file: SourceFile) -> float:
    try:
        return float(importer.recognises(sample))
    except OSError:
        raise
    except Exception as error:  # foreign code: importers come from plug-ins too
        raise _unreadable(file, f"the importer `{importer.name}` failed: {error!r}") from error


def _is_own_database(sample: FileSample) -> bool:
    from weaklink.inspector.importers.sqlite_tables import has_columns  # noqa: PLC0415  # loads sqlite3

    return has_columns(sample, "weaklink_version", ("version_num",))


def _why_unknown(sample: FileSample) -> str:
    head = sample.head
    if (kind := binary_kind(head)) is not None:
        return f"unknown format: {kind}" if not _is_own_database(sample) else _OWN_DATABASE
    if _PICKLE.match(head):
        return "this is a Python pickle, which weaklink never loads: a pickle can run any code"
    if b"\0" in head and not sample.rows:
        return "unknown format: a binary file"
    begins = sample.text.lstrip("\ufeff \t\r\n")[:1]
    if not begins:
        return "the beginning of the file contains only white space, and no JSON follows"
    if not sample.rows and (begins in "{[" or _is_json_value(sample.text)):
        return f"no JSON object found at the beginning of the file: {_first_reason(sample.file)}"
    if not sample.rows or begins not in "{[":
        if _EVENT.match(sample.text):
            return "unknown format: an event stream"
        return "unknown format: neither JSON nor a transcript"
    if not sample.rows[0]:
        return "unknown format: the first row has no keys"
    nearest = nearest_source(sample, _importers())
    return f"unknown format: the first row has the keys {listed(sample.rows[0])}{nearest}"


def _is_json_value(text: str) -> bool:
    """Whether the first line is JSON, even if only a number or a string."""
    line = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        parse_json_bytes(line.encode("utf-8", "surrogateescape"))
    except ValueError:
        return False
    return True


def _first_reason(file: SourceFile) -> str:
    first = next(read_rows(file, limit=SAMPLE_RECORD_BYTES), None)
    if not isinstance(first, Skipped):
        return "the file contains none"
    hint = "; use `--source` to choose the importer" if too_long(SAMPLE_RECORD_BYTES) in first.reason else ""
    return f"{first.record}: {first.reason}{hint}"


def _records(importer: Importer, file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        is_empty = True
        for record in importer.read(file):
            is_empty = False
            yield record if isinstance(record, Skipped) else bounded_trace(_placed(record, importer, file))
        if is_empty:
            yield Skipped("file", "the file contains no conversation", is_irrelevant=True)
    except UnreadableFileError:
        raise
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except MemoryError as error:
        raise _unreadable(file, "not enough memory to read the rest of the file") from error
    except Exception as error:  # foreign code: importers come from plug-ins too
        raise _unreadable(file, f"the importer `{importer.name}` failed: {error!r}") from error


def _placed(trace: Trace, importer: Importer, file: SourceFile) -> Trace:
    provenance = trace.provenance
    if provenance.source:
        return trace
    return structs.replace(
        trace, provenance=structs.replace(provenance, source=importer.name, file=file.name, file_sha256=file.sha256)
    )


def _unreadable(file: SourceFile, why: str) -> UnreadableFileError:
    return UnreadableFileError(f"{file.name}: {why}")


def bounded_trace(trace: Trace) -> Trace | Skipped:
    """The trace, or a Skipped with the reason if inspecting it would take more than `RECORD_MEMORY`."""
    needed = trace_memory(trace)
    return trace if needed <= RECORD_MEMORY else Skipped(trace.provenance.record, too_much(needed))


def trace_memory(trace: Trace) -> int:
    """The most bytes that inspecting and packing a trace takes."""
    is_small = sum(len(part.text) for turn in trace.turns for part in turn.parts) < _SMALL
    return sum(
        _TURN + len(turn.calls) * _CALL + len(turn.parts) * _PART + (0 if is_small else _texts(turn))
        for turn in trace.turns
    )


@memoized
def _texts(turn: Turn) -> int:
    needed = 0
    for part in turn.parts:
        needed += len(part.text) * (_ASCII if part.text.isascii() else _WIDE)
        if turn.role is Role.ASSISTANT and not part.name.startswith("call:"):
            needed += part.text.count("<") * _MARK + sum(_CALL for _ in _CALLS.finditer(part.text))
    return needed
