"""What looks like a fault of a call and is what it was made for: silence, an exit code 1, a log full of errors."""

from inspector.chain.shell_words import is_shell, programs
from inspector.chain.terminal_tools import bare_name
from inspector.model import ToolCall, ToolResult

# They say nothing where all went well (POSIX: "The standard output shall not be used", or only on request).
_SILENT_TABLE = (
    "cd mkdir rmdir rm mv cp ln touch chmod chown chgrp install truncate export unset set source . alias kill pkill "
    "sleep wait true test [ cmp diff sed tee sync mount umount patch popd pushd umask ulimit trap exit clear"
)
_SILENT = frozenset(_SILENT_TABLE.split())
# Their exit code 1 says that nothing was found, or that there is a difference (POSIX: grep, diff, cmp, test, expr).
_NO_MATCH_TABLE = "grep egrep fgrep zgrep rg ag ack diff cmp colordiff test [ [[ expr pgrep pidof fuser lsof"
_NO_MATCH = frozenset(_NO_MATCH_TABLE.split())
_READERS_TABLE = "cat head tail less more sed awk grep egrep rg ag bat tac nl strings zcat journalctl cd sort uniq"
_READERS = frozenset(_READERS_TABLE.split())
_READING_TOOLS = frozenset(("read", "read_file", "view", "view_file", "open_file", "get_logs", "read_logs"))
_FIRST_WORDS = 200
_GIT_SILENT = ("git add", "git checkout", "git config", "git diff", "git mv", "git rm", "git tag", "git branch")


def may_be_silent(call: ToolCall) -> bool:
    """Whether this is a shell command that says nothing where all went well, or that writes what it says to a file."""
    line = _command(call)
    if line is None:
        return False
    if _last(line) in _SILENT or line.strip().startswith(_GIT_SILENT):
        return True
    return ">" in line.replace("2>&1", "").replace("2>/dev/null", "")


def finds_nothing(call: ToolCall, exit_code: int | None) -> bool:
    """Whether an exit code says no more than that a search found nothing or a comparison a difference."""
    line = _command(call) if exit_code == 1 else None
    return line is not None and _last(line) in _NO_MATCH


def is_text_read(call: ToolCall, result: ToolResult, words: str) -> bool:
    """Whether the words of an error are those of a file or a log that this call only reads: not at its beginning."""
    line = _command(call)
    reads = bare_name(call.name or "") in _READING_TOOLS if line is None else _READERS.issuperset(programs(line))
    return reads and words not in result.content[:_FIRST_WORDS]


def _last(line: str) -> str:
    return next(reversed(programs(line)), "")


def _command(call: ToolCall) -> str | None:
    if call.name is None or not isinstance(call.arguments, dict):
        return None
    return is_shell(bare_name(call.name), call.arguments)
