"""docs/performance.md and docs/scaling.md: the machine, and what each benchmark printed there last, between marks."""

import os
import platform
import re
import sqlite3
from pathlib import Path

_DOCS = Path(__file__).parents[1] / "docs"
PAGE = _DOCS / "performance.md"
_TRAINING = _DOCS / "training-data.md"
_PAGES = {
    "cluster": _DOCS / "scaling.md",
    "scaling": _DOCS / "scaling.md",
    "bfcl": _TRAINING,
    "planted": _TRAINING,
    "training": _TRAINING,
    "distribution": _TRAINING,
}
_LOG_LINE = re.compile(r"^(?:\x1b.*\(raylet\)|\(raylet\)).*\n", re.MULTILINE)  # what Ray writes between ours
_GOALS = re.compile(r", (reached|MISSED)\)")


def write_result(name: str, printed: str) -> None:
    """Replace the results of a benchmark that ran, and the description of the machine; keep the rest of the page."""
    place = _PAGES.get(name, PAGE)
    page = _replaced(place.read_text(encoding="utf-8"), "machine", _machine())
    printed = _LOG_LINE.sub("", printed)
    shown = printed if printed.startswith("|") else f"```text\n{printed.rstrip()}\n```\n"
    section = f"### `{name}`\n{_judged(printed)}\n{shown}"
    place.write_text(_replaced(page, name, section), encoding="utf-8")


def _replaced(page: str, name: str, text: str) -> str:
    """The page with `text` between the marks of `name`, which are appended where the page has none."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, found, rest = page.partition(begin)
    if not found:
        return f"{page}\n{begin}{text}{end}"
    return before + begin + text + end + rest.partition(end)[2]


def _judged(printed: str) -> str:
    judged = _GOALS.findall(printed)
    return f"{judged.count('reached')} of {len(judged)} goals reached.\n" if judged else "No goal is set.\n"


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB of memory; {platform.system()}, "
        f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}.\n"
    )


def _processor() -> str:
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    model = re.search(r"^model name\s*:\s*(.+)$", described, re.MULTILINE)
    return model[1].strip() if model else platform.machine()
