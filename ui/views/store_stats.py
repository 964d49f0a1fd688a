"""What a store holds, as lines and as JSON."""

from collections.abc import Iterator

from inspector.chain.steps import Status
from storage import StoreStats
from ui.views.segment_json import JsonObject
from ui.views.status import status_run
from ui.views.styled_text import Line, Run, Style, visible_line

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_NAMED = 12


def stats_lines(stats: StoreStats, place: str) -> Iterator[Line]:
    """The lines of `weaklink db stats`; what wants to be done about it is beside the number."""
    yield from _fact("database", f"{visible_line(place)}, {size_text(stats.size_bytes)}")
    yield from _fact("traces", f"{stats.traces:,}")
    for status in Status:
        if stats.by_status.get(status.value):
            yield (Run(" " * _NAMED), status_run(status), Run(f" {stats.by_status[status.value]:,}"))
    for name in ("turns", "characters", "chunks", "tool_calls", "errors", "tools"):
        yield from _fact(name.replace("_", " "), f"{getattr(stats, name):,}")
    if stats.not_indexed:
        yield from _fact("not indexed", f"{stats.not_indexed:,}; the next search reads them")
    if stats.outdated:
        yield from _fact("outdated", f"{stats.outdated:,}; `weaklink reinspect` inspects them again")


def stats_object(stats: StoreStats, place: str) -> JsonObject:
    """The answer of `weaklink db stats --json`; every key, and every status, is always there."""
    return {
        "database": place,
        "size_bytes": stats.size_bytes,
        "traces": stats.traces,
        "by_status": {status.value: stats.by_status.get(status.value, 0) for status in Status},
        "turns": stats.turns,
        "characters": stats.characters,
        "chunks": stats.chunks,
        "tool_calls": stats.tool_calls,
        "errors": stats.errors,
        "tools": stats.tools,
        "not_indexed": stats.not_indexed,
        "outdated": stats.outdated,
    }


def size_text(size_bytes: int) -> str:
    """A size as people read it: `412 bytes`, `1.5 MiB`."""
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size_bytes:,} bytes"


def _fact(name: str, said: str) -> Iterator[Line]:
    yield (Run(f"{name:{_NAMED}}", Style.DIM), Run(said))
