"""Numbers, durations and times in few cells, for columns."""

from datetime import datetime, tzinfo

_NEAR_S = 300 * 86_400  # a day needs no year
_UNITS = ("", "k", "M", "G", "T")


def short_count(number: int) -> str:
    """A count in at most five cells: `812`, `9.1k`, `22k`, `1.2M`."""
    if abs(number) < 1_000:
        return str(number)
    size, unit = float(number), 0
    while abs(size) >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1_000, unit + 1
    return f"{size:.1f}{_UNITS[unit]}" if abs(size) < 99.95 else f"{size:.0f}{_UNITS[unit]}"


def short_duration(seconds: float) -> str:
    """A duration in at most five cells: `310ms`, `5.8s`, `58s`, `1m50`, `2h05`, `3d04`."""
    if seconds < 0.9995:
        return f"{seconds * 1_000:.0f}ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    for unit, size, part in (("m", 60, 60), ("h", 3_600, 24), ("d", 86_400, 1_000)):
        if whole < size * part:
            return f"{whole // size}{unit}{whole % size * (60 if unit != 'd' else 24) // size:02}"
    return ">999d"


def short_time(at_s: float, now_s: float, room: int = 12, zone: tzinfo | None = None) -> str:
    """When something was, in `room` cells, 8 or 12: today's time of day, else the day, else the month or date.

    Both in seconds since 1970-01-01 UTC; `zone` is where the reader is, None for where this machine is.
    """
    try:
        at, now = (datetime.fromtimestamp(one, zone) for one in (at_s, now_s))
    except (OverflowError, ValueError, OSError):
        return "?"
    if at.date() == now.date():
        return at.strftime("%H:%M:%S")
    is_near = abs(now_s - at_s) < _NEAR_S
    if room < 12:
        return at.strftime("%b %d" if is_near else "%Y-%m")
    return at.strftime("%b %d %H:%M" if is_near else "%Y-%m-%d")
