"""The command itself: help, versions, mistakes, and completion."""

import inspect
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.ui.conftest import START, Run, environment
from weaklink.inspector.version import __version__
from weaklink.ui.cli.group import COMMANDS, EVERYDAY
from weaklink.ui.cli.group import weaklink as whole
from weaklink.ui.cli.reference import EXIT_CODES

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"


def test_help_lists_the_commands_of_most_days_and_imports_none(weaklink: Run) -> None:
    start = "import sys\nsys.argv = ['weaklink', '--help']\nfrom weaklink.ui.cli.group import run\n"
    script = f"{start}run()\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [name for name in COMMANDS if f"  {name} " in done.stdout] == [name for name in COMMANDS if name in EVERYDAY]
    assert len(EVERYDAY) == 15
    loaded = set(done.stderr.split())
    modules = {entry.target.partition(":")[0] for entry in COMMANDS.values()} - {"group"}  # which has the table itself
    assert not loaded & {f"weaklink.ui.cli.{module}" for module in modules}
    assert not loaded & {"rich", "pygments", "msgspec", "sqlalchemy", "weaklink.inspector.segmentation"}


@pytest.mark.parametrize(
    "words", ["import @", "check a @", "segment @", "segment --tools @ -", "list --db @", "show @", "data lint @"]
)
def test_an_empty_argument_or_path_is_refused_and_not_the_current_folder(weaklink: Run, words: str) -> None:
    done = weaklink(*("" if word == "@" else word for word in words.split()))
    assert done.returncode == 2
    assert b"is empty; is a variable of the shell unset?" in done.stderr


def test_an_empty_filter_lists_all_and_an_empty_word_of_a_command_is_its_own(weaklink: Run) -> None:
    assert b"there is no database yet" in weaklink("list", "").stderr
    done = weaklink("run", "--", sys.executable, "-c", "import sys; print(len(sys.argv))", "")
    assert done.stdout.strip() == b"2"


@pytest.mark.one_in(6)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells close a stream with `>&-`")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "words", ["list", "show 1", "check log.jsonl", "import log.jsonl", "--version", "segment log.jsonl"]
)
def test_a_closed_standard_stream_is_the_null_device(weaklink: Run, words: str, closed: str, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]}
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
    assert weaklink("import", "log.jsonl", "--db", "a.db").returncode == 0
    command = f"{shlex.join(START)} {words} {closed}"
    env = environment(tmp_path) | {"WEAKLINK_DB": str(tmp_path / "a.db")}
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, env=env, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    assert bool(done.stdout) is (">&-" not in closed.split())


def test_help_lists_every_command_on_request_and_shows_one(weaklink: Run) -> None:
    every = weaklink("help", "--all").stdout.decode()
    assert all(f"  {name} " in every for name in COMMANDS)
    assert weaklink("help").stdout == weaklink("--help").stdout
    for words in (("show",), ("db", "stats")):
        assert weaklink("help", *words).stdout == weaklink(*words, "--help").stdout
    assert weaklink("help", "shwo").returncode == 2


def test_the_documentation_has_the_page_of_exit_codes(weaklink: Run) -> None:
    page = weaklink("help", "exit-codes", COLUMNS="80").stdout.decode()
    codes = [line.split()[0] for line in page.splitlines()[1:] if line[2:3].strip()]
    assert codes[:9] == ["0", "1", "2", "3", "125", "126", "127", "128+N", "130"]
    shown = re.search(r"<!-- exit-codes -->\n(.*?)<!-- /exit-codes -->", DOCS.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    table = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES)
    assert shown[1] == f"| exit code | meaning |\n| --- | --- |\n{table}"


def test_options_are_listed_by_sections_those_for_scale_last(weaklink: Run) -> None:
    titles = re.findall(r"^(\w[\w ]*):$", weaklink("check", "--help").stdout.decode(), re.MULTILINE)
    assert titles == ["Options", "Report", "General", "At scale"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("rule", "J104"), ("rules", "J104")),
        (("rule", "no-such-rule"), ("rules", "no-such-rule")),
        (("serve", "no.jsonl"), ("replay", "--serve", "no.jsonl")),
        (("log", "no.txt"), ("record", "no.txt")),
        (("log", "--to", "out.jsonl"), ("record", "-", "--to", "out.jsonl")),
        (("reinspect", "1", "--db", "no.db"), ("db", "reinspect", "1", "--db", "no.db")),
        (("join", "1", "2", "--db", "no.db"), ("db", "join", "1", "2", "--db", "no.db")),
        (("record", "--", "no-such-program"), ("run", "--", "no-such-program")),
    ],
)
def test_a_former_name_works_and_says_the_present_one(
    weaklink: Run, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    former, present = weaklink(*old, stdin=b"Hello"), weaklink(*new, stdin=b"Hello")
    notice, _, rest = former.stderr.decode().partition("\n")
    assert notice.startswith(f"weaklink: `weaklink {old[0]}")
    assert f"is now `weaklink {new[0]}" in notice
    assert (former.returncode, former.stdout) == (present.returncode, present.stdout)
    assert rest.replace(f"weaklink {old[0]} ", "") == present.stderr.decode().replace(f"weaklink {old[0]} ", "")


def test_the_database_and_colours_may_be_named_before_the_command(weaklink: Run, tmp_path: Path) -> None:
    weaklink("--db", "a.db", "record", "-", "-q", stdin=b"Hello")
    assert (tmp_path / "a.db").exists()
    assert b"no.db" in weaklink("--db", "a.db", "list", "--db", "no.db").stderr
    assert weaklink("--db", "a.db", "list", WEAKLINK_DB="no.db").stdout.count(b"\n") == 1
    assert weaklink("--db", "a.db", "db", "check").returncode == 0
    assert b"\x1b[" in weaklink("--color", "always", "rules", "J104").stdout
    assert b"\x1b[" not in weaklink("--color", "always", "rules", "J104", "--color", "never").stdout
    for words in (("rules", "--db", "a.db"), ("schema", "--color", "never")):
        assert weaklink(*words).returncode == 0


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
    assert b"`weaklink help --all` lists them all" in weaklink("qqqq").stderr


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
    names = ("segment", "show", "search", "skill", "stats", "sql", "schema")
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
