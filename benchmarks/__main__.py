"""Runs the benchmarks: `python -m benchmarks [--write] [NAME ...]`; prints ratios, and judges nothing.

Without names it runs those of the core, which take less than ten minutes. `all` runs every one: the others make a
database of a million traces (`queries`, `tui`, `web`), want mitmproxy beside them (`proxy`), start Ray (`cluster`), or
take minutes. `verdicts FOLDER ...` measures folders of `tests/verdicts`; with `--differences` it prints each verdict
that differs from its label, with `--rules` how often each rule was right and wrong. `--write` puts what the others
print into docs/performance.md (`cluster` and `scaling` into docs/scaling.md), with the machine's description.
"""

import io
import os
import platform
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TextIO

# The benchmark's module and function: each is loaded when it runs, so that the core is measured without the rest.
CORE = {
    "short": "segmenter:short_text",
    "sizes": "segmenter:real_sizes",
    "whole": "segmenter:whole_text",
    "stream": "segmenter:token_by_token",
    "hostile": "segmenter:hostile_text",
    "lost": "segmenter:lost_calls",
    "schema": "schema:schema",
    "diagnostics": "diagnostics:full_diagnostics",
    "chain": "chain:chain",
    "layers": "layers:layers",
    "start": "start:start",
    "reading": "reading:reading",
    "import-stages": "importing:import_stages",
}
BENCHMARKS = {
    **CORE,
    "formats": "formats:every_format",
    "long-chains": "chain:long_chains",
    "import-ways": "importing:import_ways",
    "imports": "imports:imports",
    "store": "store:store",
    "queries": "store:queries",
    "tui": "tui:tui",
    "first-page": "web:first_page",
    "web": "web:web",
    "proxy": "proxy:proxy",
    "giants": "large_bodies:large_bodies",
    "redaction": "redaction:redaction_share",
    "recorded": "recorded_streams:recorded_streams",
    "derived": "derived:derived",
    "attempts": "attempts:attempts",
    "cluster": "cluster:cluster",
    "scaling": "scaling:scaling",
    "team": "team:team",
    "verdicts": "verdicts:verdicts",
    "bfcl": "bfcl_agreement:bfcl_agreement",
    "planted": "planted_faults:planted_faults",
    "training": "training_data:commands",
    "distribution": "training_data:distribution",
}

# The pages of results; those of all others are on docs/performance.md.
_DOCS = Path(__file__).parents[1] / "docs"
_PAGE = _DOCS / "performance.md"
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


class _Tee(io.StringIO):
    """What is printed, kept and passed on."""

    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        self._screen.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._screen.flush()


def main(words: list[str]) -> int:
    """Run the named benchmarks, those of the core where none is named; 2 for a name that there is not."""
    if words[:1] == ["verdicts"] and len(words) > 1 and "--write" not in words:
        return int(import_module("benchmarks.verdicts").print_folders(words[1:]))
    names = [word for word in words if word != "--write"]
    unknown = [name for name in names if name not in BENCHMARKS and name != "all"]
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}, all\n")
        return 2
    for name in BENCHMARKS if "all" in names else names or CORE:
        printed = _printed(name)
        if "--write" in words:  # at once: a run of hours may be interrupted
            _write_result(name, printed)
    return 0


def _printed(name: str) -> str:
    module, function = BENCHMARKS[name].split(":")
    run: Callable[[], None] = getattr(import_module(f"benchmarks.{module}"), function)
    tee = _Tee(sys.stdout)
    with redirect_stdout(tee):
        run()
    return tee.getvalue()


def _write_result(name: str, printed: str) -> None:
    """Replace the results of a benchmark that ran, and the description of the machine; keep the rest of the page."""
    path = _PAGES.get(name, _PAGE)
    page = _replaced(path.read_text(encoding="utf-8"), "machine", _machine())
    printed = _LOG_LINE.sub("", printed)
    shown = printed if printed.startswith("|") else f"```text\n{printed.rstrip()}\n```\n"
    section = f"### `{name}`\n{_judged(printed)}\n{shown}"
    path.write_text(_replaced(page, name, section), encoding="utf-8")


def _replaced(page: str, name: str, text: str) -> str:
    """The page with `text` between the marks of `name`, which are appended where the page has none."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, marker, rest = page.partition(begin)
    if not marker:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
