"""Runs the benchmarks: `python -m benchmarks [NAME ...]`; prints ratios, and judges nothing."""

import sys
from collections.abc import Callable

from benchmarks import segmenter

BENCHMARKS: dict[str, Callable[[], None]] = {
    "whole": segmenter.whole_text,
    "stream": segmenter.token_by_token,
    "hostile": segmenter.hostile_text,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, all where none is named; 2 for a name that there is not."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}\n")
        return 2
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
