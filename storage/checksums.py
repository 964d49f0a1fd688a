"""Checksums of what is stored of a trace, so that damage is noticed when it is read.

Each packed column has a checksum of its own (`packing.blobs`). What the rows of a trace are besides, and that none of
them is missing, misplaced or another trace's, is in three columns of the trace's row:

* `turns_checksum`, the sum over the turns of a checksum of each turn's number, role, set of tools and packed columns,
  and of each of its parts' number, name and packed columns. Since it is a sum, a trace that grows is not read again.
* `record_checksum`, of the columns of the trace's row that come from the record, the sum above among them.
* `derived_checksum`, of the columns that come from the inspection, and of that inspection's digest.

All are NULL in traces that were stored before tables v0007, which are then read without. Not covered are when a trace
was imported and where it is in lists, its identity and fingerprint, marks, and the rows that filters and figures read
(`call`, `argument`, ...): `storage.maintenance` compares those with the inspection.
"""

from collections.abc import Mapping, Sequence
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
CHECKED_COLUMNS = (*RECORD_COLUMNS, *DERIVED_COLUMNS, "record_checksum", "derived_checksum")
"""What `check_row` reads of a trace's row, in this order."""
_TURNS_AT = RECORD_COLUMNS.index("turns_checksum")


def turn_checksum(
    number: int, role: str, toolset: bytes | None, facts: int, parts: list[list[int | str | None]]
) -> int:
    """That of a turn: `toolset` is the hash of its tools, `facts` the checksum of its packed column.

    Each of `parts` is a number, a name, the checksum of a text, and that of chunks or None.
    """
    return crc32(pack([number, role, toolset, facts, parts]))


def record_checksum(row: Mapping[Any, Any]) -> int:
    """That of the columns of a trace's row that come from the record."""
    return of_record([row[name] for name in RECORD_COLUMNS])


def derived_checksum(row: Mapping[Any, Any], digest: bytes | None) -> int:
    """That of the columns of a trace's row that come from its inspection, which has this digest."""
    return of_derived([row[name] for name in DERIVED_COLUMNS], digest)


def of_record(values: Sequence[Any]) -> int:
    """That of the values of RECORD_COLUMNS, in their order."""
    *plain, facts, provenance = values
    return crc32(pack([plain, checksum_of(facts), checksum_of(provenance)]))


def of_derived(values: Sequence[Any], digest: bytes | None) -> int:
    """That of the values of DERIVED_COLUMNS, in their order, of an inspection with this digest."""
    return crc32(pack([values, digest]))


def check_row(row: Sequence[Any]) -> None:
    """DamagedBlobError where a trace's row is not as written: the values of CHECKED_COLUMNS, then a digest."""
    of_turns, record, derived, digest = row[_TURNS_AT], *row[-3:]
    if of_turns is record is derived is None:
        return
    found = of_record(row[: len(RECORD_COLUMNS)])
    if record != found or derived != of_derived(row[len(RECORD_COLUMNS) : -3], digest and bytes(digest)):
        raise DamagedBlobError("its row in the list of traces is not as it was written: a checksum does not match")


def check_turns(stored: int, found: int) -> None:
    """DamagedBlobError where turns whose checksums have this sum are not those that were written."""
    if stored != found:
        raise DamagedBlobError("its turns are not as they were written: their checksum does not match")


def canonical(value: float | None) -> float | None:
    """A number as every database gives it back: none of them keeps NaN, -0.0 or a whole number in such a column."""
    if value is None:
        return None
    number = float(value) + 0.0
    return None if isnan(number) else number
