"""What kind of tool a call uses, by its name and command line: terminal, reading, writing, searching, a shell."""

import re
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

from inspector.model import ToolCall, ToolResult
from inspector.scanning import lazy_pattern

_READS_TABLE = (
    "get list search find read fetch lookup look track check show open view query describe browse retrieve load "
    "download scan stat inspect count calculate convert compute translate grep glob cat web"
)

_READS = frozenset(_READS_TABLE.split())

_WRITES_TABLE = (
    "create add book make send post put update set write edit delete remove cancel refund pay transfer submit "
    "order buy sell modify change exchange return move rename upload save insert replace apply patch reset "
    "schedule"
)

_WRITES = frozenset(_WRITES_TABLE.split())
_SEARCHES_TABLE = "search find list query lookup grep glob browse scan filter match select discover"
_SEARCHES = frozenset(_SEARCHES_TABLE.split())

# Commands that print nothing on success (POSIX: "The standard output shall not be used", or only on request).
_SILENT_TABLE = (
    "cd mkdir rmdir rm mv cp ln touch chmod chown chgrp install truncate export unset set source . alias kill pkill "
    "sleep wait true test [ cmp diff sed tee sync mount umount patch popd pushd umask ulimit trap exit clear"
)

_SILENT = frozenset(_SILENT_TABLE.split())

# Commands whose exit code 1 means "nothing found" or "there is a difference" (POSIX: grep, diff, cmp, test, expr).
_NO_MATCH_TABLE = "grep egrep fgrep zgrep rg ag ack diff cmp colordiff test [ [[ expr pgrep pidof fuser lsof"
_NO_MATCH = frozenset(_NO_MATCH_TABLE.split())
_READERS_TABLE = "cat head tail less more sed awk grep egrep rg ag bat tac nl strings zcat journalctl cd sort uniq"
_READERS = frozenset(_READERS_TABLE.split())
_READING_TOOLS = frozenset(("read", "read_file", "view", "view_file", "open_file", "get_logs", "read_logs"))
_FIRST_WORDS = 200
_GIT_SILENT = ("git add", "git checkout", "git config", "git diff", "git mv", "git rm", "git tag", "git branch")

# OpenHands `finish`, SWE-agent `submit`, smolagents `final_answer`, Pydantic AI `final_result`, Cline and Roo Code
# `attempt_completion`, tau-bench and the OpenAI Agents SDK `transfer_to_...`.
_NAMES_TABLE = (
    "finish finished submit submit_answer submit_final_answer final_result final_answer finish_task task_complete "
    "task_done complete complete_task mark_task_complete attempt_completion done stop terminate exit end end_task "
    "end_conversation end_call hang_up handoff hand_off escalate_to_human"
)

_NAMES = frozenset(_NAMES_TABLE.split())
_HAND_OVERS = ("transfer_to_", "handoff_to_", "hand_off_to_", "hand_over_to_", "final_result_")
_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMESPACE = lazy_pattern(r"(?:.*(?:[.:/]|__))?", re.DOTALL)

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
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=")
_PATH_LIKE = lazy_pattern(r"[\w.~@+\-]*/[\w.~@+\-/*]*|[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w{0,7}")
_SEPARATOR = lazy_pattern(r"&&|\|\||[;|\n]")
_VERSION = lazy_pattern(r"[\d.]+$")
_QUOTES = "\"'`()"
_CODE_WORD = lazy_pattern(r"[^\W\d]\w{2,80}")
_LONGEST, _MOST = 2_000, 24


class ToolKind(Enum):
    """What a call of a tool does to the world."""

    READS = "reads"
    WRITES = "writes"
    UNKNOWN = "unknown"


def kind_of(tool: str) -> ToolKind:
    """The kind of a tool, by the first word of its name that is in a table."""
    for word in bare_name(tool).split("_"):
        if word in _READS:
            return ToolKind.READS
        if word in _WRITES:
            return ToolKind.WRITES
    return ToolKind.UNKNOWN


def is_search(tool: str) -> bool:
    """Whether a tool searches, and so may find nothing, by the words of its name."""
    return not _SEARCHES.isdisjoint(bare_name(tool).split("_"))


def subjects_of(tool: str) -> tuple[str, ...]:
    """The words of a tool's name without a leading verb and plural endings: `order` for `get_orders`."""
    first, *others = bare_name(tool).split("_")
    words = others if first in _READS | _WRITES else [first, *others]
    return tuple(word.removesuffix("s") for word in words if len(word) > 2)


def may_be_silent(call: ToolCall) -> bool:
    """Whether this is a shell command that prints nothing on success, or that writes its output to a file."""
    line = _command(call)
    if line is None:
        return False
    if _last(line) in _SILENT or line.strip().startswith(_GIT_SILENT):
        return True
    return ">" in line.replace("2>&1", "").replace("2>/dev/null", "")


def finds_nothing(call: ToolCall, exit_code: int | None) -> bool:
    """Whether an exit code only means that a search found nothing, or that a comparison found a difference."""
    line = _command(call) if exit_code == 1 else None
    return line is not None and _last(line) in _NO_MATCH


def is_text_read(call: ToolCall, result: ToolResult, words: str) -> bool:
    """Whether an error's words come from a file or log that this call only reads: they are not at its beginning."""
    line = _command(call)
    reads = bare_name(call.name or "") in _READING_TOOLS if line is None else _READERS.issuperset(programs(line))
    return reads and words not in result.content[:_FIRST_WORDS]


def _last(line: str) -> str:
    return next(reversed(programs(line)), "")


def _command(call: ToolCall) -> str | None:
    if call.name is None or not isinstance(call.arguments, dict):
        return None
    return is_shell(bare_name(call.name), call.arguments)


def is_terminal(tool: str | None) -> bool:
    """Whether a call of this tool ends the work or hands it over."""
    if tool is None or len(tool) > 200:
        return False
    name = bare_name(tool)
    return name in _NAMES or name.startswith(_HAND_OVERS)


def bare_name(tool: str) -> str:
    """A tool's name in lower case, with underscores and no namespace: `functions.Final-Answer` is `final_answer`."""
    return _bare_name(tool[:200])


@lru_cache(1_024)  # a trace calls few tools, many times
def _bare_name(tool: str) -> str:
    snake = _HUMP.sub("_", tool)
    flat = snake.lower().replace("-", "_")
    return flat[_NAMESPACE.match(flat).end() :]  # type: ignore[union-attr]  # it matches any text


def is_interpreter(tool: str) -> bool:
    """Whether a tool runs code from its arguments."""
    return tool in _INTERPRETERS


def is_shell(tool: str, arguments: dict[str, Any]) -> str | None:
    """The command line that a call passes to a shell; None if the call runs no shell."""
    key = next((key for key in _COMMAND_KEYS if key in arguments), None)
    if tool in _SHELLS:
        return _line(arguments[key] if key else next(iter(arguments.values()), ""))
    if key in ("command", "cmd", "commands") and _OBJECT_KEYS.isdisjoint(arguments):
        return _line(arguments[key])
    return None


def read_command(line: str) -> tuple[str, tuple[str, ...], bool]:
    """The program of a command line, its targets, and whether those are paths.

    Skips `cd … &&`, assignments and `sudo`; if no word looks like a path, the targets are the words that are no
    options.
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
    """The names in a piece of code, at most 48."""
    return frozenset(islice((word.casefold() for word in _CODE_WORD.findall(code[:_LONGEST])), 2 * _MOST))


def _without_prefixes(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and (words[start] in _PREFIXES or _ASSIGNMENT.match(words[start])):
        start += 1
    if start + 1 < len(words) and words[start] == "timeout":
        start += 2
    return words[start:]


def _line(command: Any) -> str:
    """A command as one line: some tools take it as a list, with the shell itself as the first word."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in islice(command, 200) if isinstance(word, str)]
    if len(words) > 2 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and words[1].startswith("-"):
        words = words[2:]
    return " ".join(words)
