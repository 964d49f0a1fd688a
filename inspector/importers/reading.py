"""A file in, its traces out: finds the importer that knows it and adds where the traces come from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from inspector.errors import UnreadableFileError
from inspector.importers.held_content import HeldContent
from inspector.importers.lines import too_long
from inspector.importers.recognition import Recognised, named, surest
from inspector.importers.registry import importers, source_names
from inspector.importers.rows import SAMPLE_RECORD_BYTES, first_rows, parse_json, read_rows
from inspector.importers.source import HEAD_BYTES, Importer, Sample, Skipped, SourceFile
from inspector.importers.trace_memory import bounded
from inspector.model import Trace

_KNOWN_BINARIES = (
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
)
_EVENT = re.compile(r"\ufeff?\s*(?::|(?:data|event|id|retry):)")
_PICKLE = re.compile(rb"\x80[\x02-\x05]|\(?[dl]p\d+\n|c[\w.]+\n\w+\n|[\])}]q\x00")
"""How pickles of every protocol begin: 2 to 5 with their number, 0 and 1 with a container or a class."""


@dataclass(frozen=True, slots=True)
class SourceReading:
    """A file that is being read: the name of its source, and its traces and skipped records, each as it is read.

    `why` is a sentence on what the source was recognised by. The records can be gone through once. UnreadableFileError
    comes out of them where the file fails on the way.
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
    content: HeldContent | None = None,
) -> SourceReading:
    """Read a file with the importer that recognises its content, or with the one that `source` names.

    gzip and zstd are unpacked first. Every trace says in its provenance where it comes from; a trace that already does
    (one of a trace file) keeps what it says. Only what the records need is in memory. `name` is what the file is called
    where that is not its path; `size_bytes` is how much of it counts where it is still written; `content` are its bytes
    where it is no file (see `SourceFile`). UnreadableFileError, one sentence with the name, where there is no such
    file, it is a folder, empty or no plain file, no importer recognises it, or no source bears that name.
    """
    file = SourceFile(path, name, size_bytes, content)
    try:
        _check(file)
        found = named(_named(file, source)) if source else _recognised(file)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise _unreadable(file, getattr(error, "strerror", None) or str(error)) from error
    return SourceReading(found.importer.name, found.why, _records(found.importer, file))


def _check(file: SourceFile) -> None:
    if file.content is None:
        _check_path(file)
    if not file.head:
        raise _unreadable(file, "the file is empty")
    if _is_blank(file):
        raise _unreadable(file, "there is nothing but blank space in the file")


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
    """Why a pipe, socket or device is not opened: it may have no end, and a source is read more than once."""
    if path.is_fifo():
        return (
            "this is a named pipe (FIFO): it is read only where it is named itself while something writes to it, by "
            "commands that read standard input too"
        )
    return f"this is a {'socket' if path.is_socket() else 'device'}, and weaklink reads files"


def _named(file: SourceFile, source: str) -> Importer:
    for importer in importers():
        if importer.name == source:
            return importer
    nearest = get_close_matches(source, source_names(), n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else f"; there are {', '.join(source_names())}"
    raise _unreadable(file, f"no source is called `{source}`{hint}")


def _recognised(file: SourceFile) -> Recognised:
    sample = Sample(file, first_rows(file))
    found = surest([(_sureness(importer, sample, file), importer) for importer in importers()])
    if found is None:
        raise _unreadable(file, _why_unknown(sample))
    return found


def _sureness(importer: Importer, sample: Sample, file: SourceFile) -> float:
    try:
        return float(importer.recognises(sample))
    except OSError:
        raise
    except Exception as error:  # foreign code: importers come from plug-ins too
        raise _unreadable(file, f"the importer `{importer.name}` failed: {error!r}") from error


def _why_unknown(sample: Sample) -> str:
    head = sample.head
    for magic, kind in _KNOWN_BINARIES:
        if head.startswith(magic):
            return f"this is {kind}, and none that weaklink knows"
    if _PICKLE.match(head):
        return "this is a Python pickle, which weaklink never loads: a pickle can run any code"
    if b"\0" in head and not sample.rows:
        return "this is a binary file of an unknown kind"
    begins = sample.text.lstrip("\ufeff \t\r\n")[:1]
    if not begins:
        return "there is nothing but blank space at its beginning, and no JSON after it"
    if not sample.rows and (begins in "{[" or _is_json_value(sample.text)):
        return f"no JSON object could be read at its beginning: {_first_reason(sample.file)}"
    if not sample.rows or begins not in "{[":
        if _EVENT.match(sample.text):
            return "this is an event stream, and none that weaklink knows"
        return "no source writes such a file: it is neither JSON nor a transcript"
    keys = ", ".join(f"`{key[:40]}`" for key in list(sample.rows[0])[:6])
    return f"no source writes such rows: the first has {keys or 'no members'}"


def _is_json_value(text: str) -> bool:
    """Whether the first line is JSON, if only a number or a string."""
    line = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        parse_json(line.encode("utf-8", "surrogateescape"))
    except ValueError:
        return False
    return True


def _first_reason(file: SourceFile) -> str:
    first = next(read_rows(file, limit=SAMPLE_RECORD_BYTES), None)
    if not isinstance(first, Skipped):
        return "there is none"
    hint = "; `--source` reads it if you know what it is" if too_long(SAMPLE_RECORD_BYTES) in first.reason else ""
    return f"{first.record}: {first.reason}{hint}"


def _records(importer: Importer, file: SourceFile) -> Iterator[Trace | Skipped]:
    try:
        is_nothing = True
        for record in importer.read(file):
            is_nothing = False
            yield record if isinstance(record, Skipped) else bounded(_placed(record, importer, file))
        if is_nothing:
            yield Skipped("file", "it holds no conversation: there is nothing to inspect in it", is_irrelevant=True)
    except UnreadableFileError:
        raise
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except MemoryError as error:
        raise _unreadable(file, "there is not enough memory to read on") from error
    except Exception as error:  # foreign code: importers come from plug-ins too
        raise _unreadable(file, f"the importer `{importer.name}` failed: {error!r}") from error


def _placed(trace: Trace, importer: Importer, file: SourceFile) -> Trace:
    known = trace.provenance
    if known.source:
        return trace
    return replace(trace, provenance=replace(known, source=importer.name, file=file.name, file_sha256=file.sha256))


def _unreadable(file: SourceFile, why: str) -> UnreadableFileError:
    return UnreadableFileError(f"{file.name}: {why}")
