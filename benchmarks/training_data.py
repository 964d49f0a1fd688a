"""`weaklink data` on made-up rows: speed and memory of each command, and a set brought to the recommended shares."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.measuring import print_line
from benchmarks.training_rows import training_rows

_NAMED = tuple(map(int, os.environ.get("WEAKLINK_BENCH_TRAINING_ROWS", "1000,10000,100000").split(",")))
_SIZES = _NAMED if len(_NAMED) > 1 else (_NAMED[0] // 5, *_NAMED)  # a rate is between two sizes
_COMMANDS: dict[str, tuple[str, ...]] = {
    "lint": (),
    "verify": (),
    "score": ("--json",),
    "report": (),
    "fix": ("--output", "{out}"),
    "annotate": ("--output", "{out}"),
    "convert --to qwen": (),
    "inject --share 0.15": ("--output", "{out}"),
    "negatives --share 0.3": ("--output", "{out}"),
    "render": ("--format", "hermes,mistral,react", "--output", "{out}"),
}
"""What is measured, with what follows the set's path."""

_RUN = """
import sys
from time import process_time
from weaklink.command import main
from benchmarks.measuring import peak_kib
try:
    main()
finally:
    sys.stderr.write(f"\\nmeasured {process_time()} {peak_kib()}\\n")
"""
_ROWS, _SEED = 320, 1
_MAX_ROW_CHARS = 1_500
_EVERYWHERE = "wrong-type=3,wrong-value=3,missing-required=2,unknown-key=1,timeout=1"  # faults that every format holds


class _Run(Struct, frozen=True):
    cpu_s: float
    peak_mib: float
    stdout: bytes


def commands() -> None:
    """Rows a second a core, without the start of the command, and the most memory at each number of rows."""
    with tempfile.TemporaryDirectory() as name:
        paths = {size: _written(Path(name) / f"{size}.jsonl", _short_rows(size)) for size in _SIZES}
        size = paths[_SIZES[0]].stat().st_size / _SIZES[0]
        peaks = " | ".join(f"MiB, {row_count:,} rows" for row_count in _SIZES)
        print_line(f"| `weaklink data` | rows a second a core | {peaks} |\n| --- | --- |{' --- |' * len(_SIZES)}")
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # CPU time is measured; the last command takes longest
            running = {
                command: [pool.submit(_measured, command, path, options) for path in paths.values()]
                for command, options in reversed(_COMMANDS.items())
            }
        for command in _COMMANDS:
            runs = [future.result() for future in running[command]]
            rate = (_SIZES[-1] - _SIZES[0]) / (runs[-1].cpu_s - runs[0].cpu_s)
            print_line(f"| `{command}` | {rate:,.0f} | {' | '.join(f'{run.peak_mib:,.0f}' for run in runs)} |")
        print_line(
            f"\nRows of {size:,.0f} bytes, {_calls(_short_rows(_SIZES[0])):.1f} calls each; CPU time without start-up,"
        )
        print_line("as many at once as there are cores.")


def distribution() -> None:
    """A set's report before and after `inject`, `negatives` and `render`; and each injected fault looked for again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = _written(folder / "before.jsonl", training_rows(_ROWS, _SEED))
        recovery, balanced, after = (folder / f"{step}.jsonl" for step in ("recovery", "balanced", "after"))
        steps = (
            ("inject", before, "--share", "0.28", "--rates", _EVERYWHERE, "--seed", "8", "--output", recovery),
            ("negatives", recovery, "--share", "0.3", "--seed", "8", "--output", balanced),
            ("render", balanced, "--on-loss", "skip", "--output", after),
        )
        for step in steps:
            run = [word.name if isinstance(word, Path) else word for word in step]
            print_line(f"$ weaklink data {' '.join(run)}")
            _run(*map(str, step))
        print_line("$ weaklink data report after.jsonl --against before.jsonl")
        told = _run("report", str(after), "--against", str(before)).stdout.decode()
        print_line(told.partition("Samples of each share")[0].partition("\ntypes: ")[0].rstrip() + "\n")
        found_count, injected = _found_again(recovery)
        print_line(
            f"Injected faults that `weaklink data lint` finds again, by rule and place: {found_count} of {injected}."
        )


def _found_again(path: Path) -> tuple[int, int]:
    """How many injected faults the report of `lint` has where the row says that they are; and how many there are."""
    report = json.loads(_run("lint", str(path), "--output", "json", "--fail-on", "never").stdout)
    reported = {
        (diagnostic["record"], diagnostic["code"], diagnostic["turn"], diagnostic["part"])
        for diagnostic in report["diagnostics"]
    }
    found_count = injected = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fault = json.loads(line).get("injected")
        if fault is not None:
            injected += 1
            code = fault["code"] or "T406"  # a refusal is the only proof
            places = {(f"line {number}", code, turn, part) for turn, part in _places(fault)}
            found_count += bool(places & reported)
    return found_count, injected


def _places(fault: dict[str, object]) -> Iterator[tuple[object, object]]:
    yield fault["turn"], fault["part"]
    if not fault["code"]:
        assert isinstance(fault["turn"], int)
        yield fault["turn"] + 1, "text"


def _written(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def _short_rows(count: int) -> Iterator[dict[str, Any]]:
    """That many rows of a mean of 1.1 kB: the goals are set for rows of 1 kB."""
    rows = training_rows(3 * count, _SEED)  # more than half of them are short
    return islice((row for row in rows if len(json.dumps(row)) < _MAX_ROW_CHARS), count)


def _calls(rows: Iterable[dict[str, Any]]) -> float:
    counts = [int(row.get("tool_call_count", 0)) for row in rows]
    return sum(counts) / len(counts)


def _measured(command: str, path: Path, options: Sequence[str]) -> _Run:
    name, *words = command.split()
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out.jsonl")
        return _run(name, str(path), *words, *(option.format(out=out) for option in options))


def _run(*words: str) -> _Run:
    done = subprocess.run([sys.executable, "-c", _RUN, "data", *words], capture_output=True, check=False)
    told = done.stderr.decode().rstrip().rpartition("\n")[2].split()
    if done.returncode not in (0, 1) or told[0] != "measured":
        raise RuntimeError(done.stderr.decode())
    return _Run(float(told[1]), int(told[2]) / 1024, done.stdout)
