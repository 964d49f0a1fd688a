"""Whether a trace file can be appended to: its first line, and whether its last trace is whole."""

import json
import os
from pathlib import Path

from inspector.errors import SinkError
from inspector.trace_file.lines import HEADER_KEY, VERSION

_BLOCK = 65_536
_TRACE = b'\n{"trace":'


def check_end(path: Path, file: int) -> None:
    """SinkError for a file that is no trace file of this version, or that ends within a trace.

    Reads the first line, and from the end backwards to the beginning of the last trace.
    """
    version = _version(os.pread(file, _BLOCK, 0))
    if version is None:
        raise SinkError(f"{path} is there already and is no trace file, so nothing is appended to it; name another.")
    if version != VERSION:
        raise SinkError(f"{path} is a trace file of version {version}, and version {VERSION} is written; name another.")
    tail = _last_trace(file)
    if not tail.endswith(b"\n") or _turns_missing(tail):
        raise SinkError(f"{path} ends within a trace, so nothing can be appended to it; name another file.")


def _version(start: bytes) -> int | None:
    try:
        record = json.loads(start.partition(b"\n")[0].decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    version = record.get(HEADER_KEY) if isinstance(record, dict) else None
    return version if isinstance(version, int) else None


def _last_trace(file: int) -> bytes:
    """The file from its last trace's line on, or all of it where there is no trace yet."""
    blocks: list[bytes] = []
    at = os.fstat(file).st_size
    while at > 0:
        begin = max(0, at - _BLOCK)
        blocks.append(os.pread(file, at - begin, begin))
        at = begin
        # A marker may lie across two blocks, so the next one's first bytes are looked through with this one.
        seen = blocks[-1] + (blocks[-2][: len(_TRACE)] if len(blocks) > 1 else b"")
        found = seen.rfind(_TRACE)
        if found >= 0:
            return b"".join(reversed(blocks))[found + 1 :]
    return b"".join(reversed(blocks))


def _turns_missing(tail: bytes) -> bool:
    first, _, rest = tail.partition(b"\n")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return True
    trace = record.get("trace")
    return isinstance(trace, dict) and trace.get("turns") != rest.count(b"\n")
