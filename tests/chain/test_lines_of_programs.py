"""A line of several programs: what it provides for, or prints itself, is no failure; what a program could not do is."""

from itertools import product

import pytest

from weaklink.inspector.chain.outcomes import judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.facade import make_call
from weaklink.inspector.model import RecordedState, ToolResult
from weaklink.inspector.text import Range

# A program that ends or makes a thing, and what it says if the thing is gone, or there, already.
PROVIDED_FOR = (
    ("docker rm -f {0}", "Error response from daemon: No such container: {0}"),
    ("docker stop {0}", "Error response from daemon: No such container: {0}"),
    ("docker network create {0}", "Error response from daemon: network with name {0} already exists"),
    ("kubectl delete ns {0}", 'Error from server (NotFound): namespaces "{0}" not found'),
    ("kubectl create ns {0}", 'Error from server (AlreadyExists): namespaces "{0}" already exists'),
    ("rm -r {0}", "rm: cannot remove '{0}': No such file or directory"),
    ("rm -r {0}", "rm: Entfernen von '{0}' nicht möglich: Datei oder Verzeichnis nicht gefunden"),
    ("rm -r {0}", "rm: impossible de supprimer '{0}': Aucun fichier ou dossier de ce type"),
    ("mkdir {0}", "mkdir: cannot create directory '{0}': File exists"),
    ("mkdir {0}/", "mkdir: {0}: File exists"),
    ("dropdb {0}", 'dropdb: error: database removal failed: ERROR:  database "{0}" does not exist'),
    ("createdb {0}", 'createdb: error: database creation failed: ERROR:  database "{0}" already exists'),
    ("umount {0}", "umount: {0}: not mounted."),
    ("systemctl stop {0}", "Failed to stop {0}.service: Unit {0}.service not loaded."),
)
# What these say where they could not do their work, so that the next program worked on something else.
NOT_DONE = (
    ("docker rm -f {0}", "docker: error: permission denied while connecting"),
    ("docker start {0}", "Error response from daemon: No such container: {0}"),
    ("rm -r {0}", "rm: cannot remove '{0}': Permission denied"),
    ("mkdir {0}", "mkdir: cannot create directory '{0}': Permission denied"),
    ("cp {0} out", "cp: cannot stat '{0}': No such file or directory"),
    ("createdb {0}", 'createdb: error: database creation failed: ERROR:  role "{0}" does not exist'),
)
GOES_ON = (("; ", "./srv {0}", "up"), ("; ", "make {0} && ./run", "built"), ("\n", "docker run -d nginx", "9f8e7d"))
NAMES = ("web", "shop")


def kind(command: str, content: str, code: int | None = 0) -> str | None:
    result = ToolResult(content, Range(0, len(content)))
    if code is not None:
        result = ToolResult(content, Range(0, len(content)), recorded=RecordedState(code, field="exit_code"))
    judgement = judged_result(
        LocatedCall(make_call("Bash", {"command": command}), Location(1, "call:0", Range(0, 1))), result
    )
    return judgement.kind.value if judgement else None


def lines(first: str, message: str) -> list[tuple[str, str]]:
    return [
        (f"{first}{connector}{rest}".format(name), f"{message}\n{output}".format(name))
        for name, (connector, rest, output) in product(NAMES, GOES_ON)
    ]


@pytest.mark.parametrize(("first", "message"), PROVIDED_FOR)
def test_what_is_already_so_before_a_semicolon_is_no_failure(first: str, message: str) -> None:
    wrong = [line for line in lines(first, message) for code in (0, None) if kind(*line, code) is not None]
    assert wrong == []


@pytest.mark.parametrize(("first", "message"), NOT_DONE)
def test_what_a_program_could_not_do_before_a_semicolon_is_a_failure(first: str, message: str) -> None:
    assert [line for line in lines(first, message) if kind(*line) != "failure"] == []


def test_only_the_message_of_the_program_that_ends_a_thing_is_provided_for() -> None:
    gone = "Error response from daemon: No such container: web"
    assert kind("docker rm -f web; docker start web; docker ps", f"{gone}\n{gone}\nCONTAINER ID") == "failure"
    assert kind("docker stop web; docker rm web; docker run -d nginx", f"{gone}\n{gone}\n9f8e7d") is None


STATES = ("failed", "error", "error: no answer", "Fehler")


@pytest.mark.parametrize("state", STATES)
def test_the_line_that_a_loop_prints_itself_is_no_failure(state: str) -> None:
    output = f"a: ok\nb: {state}\nc: ok"
    printing = (
        "for h in a b c; do ping -c1 $h > /dev/null && echo $h: ok || echo $h: failed; done",
        'for h in a b c; do ./alive $h && echo "$h: ok" || echo "$h: error"; done',
        "for h in a b c; do ./alive $h; printf '%s: %s' $h $?; done",
        "for f in *.json; do jq -r '.name + .state' $f; done",
        "for f in *.log; do tail -1 $f; done",
    )
    assert [line for line in printing if kind(line, output) is not None] == []
    working = ("for h in a b c; do ./deploy $h; done", "for f in a b c; do python load.py $f; done")
    assert [line for line in working if kind(line, output) != "failure"] == []


def test_rows_of_a_query_are_content_and_errors_of_a_script_are_none() -> None:
    for option in ("-c", "-tAc", "-d app -c", "--command"):
        command = f'psql {option} "select msg from log"'
        assert kind(command, "psql: error: x\nERROR:  y") is None
        assert kind(f"{command} | head", "one\npsql: error: x") is None
    assert kind("psql -f m.sql", 'BEGIN\npsql:m.sql:3: ERROR:  column "x" does not exist\nROLLBACK') == "failure"
    assert kind("redis-cli set a", "(error) ERR wrong number of arguments for 'set' command") == "failure"
