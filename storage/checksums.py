"""Checksums of what is stored of a trace, so that damage is noticed when it is read.

Each packed column has a checksum of its own (`packing.blobs`). What the rows of a trace are besides, and that none of
them is missing, misplaced or another trace's, is in three columns of the trace's row:

* `turns_checksum`, the sum over the turns of a checksum of each turn's number, role, set of tools and packed columns,
  and of each of its parts' number, name and packed columns. Since it is a sum, a trace that grows is not read again.
* `record_checksum`, of the columns of the trace's row that come from the record, the sum above among them.
* `derived_checksum`, of the columns that come from the inspection, and of that inspection's digest.

All are NULL in traces that were stored before tables v0007, which are then read without. Not covered are when a trace
was imported and where it is in lists, its identity and fingerprint, marks, and the rows that filters and figures read
(`call`, `argument`, ...): `storage.checking` compares those with the inspection.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any
from zlib import crc32

from storage.packing.blobs import DamagedBlobError, checksum_of
from storage.packing.values import pack

_RECORD_BLOBS = ("facts", "provenance")
RECORD_COLUMNS = (
    *("name", "source", "file", "record", "model", "started_at_s", "duration_s", "turns", "characters", "chunks"),
    *("input_tokens", "output_tokens", "tokens", "first_token_s", "max_gap_s", "prompt_hash", "turns_checksum"),
    *_RECORD_BLOBS,
)
"""The columns of a trace's row that `record_checksum` covers."""
DERIVED_COLUMNS = (
    *("format", "status", "abort_reason", "tool_calls", "errors", "warnings", "infos", "kinds", "reasoning"),
    *("steps", "steps_ok", "steps_failed", "steps_recovered", "break_step", "break_turn", "break_tool"),
    *("break_outcome", "break_code", "break_message", "break_reaction"),
)
"""The columns of a trace's row that `derived_checksum` covers, besides the digest of its inspection."""


def turn_checksum(
    number: int,
    role: str,
    toolset: bytes | None,
    facts: int,
    parts: Iterable[Sequence[Any]],
) -> int:
    """That of a turn: `toolset` is the hash of its tools, `facts` the checksum of its packed column.

    Each of `parts` is a number, a name, the checksum of a text, and that of chunks or None.
    """
    return crc32(pack([number, role, toolset, facts, [list(part) for part in parts]]))


def record_checksum(row: Mapping[Any, Any]) -> int:
    """That of the columns of a trace's row that come from the record."""
    blobs = [checksum_of(row[name]) for name in _RECORD_BLOBS]
    return crc32(pack([*(canonical(name, row[name]) for name in RECORD_COLUMNS if name not in _RECORD_BLOBS), *blobs]))


def derived_checksum(row: Mapping[Any, Any], digest: bytes | None) -> int:
    """That of the columns of a trace's row that come from its inspection, which has this digest."""
    return crc32(pack([*(canonical(name, row[name]) for name in DERIVED_COLUMNS), digest]))


def check_row(row: Mapping[Any, Any]) -> None:
    """DamagedBlobError where a trace's row, with all its columns and its inspection's `digest`, is not as written."""
    stored = [row[name] for name in ("turns_checksum", "record_checksum", "derived_checksum")]
    if stored == [None, None, None]:
        return
    digest = None if row["digest"] is None else bytes(row["digest"])
    if stored[1:] != [record_checksum(row), derived_checksum(row, digest)]:
        raise DamagedBlobError("its row in the list of traces is not as it was written: a checksum does not match")


def check_turns(stored: int, found: int) -> None:
    """DamagedBlobError where turns whose checksums have this sum are not those that were written."""
    if stored != found:
        raise DamagedBlobError("its turns are not as they were written: their checksum does not match")


def canonical(name: str, value: Any) -> Any:
    """A value as it is before it is stored and behind: databases keep no NaN, no -0.0, and no whole numbers here."""
    if value is None or not name.endswith("_s"):
        return value
    number = float(value) + 0.0
    return None if isnan(number) else number
