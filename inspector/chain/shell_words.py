"""Which tools run programs or code, and what a command line is about: its program and its targets."""

import re
from itertools import islice
from typing import Any

_SHELLS_TABLE = (
    "bash shell sh zsh terminal execute execute_bash execute_command execute_shell run_command run_shell "
    "run_shell_command run_in_terminal run_terminal_cmd run_bash exec exec_command shell_command local_shell "
    "command cmd powershell console container_exec bash_command"
)
_SHELLS = frozenset(_SHELLS_TABLE.split())
_INTERPRETERS_TABLE = (
    "python python3 ipython execute_python run_python python_interpreter python_repl code_interpreter "
    "execute_code run_code execute_ipython_cell jupyter notebook repl javascript node run_javascript"
)
_INTERPRETERS = frozenset(_INTERPRETERS_TABLE.split())
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "keystrokes", "input")
_OBJECT_KEYS = frozenset(("path", "file_path", "file", "filename", "url"))
_PREFIXES = frozenset(("sudo", "time", "nohup", "env", "exec", "command", "then", "do", "!"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PATH_LIKE = re.compile(r"[\w.~@+\-]*/[\w.~@+\-/*]*|[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w{0,7}")
_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")
_VERSION = re.compile(r"[\d.]+$")
_QUOTES = "\"'`()"
_CODE_WORD = re.compile(r"[^\W\d]\w{2,80}")
_LONGEST, _MOST = 2_000, 24


def is_interpreter(tool: str) -> bool:
    """Whether a tool runs code that is given to it."""
    return tool in _INTERPRETERS


def is_shell(tool: str, arguments: dict[str, Any]) -> str | None:
    """The command line that a call gives to a shell; None where it is no such call."""
    key = next((key for key in _COMMAND_KEYS if key in arguments), None)
    if tool in _SHELLS:
        return _line(arguments[key] if key else next(iter(arguments.values()), ""))
    if key in ("command", "cmd", "commands") and _OBJECT_KEYS.isdisjoint(arguments):
        return _line(arguments[key])
    return None


def read_command(line: str) -> tuple[str, tuple[str, ...], bool]:
    """The program of a command line, the words it is about, and whether those are paths.

    Looks past `cd … &&`, assignments and `sudo`; where no word looks like a path, the words that are no options tell.
    """
    for piece in _SEPARATOR.split(line[:_LONGEST]):
        words = _without_prefixes(piece.split())
        if words and words[0] not in ("cd", "set", "export", "source", "."):
            break
    else:
        return line[:80].strip(), (), False
    program = _VERSION.sub("", words[0].rsplit("/", 1)[-1]) or words[0]
    rest = [word.strip(_QUOTES) for word in words[1:] if not word.startswith(("-", ">", "<", "2>"))]
    paths = [word.rstrip("/").rsplit("/", 1)[-1] or "/" for word in rest if _PATH_LIKE.fullmatch(word)]
    chosen = paths or [word for word in rest if len(word) > 1]
    return program, tuple(islice(dict.fromkeys(chosen), _MOST)), bool(paths)


def programs(line: str) -> list[str]:
    """The programs that a command line runs, in order; the exit code is the last one's."""
    pieces = (_without_prefixes(piece.split()) for piece in _SEPARATOR.split(line[-_LONGEST:]))
    return [words[0].rsplit("/", 1)[-1] for words in pieces if words]


def code_words(code: str) -> frozenset[str]:
    """The names that stand in a piece of code, at most so many."""
    return frozenset(islice((word.casefold() for word in _CODE_WORD.findall(code[:_LONGEST])), 2 * _MOST))


def _without_prefixes(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and (words[start] in _PREFIXES or _ASSIGNMENT.match(words[start])):
        start += 1
    if start + 1 < len(words) and words[start] == "timeout":
        start += 2
    return words[start:]


def _line(command: Any) -> str:
    """A command as one line: some tools take it in pieces, with the shell itself in front."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in islice(command, 200) if isinstance(word, str)]
    if len(words) > 2 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and words[1].startswith("-"):
        words = words[2:]
    return " ".join(words)
