r"""Reads a shell's command line into the programs that it runs.

Not a shell: quotes, escapes, operators, redirections, here-documents and the usual wrappers are enough to say which
program ran with which words, and which of them gave the line its exit code.

    cd src && FOO=1 timeout 60 bash -lc 'npm test 2>&1 | tail -5' || echo failed

reads as `cd src`, `npm test` (after `&&`), `tail -5` (after `|`) and `echo failed` (after `||`). A variable, a
substitution and a glob stay as they are written. At most `_MAX_CHARS` of a line are read, and wrappers up to
`_MAX_DEPTH` levels; both bound hostile input.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, takewhile

from msgspec import Struct, field, structs

from weaklink.inspector.scanning import lazy_pattern

_MAX_CHARS, _MAX_COMMANDS, _MAX_DEPTH = 4_000, 40, 3
_TOKEN = lazy_pattern(
    r"""
    # white space, and lines that go on
    (?P<blank>[^\S\n]+|\\\n)
    # to the end of the line
    | (?P<comment>(?<![^\s;&|(])\#[^\n]*)
    # the beginning of a here-document
    | (?P<here><<-?\s*['\"]?(?P<mark>[A-Za-z_]\w*)['\"]?)
    # `2>&1`, `>>`
    | (?P<redirect>(?:\d|&)?>>?\|?(?:&\d)?|<<<|<)
    # between commands
    | (?P<operator>&&|\|\||;;?|\|&?|&|\n|[()])
    # in quotation marks
    | (?P<quoted>\$?\"(?:[^\"\\]|\\[\s\S]){0,4000}\"|\$?'[^']*')
    # anything else
    | (?P<plain>\\[\s\S]|[^\s\\'\"|&;<>()]+|[\s\S])
    """,
    re.VERBOSE,
)
_WINDOWS_PATH = lazy_pattern(r"(?<!\w)[A-Za-z]:\\\w")  # of PowerShell or cmd, where a backslash escapes nothing
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*\+?=")
_ESCAPE = lazy_pattern(r"\\([\s\S])")
# Interpreters and compilers whose names end in their version; elsewhere digits are part of the name (`flake8`, `2to3`).
_VERSIONED = lazy_pattern(
    r"(python|pypy|pip|node|ruby|php|perl|lua|gcc|g\+\+|cpp|clang(?:\+\+)?|java|sqlite|tclsh|guile|emacs|pydoc|"
    r"gmake)[\d.]+"
)
_KEYWORDS_TABLE = "if then else elif fi while until do done esac in { } ! function time"
_KEYWORDS = frozenset(_KEYWORDS_TABLE.split())
# Programs that run the command in their words; the number of words of their own before it, options aside.
_WRAPPERS = {"sudo": 0, "env": 0, "nohup": 0, "exec": 0, "nice": 0, "stdbuf": 0, "xargs": 0, "timeout": 1, "watch": 0}
_WRAPPER_VALUES = {  # their options with a word of their own
    "sudo": ("-u", "-g", "-h", "-p", "-C"),
    "env": ("-u", "-C", "-S"),
    "nice": ("-n",),
    "xargs": ("-n", "-s", "-I", "-P", "-L", "-d", "-a"),
    "timeout": ("-s", "--signal", "-k"),
    "watch": ("-n",),
    "stdbuf": (),
}
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_USER_SHELLS = frozenset(("su", "runuser"))  # `su postgres -c 'createdb metrics'`
# Runners of another program: their words after these are that program's.
_RUNNERS = {
    "npx": ("npx",),
    "bunx": ("bunx",),
    "uvx": ("uvx",),
    "uv": ("uv", "run"),
    "poetry": ("poetry", "run"),
    "pipenv": ("pipenv", "run"),
    "hatch": ("hatch", "run"),
    "pnpm": ("pnpm", "exec"),
    "yarn": ("yarn", "exec"),
    "bundle": ("bundle", "exec"),
    "python": ("python", "-m"),
    "winpty": ("winpty",),
    "R": ("R", "CMD"),
    "xvfb-run": ("xvfb-run",),
}


class ShellCommand(Struct, frozen=True):
    """One program of a line: its name without folder and version, its words, the files that it is redirected to.

    `connector` is the operator before it (`""`, `&&`, `||`, `;`, `|`, `&`); `own_name` is the program as written.
    `is_module` is whether Python runs it as a module, so that it is no program of the shell's.
    """

    program: str
    words: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    connector: str = ""
    own_name: str = ""
    is_module: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """The words that are no options."""
        return tuple(word for word in self.words if word and not word.startswith("-"))


class _CommandDraft(Struct):
    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    connector: str = ""


def shell_commands(line: str) -> tuple[ShellCommand, ...]:
    """The programs that a line runs, in order, wrappers removed; at most 40."""
    return tuple(islice(_commands(line, _MAX_DEPTH), _MAX_COMMANDS))


def _commands(line: str, depth: int) -> Iterator[ShellCommand]:
    line = line[:_MAX_CHARS]
    loops: dict[str, list[str]] = {}
    for draft in _drafts(line.replace("\\", "/") if _WINDOWS_PATH.search(line) else line):
        words = _unwrapped(_with_values(draft.words, loops))
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            loops |= {f"${words[1]}": words[3:], f"${{{words[1]}}}": words[3:]}
        name = words[0].rsplit("/", 1)[-1] if words else ""
        if (name in _SHELLS or name in _USER_SHELLS) and depth:
            script = _script(words) if name in _SHELLS else _script_of_user(words)
            if script is not None:
                inner = list(_commands(script, depth - 1))
                if inner:
                    writes = (*inner[-1].writes, *draft.writes)
                    inner[0] = structs.replace(inner[0], connector=draft.connector)
                    inner[-1] = structs.replace(inner[-1], writes=writes)
                yield from inner
                continue
        run = _run_on_found(words) if name in _FINDERS else []
        if words:
            yield _command(words, draft)
        elif draft.writes:
            yield ShellCommand(">", (), tuple(draft.writes), draft.connector)
        if run:
            yield _command(run, structs.replace(draft, connector="|"))


def _with_values(words: list[str], values: Mapping[str, list[str]]) -> list[str]:
    """The words, with what a variable or placeholder stands for in its place: `mv "$f" x` in `for f in *.pdf`."""
    if values.keys().isdisjoint(words):
        return words
    return [value for word in words for value in values.get(word, [word])[:_MAX_COMMANDS]]


_FINDERS = frozenset(("find", "fd", "fdfind"))
_RUNS_ON_FOUND = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"))


def _run_on_found(words: list[str]) -> list[str]:
    """The command that `find` runs on what it finds, there the folders that it searches; empty if it runs none."""
    start = next((index for index, word in enumerate(words) if word in _RUNS_ON_FOUND), len(words))
    folders = list(takewhile(lambda word: not word.startswith(("-", "(", "!")), words[1:start]))
    run = takewhile(lambda word: word not in (";", "+"), words[start + 1 :])
    return _unwrapped(_with_values(list(run), {"{}": folders or ["."]}))


def elsewhere(command: ShellCommand) -> str | None:
    """The line that a command runs on another machine or in a container: `ls /srv` of `ssh nas ls /srv`; else None."""
    words = list(command.words)
    if command.program == "ssh":
        return " ".join(without_options(words, _SSH_VALUES)[1:])
    if command.program == "ansible":
        return next((line for option, line in pairwise(words) if option in ("-a", "--args")), None)
    if "exec" not in words[:2] or command.program not in _CONTAINERS:
        return None
    rest = words[words.index("exec") + 1 :]
    if "--" in rest:
        return shlex.join(rest[rest.index("--") + 1 :])
    return shlex.join(without_options(rest, _EXEC_VALUES)[1:])


def host_of(command: ShellCommand) -> str:
    """The machine that `ssh` goes to, without the user: `web1` of `ssh -p 22 ada@web1 ls`."""
    words = without_options(list(command.words), _SSH_VALUES)
    return words[0].rpartition("@")[2] if words else ""


_CONTAINERS = frozenset(("docker", "podman", "kubectl", "oc", "docker-compose", "nerdctl"))
_SSH_VALUES = ("-p", "-i", "-l", "-o", "-J", "-F", "-b", "-c", "-D", "-L", "-R", "-W")
_EXEC_VALUES = ("-u", "--user", "-w", "--workdir", "-e", "--env", "-n", "--namespace", "-c", "--container")


def _command(words: list[str], draft: _CommandDraft) -> ShellCommand:
    is_module = _program_name(words[0]) == "python" and "-m" in words[1:2]
    words = _run_words(words)
    name = _program_name(words[0])
    return ShellCommand(name, tuple(words[1:]), tuple(draft.writes), draft.connector, words[0], is_module)


def _program_name(word: str) -> str:
    """A program's name without its folder and version."""
    name = word.rsplit("/", 1)[-1].removesuffix(".exe")
    match = _VERSIONED.fullmatch(name)
    return match[1] if match is not None else name


def _run_words(words: list[str]) -> list[str]:
    """The words without a runner: `npx jest`, `uv run pytest`, `python -m pytest`, `uv pip install`."""
    for _ in range(_MAX_DEPTH):
        if words[:2] == ["uv", "pip"]:
            return words[1:]
        prefix = _RUNNERS.get(_program_name(words[0]), ())
        own = tuple(words[1 : len(prefix)])
        if not prefix or own != prefix[1:]:
            return words
        rest = words[len(prefix) :]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        if not rest:
            return words
        words = rest
    return words


def _script(words: Sequence[str]) -> str | None:
    """The script of `bash -lc SCRIPT`."""
    for index, word in enumerate(words[1:], 1):
        if not word.startswith("-"):
            return None
        if "c" in word and not word.startswith("--"):
            return words[index + 1] if index + 1 < len(words) else None
    return None


def _script_of_user(words: Sequence[str]) -> str | None:
    """The script of `su USER -c SCRIPT`."""
    return next((script for option, script in pairwise(words) if option in ("-c", "-lc", "--command")), None)


def _unwrapped(words: list[str]) -> list[str]:
    """The words without keywords, assignments and programs that only run another."""
    while words:
        first = words[0].rsplit("/", 1)[-1]
        if words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif first in _WRAPPERS and len(words) > 1:
            words = without_options(words[1:], _WRAPPER_VALUES.get(first, ()))[_WRAPPERS[first] :]
        else:
            return words
    return words


def without_options(words: list[str], with_values: Sequence[str]) -> list[str]:
    """The words after the options at the beginning, of which some take the next word as their value."""
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in with_values else 1 :]
    return words


def _drafts(line: str) -> Iterator[_CommandDraft]:
    reader = _LineReader()
    position = 0
    while position < len(line):
        match = _TOKEN.match(line, position)
        assert match is not None  # the last alternative takes any character
        position = match.end()
        draft = reader.take(match)
        if match[0] == "\n" and reader.marks:
            position = _after_documents(line, position, reader.marks)
            reader.marks = []
        if draft is not None:
            yield draft
    yield from reader.rest()


class _LineReader(Struct):
    """Collects tokens into commands; `marks` are those of the here-documents that begin after this line."""

    draft: _CommandDraft = field(default_factory=_CommandDraft)
    word: str | None = None
    redirect: str = ""
    marks: list[str] = field(default_factory=list)

    def take(self, match: re.Match[str]) -> _CommandDraft | None:
        """Add a token. Returns the command that it ends, None if it ends none."""
        kind, text = match.lastgroup, match[0]
        if kind in ("quoted", "plain"):
            self.word = (self.word or "") + _plain(text)
            return None
        self._end_word()
        if match["here"] is not None:
            self.marks.append(match["mark"])
        elif kind == "redirect":
            self.redirect = "" if text[-1].isdigit() else text
        elif kind == "operator":
            return self._end_command(";" if text in ("\n", ";;", "(", ")") else text)
        return None

    def rest(self) -> Iterator[_CommandDraft]:
        """The last command."""
        self._end_word()
        if self.draft.words or self.draft.writes:
            yield self.draft

    def _end_command(self, operator: str) -> _CommandDraft | None:
        before = self.draft
        if not (before.words or before.writes):
            return None
        self.draft = _CommandDraft(connector="|" if operator == "|&" else operator)
        return before

    def _end_word(self) -> None:
        if self.word is not None:
            _add(self.draft, self.word, self.redirect)
            self.word, self.redirect = None, ""


def _add(draft: _CommandDraft, word: str, redirect: str) -> None:
    if not redirect:
        draft.words.append(word)
    elif ">" in redirect and word not in ("/dev/null", "/dev/stderr", "/dev/stdout"):
        draft.writes.append(word)


def _plain(text: str) -> str:
    quote = text[:1] if text[:1] != "$" or len(text) < 2 else text[1]
    if len(text) > 1 and quote in "\"'" and text.endswith(quote):
        inner = text[text.index(quote) + 1 : -1]
        return inner if quote == "'" else _ESCAPE.sub(r"\1", inner)
    return text[1:] if text.startswith("\\") and len(text) == 2 else text  # an escape and its character


def _after_documents(line: str, position: int, marks: list[str]) -> int:
    """The position after the here-documents that begin here."""
    for mark in marks:
        end = line.find(f"\n{mark}", max(position - 1, 0))
        if end < 0:
            return len(line)
        position = end + len(mark) + 1
    return position
