"""What the start of a command costs: its CPU time, and the modules it loads, against a Python that does nothing."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import goal, print_line

_ROUNDS = 9
_LINE = '{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]}\n'
_COMMANDS: dict[str, tuple[tuple[str, ...], float]] = {
    "--version": (("--version",), 4),
    "--help": (("--help",), 4),
    "segment, of a line": (("segment", "LINE"), 20),
    "rules": (("rules", "J104"), 15),
    "check, of a small file": (("check", "FILE"), 15),
    "list": (("list", "--db", "STORE"), 30),
    "stats --help": (("stats", "--help"), 8),
    "import --help": (("import", "--help"), 8),
}


def start() -> None:
    """A line a command: how many times the CPU of `python -c pass`, the least of several rounds that take turns."""
    with tempfile.TemporaryDirectory() as name:
        places = _places(Path(name))
        commands: dict[str, list[str]] = {"": [sys.executable, "-c", "pass"]}
        for said, (words, _) in _COMMANDS.items():
            commands[said] = [sys.executable, "-m", "weaklink", *(places.get(word, word) for word in words)]
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(_ROUNDS):
            for said, command in commands.items():
                least[said] = min(least[said], _cpu_s(command))
    bare = least.pop("")
    print_line(f"start: CPU time against `python -c pass`, {bare * 1e3:.1f} ms")
    for said, took in least.items():
        print_line(f"  {said:24} {took * 1e3:6.0f} ms, times: {goal(took / bare, _COMMANDS[said][1], at_least=False)}")


def _places(folder: Path) -> dict[str, str]:
    """A text, a log of one conversation, and a database that holds it, by the words that stand for them."""
    line, file, store = folder / "line.txt", folder / "log.jsonl", folder / "traces.db"
    line.write_text('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n', encoding="utf-8")
    file.write_text(_LINE, encoding="utf-8")
    _cpu_s([sys.executable, "-m", "weaklink", "import", "--db", str(store), str(file)])
    return {"LINE": str(line), "FILE": str(file), "STORE": str(store)}


def _cpu_s(command: Sequence[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime
