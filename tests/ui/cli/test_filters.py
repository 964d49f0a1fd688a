"""Filters on the command line: as words, as an option, and where they go wrong."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.conftest import START, Run, environment
from weaklink.storage.store import open_store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of three traces."""
    path = tmp_path / "t.db"
    with open_store(path) as store:
        store.save(inspected(trace("good", GOOD_CALL), trace("bad", BAD_CALL), trace("other", "sun", model="qwen3")))
        store.marks.put("good", note="as it should be")
    return path


def _listed(run: Run, *arguments: str) -> list[str]:
    done = run("list", "--json", "--db", "t.db", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line)["name"] for line in done.stdout.splitlines()]


def test_words_behind_list_are_a_filter(weaklink: Run, database: Path) -> None:
    assert _listed(weaklink, "status:broken") == ["bad"]
    assert _listed(weaklink, "model:hermes*", "not", "status:broken") == ["good"]
    assert _listed(weaklink, "(sun or marked:yes)") == ["other", "good"]
    assert _listed(weaklink, "sun or marked:yes", "--filter", "not model:qwen3 or code:J1") == ["good"]


def test_a_list_tells_marks_in_json(weaklink: Run, database: Path) -> None:
    done = weaklink("list", "--json", "--db", "t.db", "note:SHOULD")
    (shown,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (shown["name"], shown["marked"], shown["note"]) == ("good", True, "as it should be")


@pytest.mark.parametrize("arguments", [["list"], ["search"], ["tail"], ["list", "--filter"], ["tail", "-f"]])
def test_an_error_stands_below_its_character(weaklink: Run, database: Path, arguments: list[str]) -> None:
    done = weaklink(*arguments, "\x1b[1m or status:brokn", "--db", "t.db")
    assert (done.returncode, done.stdout) == (2, b"")
    line, caret, sentence = done.stderr.decode().splitlines()
    assert (line, caret) == ("  ␛[1m or status:brokn", "                 ^")
    known = "broken, aborted, recovered, unknown, ok, running, idle"
    assert sentence == (
        f"weaklink: filter, character 16: status must be one of {known}, not `brokn`; did you mean `broken`?"
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("weaklink list --db t.db model:he", ["hermes-4"]),
        ("weaklink list --db t.db 'sun or model:he", ["sun or model:hermes-4"]),
        ("weaklink list --db t.db sun model:hermes-4,q", ["hermes-4,qwen3"]),
        ("weaklink list --db t.db arg:$.city=o", ["oslo"]),
        ("weaklink list --db t.db mark", ["marked:"]),
        ("weaklink li", ["list"]),
    ],
)
def test_bash_puts_in_what_it_takes_for_the_last_word(
    weaklink: Run, database: Path, tmp_path: Path, line: str, replies: list[str]
) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    script = weaklink("completion", "bash").stdout.decode()
    command = tmp_path / "weaklink"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(START)} "$@"\n')
    command.chmod(0o755)
    asked = f"COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}\n_weaklink_completion {command}\n"
    done = subprocess.run(
        [bash, "--norc"],
        input=f'{script}\n{asked}printf "%s\\n" "${{COMPREPLY[@]}}"\n'.encode(),
        capture_output=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        check=False,
        timeout=60,
    )
    assert done.stdout.decode().splitlines() == replies, done.stderr


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("weaklink list --db t.db mod", ["model:"]),
        ("weaklink list --db t.db -f model:", ["model:hermes-4", "model:qwen3"]),
        ("weaklink search --db t.db Oslo code:", ["code:J104"]),
        ("weaklink tail --db t.db --filter status:a", ["status:aborted"]),
        ("weaklink list --db gone.db model:", []),
    ],
)
def test_a_shell_completes_filters(weaklink: Run, database: Path, line: str, offered: list[str]) -> None:
    words = line.split()
    asked = {"_WEAKLINK_COMPLETE": "zsh_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = weaklink(**asked)
    completions = done.stdout.decode().replace("\\:", ":").splitlines()[1::3]
    assert completions == offered, done.stderr
