"""Each importer over a large file of its source, against `json.loads` or the container's own reader; and its memory.

The files are the importers' cases, of each source the one with the most turns, repeated to a size: a log of one session
may become one long session. What is measured is reading alone, as far as traces; `reading` measures what comes behind.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from benchmarks.measuring import best_of, print_line
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.records import layout_of, read_rows
from weaklink.inspector.importers.registry import source_names
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.text import decode
from weaklink.inspector.trace_file.lines import HEADER_KEY

_CASES = Path(__file__).parents[1] / "tests" / "cases" / "importers"
_MILLION = float(os.environ.get("WEAKLINK_BENCH_MB", "2"))
_TIMES_LARGER = 4
_FLAT_KIB = 8 * 1024
_GROWTH = """
import sys
from collections import deque
from benchmarks.measuring import peak_kib
from weaklink.inspector.importers.reading import read_source
def most(path):
    deque(read_source(path, sys.argv[1]).records, maxlen=0)
    return peak_kib()
print(-most(sys.argv[2]) + most(sys.argv[3]))
"""


def imports() -> None:
    """A line for each source: how fast it is read, how that compares, and what a file four times as large adds."""
    print_line(
        f"imports: {_MILLION:g} MB of each source; memory is what {_TIMES_LARGER} times as much adds at its highest"
    )
    for source in source_names():
        cases = [path for path in (_CASES / source).glob("*") if path.suffix != ".expected"]
        if cases:
            with tempfile.TemporaryDirectory() as folder:
                _one_source(source, max(cases, key=_turns), Path(folder))


def _turns(case: Path) -> int:
    return sum(len(record.turns) for record in read_source(case).records if not isinstance(record, Skipped))


def _one_source(source: str, case: Path, folder: Path) -> None:
    path, larger = folder / case.name, folder / f"larger-{case.name}"
    size = _repeated(case, path, _MILLION * 1e6)
    peer, way = _peer(path)
    ways: dict[str, Callable[[], object]] = {"read": partial(_read, path, source), "peer": way}
    best = best_of(ways, rounds=3)
    said = f"  {source:20} {size / 1e6 / best['read']:7.1f} MB/s, of {peer:11} {best['peer'] / best['read']:6.3f}"
    if _repeated(case, larger, size * _TIMES_LARGER) == size:
        print_line(f"{said}; one container of {size:,} bytes, which does not repeat")
        return
    grown = _grown_kib(source, path, larger)
    print_line(f"{said}; memory {'flat' if grown < _FLAT_KIB else 'grows'}, {grown / 1024:+.1f} MiB")


def _repeated(case: Path, path: Path, size: float) -> int:
    """Write a case as often as it takes to fill `size` bytes, once where it is a container; how many were written."""
    raw = case.read_bytes()
    before, between, after = b"", b"", b""
    times = max(1, round(size / len(raw)))
    if raw.startswith((b"SQLite format 3\0", b"PK\x03\x04")):
        times = 1
    elif HEADER_KEY.encode() in raw[:64]:  # a trace file's first line stands once
        before, _, raw = raw.partition(b"\n")
        before += b"\n"
    elif raw.lstrip().startswith(b"[") and layout_of(raw) == "entry":
        raw = raw.strip().removeprefix(b"[").removesuffix(b"]")
        before, between, after = b"[", b",\n", b"]\n"
    elif not raw.endswith(b"\n") and raw[:1] in b"{[":
        between = b"\n"
    with path.open("wb") as stream:
        stream.write(before)
        for number in range(times):
            stream.write(between + raw if number else raw)
        stream.write(after)
    return path.stat().st_size


def _peer(path: Path) -> tuple[str, Callable[[], object]]:
    """What else reads such a file, without knowing what it means."""
    with path.open("rb") as stream:
        head = stream.read(65_536)
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite3", partial(_sqlite, path)
    if head.startswith(b"PK\x03\x04"):
        return "zipfile", partial(_zip, path)
    if head.lstrip(b"\xef\xbb\xbf \r\n").startswith((b"{", b"[")):
        raws = [row.raw for row in read_rows(SourceFile(path)) if not isinstance(row, Skipped)]
        return "json.loads", partial(_loaded, raws)
    return "splitlines", lambda: path.read_bytes().decode("utf-8", "replace").splitlines()


def _read(path: Path, source: str) -> int:
    return sum(1 for _ in read_source(path, source).records)


def _loaded(raws: list[bytes]) -> None:
    for raw in raws:
        with suppress(ValueError):  # an integer of more digits than Python takes
            json.loads(decode(raw))


def _sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        names = [name for (name,) in database.execute("select name from sqlite_schema where type = 'table'")]
        for name in names:
            database.execute(f'select * from "{name}"').fetchall()


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            archive.read(name)


def _grown_kib(source: str, small: Path, large: Path) -> int:
    """How much higher the memory of a process of its own goes for the larger file."""
    command = [sys.executable, "-c", _GROWTH, source, str(small), str(large)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
