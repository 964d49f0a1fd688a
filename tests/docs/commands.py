"""The commands on the pages of the documentation: what they are, and a shell that runs them as a reader would.

A fenced block of `console` or `sh` holds commands. A block whose first line is a comment `# needs ...` says what its
reader has (a server, a key, logs): `reader.py` plays this reader and runs it. Every other block is a session: lines
that begin with `$ ` are run one after the other, in one folder a page, on a terminal of 84 columns, and what follows
them is what they print. A fenced block with `title="NAME"` is a file of that folder from there on.

Outside of the folder, a session has the repository's `examples` and nothing else.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import Struct

from tests.docs.site import ROOT
from tests.ui.conftest import environment, started
from weaklink.ui.cli.group import weaklink

COLUMNS = 84  # what a code block of the site shows without scrolling, at 1366 pixels
_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_SHELLS = {"console", "sh", "bash", "shell"}
_NEEDS = re.compile(r"# needs \w")
_PROMPT = "$ "
_ON_TERMINAL = re.compile(r"\x1b\[(?P<number>[\d;?]*)(?P<action>[A-Za-z])|(?P<control>[\r\n])|(?P<text>[^\x1b\r\n]+)")
_SAMPLE = re.compile(r"\s+/\S*/sample_traces/(\S+)\s+line\s+(\d+)")
"""A sample trace lies where weaklink is installed, and a line with a long path is folded at any blank."""

_CONTROL = {"|", "||", "&&", "&", ";", "(", ")"}
_REDIRECTIONS = {">", ">>", "<", ">&", "2>&1"}
_TIMEOUT_S = 300


class Block(Struct, frozen=True):
    """A fenced block of a page: its language, the name of the file that it is or "", its text, and where that is."""

    language: str
    title: str
    body: str
    start: int

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELLS

    @property
    def is_session(self) -> bool:
        return self.is_shell and not self.title and not _NEEDS.match(self.body)


class Session:
    """A shell in a folder; `weaklink` is ours."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._status = 0
        programs = folder.parent / "bin"
        programs.mkdir(exist_ok=True)
        shim = programs / "weaklink"
        line = "from weaklink.command import main; main()"
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{line}" "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        (programs / "python").symlink_to(sys.executable)
        (folder / "examples").symlink_to(ROOT / "examples")
        path = f"{programs}:{os.environ['PATH']}"
        self._variables = environment(folder, COLUMNS=str(COLUMNS), TERM="xterm", NO_COLOR="1", PATH=path, TZ="UTC")

    def run(self, command: str) -> str:
        """What a command prints, without spaces at the ends of lines and empty lines at its end."""
        if command == "echo $?":
            return str(self._status)
        words = shlex.split(command, comments=True)
        is_plain = words[0] == "weaklink" and re.fullmatch(r"[^|&;<>$`]*", command)
        done = self._ours(words[1:]) if is_plain else self._shell(command)
        self._status = done.returncode
        text = "\n".join(line.rstrip() for line in _on_screen(done.stdout.decode())).strip("\n")
        return without_folder(text)

    def _ours(self, words: list[str]) -> "subprocess.CompletedProcess[bytes]":
        return started().run_on_terminal(
            words, columns=COLUMNS, folder=self._folder, variables=self._variables, timeout_s=_TIMEOUT_S
        )

    def _shell(self, command: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
            env=self._variables,
            check=False,
            timeout=_TIMEOUT_S,
        )


def _on_screen(written: str) -> list[str]:
    """The lines that stay on a terminal: a progress bar is written over and erased."""
    lines, row, column = [""], 0, 0
    for match in _ON_TERMINAL.finditer(written):
        text = match["text"]
        if text is not None:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif match["control"] == "\n":
            row, column = row + 1, 0
            lines += [""] if row == len(lines) else []
        elif match["control"] == "\r":
            column = 0
        elif match["action"] == "A":
            row = max(0, row - int(match["number"] or 1))
        elif match["action"] == "K":
            lines[row] = "" if match["number"] == "2" else lines[row][:column]
    return lines


def without_folder(text: str) -> str:
    """The text with `…` for the folder of the sample traces, on one line, however long its name is."""
    return _SAMPLE.sub(r" …/sample_traces/\1 line \2", text)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _FENCE.finditer(text):
        yield Block(match["language"], match["title"] or "", match["body"], match.start("body"))


def played(text: str, folder: Path) -> str:
    """The page as it is once its sessions have been run in a new folder: with what they print now."""
    session = Session(folder)
    pieces, end = [], 0
    for block in blocks(text):
        if block.title:
            (folder / block.title).write_text(block.body, encoding="utf-8")
        elif block.is_session:
            pieces += [text[end : block.start], _played_block(block, session)]
            end = block.start + len(block.body)
    return "".join((*pieces, text[end:]))


def _played_block(block: Block, session: Session) -> str:
    lines = []
    for line in block.body.splitlines():
        if line.startswith(_PROMPT):
            lines.append(line)
            lines += session.run(line.removeprefix(_PROMPT)).splitlines()
    return "\n".join(lines) + "\n"


def weaklink_commands(block: Block) -> Iterator[list[str]]:
    """The words behind each `weaklink` of a shell block that stands where a command does."""
    has_prompts = f"\n{_PROMPT}" in f"\n{block.body}"
    for line in block.body.splitlines():
        command = line.removeprefix(_PROMPT)
        if has_prompts and command == line:
            continue  # output
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        yield from _commands_of(list(lexer))


def sentence_commands(text: str) -> Iterator[str]:
    """What follows `weaklink` in the inline code of a page's sentences and tables."""
    for match in re.finditer(r"(?<!`)`weaklink ([^`]+)`(?!`)", without_blocks(text)):
        yield match[1].replace(r"\|", "|")


def without_blocks(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text)


def _commands_of(words: list[str]) -> Iterator[list[str]]:
    """The words of one line: after a control word or at its beginning a command begins."""
    command: list[str] | None = []
    for word in [*words, ";"]:
        if word in _CONTROL:
            if command and Path(command[0]).name == "weaklink":
                yield command[1:]
            command = []
        elif word in _REDIRECTIONS:
            command = [*(command or []), ">"]
        elif command == [] and re.match(r"\w+=", word):
            continue  # a variable for this command
        else:
            command = [*(command or []), word]


def parse(words: list[str]) -> None:
    """Read the words of a command as Click does, without running it; click.UsageError says what is wrong."""
    if ">" in words:
        words = words[: words.index(">")]
    command: click.Command = weaklink
    context = click.Context(command, info_name="weaklink")
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    while isinstance(command, click.Group) and rest:
        name, inner, rest = command.resolve_command(context, rest)
        assert inner is not None
        context = click.Context(inner, parent=context, info_name=name)
        command = inner
        values, rest, _ = command.make_parser(context).parse_args(list(rest))
    if rest and not context.allow_extra_args:
        raise click.UsageError(f"unexpected words: {rest}", context)
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if isinstance(value, str) and not value.isupper() and isinstance(parameter.type, click.Choice):
            parameter.type_cast_value(context, value)  # what is in capitals stands for a value
