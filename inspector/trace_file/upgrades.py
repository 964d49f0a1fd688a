"""Old trace files, lifted one version at a time: each step changes one line's record to the next version's."""

from collections.abc import Callable
from typing import Any, TypeAlias

from inspector.trace_file.lines import VERSION

Record: TypeAlias = dict[str, Any]


def upgraded(record: Record, version: int) -> Record:
    """A line's record of an older version as the current version would have written it.

    A record that is not as its version wants may raise TypeError, AttributeError or ValueError.
    """
    for step in range(version, VERSION):
        record = STEPS[step](record)
    return record


def _from_1(record: Record) -> Record:
    """Version 1 called a turn's role `from`, and gave the times of chunks as `ms`, in milliseconds."""
    turn = record.get("turn")
    if turn is None:
        return record
    parts = [_part_from_1(part) for part in turn.get("parts", ())]
    kept = {key: value for key, value in turn.items() if key != "from"}
    return {"turn": {**kept, "role": turn.get("from"), "parts": parts}}


def _part_from_1(part: Record) -> Record:
    chunks = part.get("chunks")
    if chunks is None or "ms" not in chunks:
        return part
    kept = {key: value for key, value in chunks.items() if key != "ms"}
    return {**part, "chunks": {**kept, "offsets_s": [None if ms is None else ms / 1000 for ms in chunks["ms"]]}}


STEPS: dict[int, Callable[[Record], Record]] = {1: _from_1}
"""The step from each older version to the next."""
