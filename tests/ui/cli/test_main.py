"""The command itself: help, versions, mistakes, and completion."""

import inspect
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.ui.conftest import START, Run, environment
from weaklink.inspector.version import __version__
from weaklink.ui.cli.group import COMMANDS
from weaklink.ui.cli.group import weaklink as whole


def test_help_lists_every_command_and_imports_none_of_them() -> None:
    start = "import sys\nsys.argv = ['weaklink', '--help']\nfrom ui.cli.group import run\n"
    script = f"{start}run()\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert all(f"  {name} " in done.stdout for name in COMMANDS)
    loaded = set(done.stderr.split())
    assert not loaded & {entry.place.partition(":")[0] for entry in COMMANDS.values()}
    assert not loaded & {"rich", "pygments", "msgspec", "sqlalchemy", "weaklink.inspector.segmentation"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(weaklink: Run, name: str) -> None:
    done = weaklink(name, "--help")
    assert "\\b" not in done.stdout.decode()
    assert done.returncode == 0
    assert done.stdout.startswith(b"Usage: weaklink " + name.encode())


def leaf_commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaf_commands(command, f"{above}{name} ")
        else:
            yield above + name, command


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in leaf_commands(whole)])
def test_a_command_explains_itself_in_at_most_eight_lines(command: click.Command) -> None:
    """On a terminal of 80 columns; tables and examples, which are not wrapped, do not count."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    prose = "\n\n".join(paragraph for paragraph in paragraphs if not paragraph.startswith("\b"))
    lines = click.formatting.wrap_text(prose, 78, "  ", "  ", preserve_paragraphs=True).splitlines()
    assert 1 <= sum(bool(line.strip()) for line in lines) <= 8


def test_version(weaklink: Run) -> None:
    assert weaklink("--version").stdout.decode() == f"weaklink {__version__}\n"


def test_a_mistyped_command_names_the_nearest(weaklink: Run) -> None:
    done = weaklink("segmnt")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"did you mean `segment`?" in done.stderr


def test_a_wrong_option_exits_with_2(weaklink: Run) -> None:
    done = weaklink("segment", "--no-such-option")
    assert (done.returncode, done.stdout) == (2, b"")


def test_an_error_is_one_sentence_without_a_traceback(weaklink: Run) -> None:
    done = weaklink("segment", "no-such-file")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"weaklink: cannot read no-such-file: No such file or directory\n"


def test_a_hostile_name_in_an_error_is_made_visible(weaklink: Run) -> None:
    done = weaklink("segment", "no\x1b[31m\nfile")
    assert done.stderr.decode() == "weaklink: cannot read no␛[31m⏎file: No such file or directory\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(weaklink: Run, shell: str) -> None:
    done = weaklink("completion", shell)
    assert done.returncode == 0
    assert b"_WEAKLINK_COMPLETE" in done.stdout


def test_completion_offers_commands(weaklink: Run) -> None:
    done = weaklink(_WEAKLINK_COMPLETE="bash_complete", COMP_WORDS="weaklink s", COMP_CWORD="1")
    names = ("serve", "segment", "show", "search", "skill", "stats", "sql", "schema")
    assert done.stdout.decode().split() == [f"plain,{name}" for name in names]


def test_a_reader_who_leaves_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a"}\n' * 20_000)
    command = subprocess.Popen(
        [*START, "segment", "--jsonl", "in.jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.stdout.close()
    said = command.stderr.read()
    command.stderr.close()
    assert (command.wait(60), said) == (0, b"")


def test_ctrl_c_ends_it_quietly_with_130(tmp_path: Path) -> None:
    command = subprocess.Popen(
        [*START, "segment", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert command.stdin is not None
    assert command.stdout is not None
    command.stdin.write(b'{"text": "a"}\n')
    command.stdin.flush()
    command.stdout.readline()
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, said) == (130, b"")
