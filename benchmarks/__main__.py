"""Runs the benchmarks: `python -m benchmarks [--write] [NAME ...]`; prints ratios, and judges nothing.

Without names it runs those of the core, which take less than ten minutes. `all` runs every one: the others make a
database of a million traces (`queries`, `tui`, `web`), want mitmproxy beside them (`proxy`), start Ray (`cluster`), or
take minutes. `verdicts FOLDER ...` measures folders of `tests/verdicts`; with `--differences` it prints each verdict
that differs from its label, with `--rules` how often each rule was right and wrong. `--write` puts what the others
print into docs/performance.md (`cluster` and `scaling` into docs/scaling.md), with the machine's description.
"""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from typing import TextIO

from benchmarks.page import write_result

# The benchmark's module and function: each is loaded when it runs, so that the core is measured without the rest.
CORE = {
    "short": "segmenter:short_text",
    "sizes": "segmenter:real_sizes",
    "whole": "segmenter:whole_text",
    "stream": "segmenter:token_by_token",
    "hostile": "segmenter:hostile_text",
    "lost": "lost_calls:lost_calls",
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
            write_result(name, printed)
    return 0


def _printed(name: str) -> str:
    module, function = BENCHMARKS[name].split(":")
    run: Callable[[], None] = getattr(import_module(f"benchmarks.{module}"), function)
    tee = _Tee(sys.stdout)
    with redirect_stdout(tee):
        run()
    return tee.getvalue()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
