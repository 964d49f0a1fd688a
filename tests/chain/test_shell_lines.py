"""Which programs a shell's line runs: quotes, operators, wrappers, here-documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.shell_lines import shell_commands
from weaklink.inspector.chain.tool_kinds import is_shell
from weaklink.inspector.model import Json


def read(line: str) -> list[str]:
    return [
        " ".join(filter(None, (command.connector, command.program, *command.words))) for command in shell_commands(line)
    ]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("cd src && FOO=1 timeout 60 pytest -q", ["cd src", "&& pytest -q"]),
        ("bash -lc 'npm test 2>&1 | tail -5' || echo failed", ["npm test", "| tail -5", "|| echo failed"]),
        ("git commit -m 'a; b && c'", ["git commit -m a; b && c"]),
        ("cat > a.py <<'EOF'\nx && y\nEOF\npython3 a.py", ["cat", "; python a.py"]),
        ("uv run python -m pytest tests", ["pytest tests"]),
        ("uv pip install -q httpx", ["pip install -q httpx"]),
        ("/usr/bin/sudo -u dev env A=1 ./run.sh x", ["run.sh x"]),
        ("if [ -f x ]; then cat x; fi", ["[ -f x ]", "; cat x"]),
        ("(cd a; ls) & # later", ["cd a", "; ls"]),
        ("# only a comment", []),
        ('echo "unclosed', ['echo "unclosed']),
    ],
)
def test_the_programs_of_a_line(line: str, commands: list[str]) -> None:
    assert read(line) == commands


def test_redirections_are_no_words() -> None:
    (command,) = shell_commands("npm run build > log.txt 2>&1 < in")
    assert (command.words, command.writes) == (("run", "build"), ("log.txt",))


@given(st.text(alphabet="ab '\"\\|&;<>()$\n#=-", max_size=60))
def test_nothing_raises(line: str) -> None:
    assert len(shell_commands(line)) <= 40


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("bash", {"command": "cat 'a b'"}, "cat 'a b'"),
        ("shell", {"command": ["bash", "-lc", "cat x"]}, "cat x"),
        ("shell", {"command": ["cat", "a b"]}, "cat 'a b'"),
        ("shell", {"command": ["cat x"]}, "cat x"),
        ("run_commands", {"commands": ["cat x"]}, "cat x"),
        ("run_commands", {"commands": ["cd src", "make all"]}, "cd src\nmake all"),
        ("write", {"path": "x", "command": "insert"}, None),
    ],
)
def test_the_text_that_a_call_gives_to_a_shell(tool: str, arguments: dict[str, Json], line: str | None) -> None:
    """A list is a command's words, or lines of its own (`commands`, as Cline's)."""
    assert is_shell(tool, arguments) == line
