"""Checksums over the rows of a trace, so that damage is detected when they are read.

Each packed column has its own checksum (`packing.blobs`). Three columns of the trace's row cover the other columns, and
detect rows that are missing, misplaced or from another trace:

* `turns_checksum`, the sum over the turns of a checksum of each turn's number, role, set of tools and packed columns,
  and of each of its parts' number, name and packed columns. Since it is a sum, a trace can grow without being reread.
* `record_checksum`, of the columns of the trace's row that come from the record, including the sum above.
* `derived_checksum`, of the columns that come from the inspection, and of that inspection's digest.

All are NULL in traces that were stored before tables v0007; these are read without a check. The checksums do not cover
a trace's import time and sort time, its identity and fingerprint, marks, and the rows that filters and statistics read
(`call`, `argument`, ...): `storage.maintenance` compares those rows with the inspection.
"""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any
from zlib import crc32

from weaklink.storage.packing.blobs import DamagedBlobError, checksum_of
from weaklink.storage.packing.values import pack

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
"""The columns of a trace's row that `check_row` reads, in this order."""
_TURNS_AT = RECORD_COLUMNS.index("turns_checksum")


def turn_checksum(
    number: int, role: str, toolset: bytes | None, facts: int, parts: list[list[int | str | None]]
) -> int:
    """The checksum of a turn: `toolset` is the hash of its tools, `facts` the checksum of its packed column.

    Each of `parts` is a number, a name, the checksum of the text, and that of the chunks or None.
    """
    return crc32(pack([number, role, toolset, facts, parts]))


def record_checksum(row: Mapping[Any, Any]) -> int:
    """The checksum of the columns of a trace's row that come from the record."""
    return of_record([row[name] for name in RECORD_COLUMNS])


def derived_checksum(row: Mapping[Any, Any], digest: bytes | None) -> int:
    """The checksum of the columns of a trace's row that come from its inspection, and of the inspection's digest."""
    return of_derived([row[name] for name in DERIVED_COLUMNS], digest)


def of_record(values: Sequence[Any]) -> int:
    """The checksum of the values of RECORD_COLUMNS, in their order."""
    *plain, facts, provenance = values
    return crc32(pack([plain, checksum_of(facts), checksum_of(provenance)]))


def of_derived(values: Sequence[Any], digest: bytes | None) -> int:
    """The checksum of the values of DERIVED_COLUMNS, in their order, and of the inspection's digest."""
    return crc32(pack([values, digest]))


def check_row(row: Sequence[Any]) -> None:
    """Raise DamagedBlobError if a trace's row is damaged: the values of CHECKED_COLUMNS, then the digest."""
    turns, record, derived, digest = row[_TURNS_AT], *row[-3:]
    if turns is record is derived is None:
        return
    record_sum = of_record(row[: len(RECORD_COLUMNS)])
    if record != record_sum or derived != of_derived(row[len(RECORD_COLUMNS) : -3], digest and bytes(digest)):
        raise DamagedBlobError("checksum mismatch in its row of the table `trace`")


def check_turns(stored: int, computed: int) -> None:
    """Raise DamagedBlobError if the sum of the turns' checksums (`computed`) is not the stored one."""
    if stored != computed:
        raise DamagedBlobError("checksum mismatch in its turns")


def canonical(value: float | None) -> float | None:
    """A number as every database returns it: none of them preserves NaN, -0.0 or an integer in a float column."""
    if value is None:
        return None
    number = float(value) + 0.0
    return None if isnan(number) else number
