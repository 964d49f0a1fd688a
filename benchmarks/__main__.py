"""Runs the benchmarks: `python -m benchmarks [NAME ...]`; prints ratios, and judges nothing.

Without names it runs all but `imports`, `import-stages`, `store`, `tui` and `web`, which make a database of a million
traces, `proxy`, which wants mitmproxy beside it, `redaction`, which it measures too, `attempts`, which counts what
is reported of attempted calls, and `recorded`, which takes minutes; these run when they are named.
"""

import sys
from collections.abc import Callable

from benchmarks import diagnostics, schema, segmenter
from benchmarks.chain import chain
from benchmarks.formats import every_format
from benchmarks.lost_calls import lost_calls


def _store() -> None:
    from benchmarks.store import store  # noqa: PLC0415  # the core is measured without loading SQLAlchemy

    store()


def _reading() -> None:
    from benchmarks.reading import reading  # noqa: PLC0415  # the core is measured without loading SQLAlchemy

    reading()


def _imports() -> None:
    from benchmarks.imports import imports  # noqa: PLC0415  # the core is measured without loading every importer

    imports()


def _import_stages() -> None:
    from benchmarks.importing import import_stages  # noqa: PLC0415  # the core is measured without loading SQLAlchemy

    import_stages()


def _proxy() -> None:
    from benchmarks.proxy import proxy  # noqa: PLC0415  # the core is measured without loading aiohttp

    proxy()


def _tui() -> None:
    from benchmarks.tui import tui  # noqa: PLC0415  # the core is measured without loading Textual

    tui()


def _web() -> None:
    from benchmarks.web import web  # noqa: PLC0415  # the core is measured without loading Streamlit

    web()


def _recorded() -> None:
    # Only here: the core is measured without loading SQLAlchemy.
    from benchmarks.recorded_streams import recorded_streams  # noqa: PLC0415

    recorded_streams()


def _attempts() -> None:
    from benchmarks.attempts import attempts  # noqa: PLC0415  # it takes half a minute, and the texts of the tests

    attempts()


def _redaction() -> None:
    from benchmarks.redaction import redaction_share  # noqa: PLC0415  # the core is measured without loading SQLAlchemy

    redaction_share()


CORE: dict[str, Callable[[], None]] = {
    "short": segmenter.short_text,
    "whole": segmenter.whole_text,
    "stream": segmenter.token_by_token,
    "hostile": segmenter.hostile_text,
    "lost": lost_calls,
    "formats": every_format,
    "schema": schema.schema,
    "diagnostics": diagnostics.full_diagnostics,
    "chain": chain,
    "reading": _reading,
}
BENCHMARKS = {
    **CORE,
    "imports": _imports,
    "import-stages": _import_stages,
    "store": _store,
    "tui": _tui,
    "web": _web,
    "proxy": _proxy,
    "redaction": _redaction,
    "recorded": _recorded,
    "attempts": _attempts,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, those of the core where none is named; 2 for a name that there is not."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}\n")
        return 2
    for name in names or CORE:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
