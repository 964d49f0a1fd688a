"""Sessions that a review found judged wrong: each is what its comment says, whatever rule decides."""

import json
from itertools import product
from time import process_time

import pytest

from tests.chain.building import chain_of


def run(id_: str, command: str, result: str) -> tuple[str, str]:
    return f"call {id_}: bash {json.dumps({'command': command})}", f"result {id_}: {result}"


HEALTHY = (
    # a pipe hides the code of a check that passed
    (*run("a", "npm ci && npm test 2>&1 | tail", "3 moderate severity vulnerabilities\n\nTests: 12 passed, 12 total"),),
    (
        *run(
            "a", "npx jest 2>&1 | tail", "PASS a.test.js\n  ● Console\n\nError: bad card\n\nTests: 12 passed, 12 total"
        ),
    ),
    (*run("a", "npx tap a.test.js | tail", "not ok 3 - knows todo # TODO later\n# pass 2\n# fail 0"),),
    # a state of a thing is the answer of a lookup
    ('call a: inventory_status {"item": 4}', 'result a: {"status": "unavailable", "message": "Out of stock."}'),
    ('call a: is_free {"at": "10:00"}', 'result a: {"status": "conflict", "message": "Meeting with Ada."}'),
    # nothing to end is an answer
    (*run("a", "kill 4711 2>/dev/null", "Exit code 1\n"),),
)
BROKEN = (
    # what was to go in the container is still there
    (
        "The cache of the web container is deleted.",
        (
            *run("a", "docker exec web rm -rf /srv/cache", "Exit code 1\nError: No such container: web"),
            *run("b", "rm -rf /srv/cache", "Exit code 0\n"),
        ),
    ),
    # a script with `--test` is no check
    (
        "The database refuses the connection, so nothing was synced.",
        run("a", "python sync.py --test", "Exit code 1\nConnectionError: host db.example refused the connection"),
    ),
    # the linter could not read what the agent itself had broken
    (
        "I changed parser.js: bad input and empty lines are handled.",
        (
            'call e: edit_file {"path": "parser.js", "old": "a", "new": "b("}',
            "result e: Edited parser.js.",
            *run("a", "eslint parser.js", "Exit code 2\nOops! Something went wrong!\nParsing error: Unexpected token"),
        ),
    ),
    # a server that did not start is not started by a look at its settings
    (
        "The server has quokka workers.",
        (
            *run("a", "./server --port 80", "Exit code 1\nbind: permission denied"),
            *run("b", "cat server.conf", "server configuration: workers quokka"),
        ),
    ),
    # a price near the number of the order is made up all the same
    (
        "The price is 18,200 kr.",
        ('call a: get_price {"order": 18211}', "result a!: Error: timeout"),
    ),
)


@pytest.mark.parametrize("lines", HEALTHY)
def test_a_healthy_session_is_not_broken(lines: tuple[str, ...]) -> None:
    assert chain_of("user: Have a look at order 4.", *lines, "say: That is how it is.").broken is None


@pytest.mark.parametrize(("said", "lines"), BROKEN)
def test_a_broken_session_is_broken(said: str, lines: tuple[str, ...]) -> None:
    assert (
        chain_of(
            "user: Start the work on order 18211, and fix the parser so that bad input and empty lines are handled.",
            *lines,
            f"say: {said}",
        ).broken
        is not None
    )


def test_a_result_that_is_a_reminder_alone_is_read() -> None:
    reminder = "<system-reminder>The user interrupted this call</system-reminder>"
    (step,) = chain_of("user: Go.", 'call a: get_user {"id": 4}', f"result a!: {reminder}", "say: All right.").steps
    assert step.error is None or "empty" not in step.error


# (what the user asks, with the target in {0}; whether that is the existence of the target)
REQUESTS = (
    ("Is there a {0} here? Otherwise go on without it.", True),
    ("Continue if there is a {0}, otherwise go on.", True),
    ("Read {0} if it exists.", True),
    ("Does {0} exist?", True),
    ("Sieh nach, ob es eine {0} gibt.", True),
    ("Lies {0}, falls vorhanden.", True),
    ("Y a-t-il un fichier ? S'il y a un {0}, lis-le.", True),
    ("Si existe {0}, léelo.", True),
    ("C'è un {0}? Leggilo.", True),
    ("Есть ли {0}?", True),
    ("有没有 {0} 文件？", True),
    ("Read {0} and tell me whether it uses port 8080.", False),
    ("Look at {0} and tell me if it is paid.", False),
    ("If there is time, read {0} and list the open items.", False),
    ("Otherwise fine. Please read {0} and implement it.", False),
    ("Sieh in {0} nach, ob debug an ist.", False),
    ("Sieh in {0} nach, ob es einen Port gibt.", False),
    ("Is there a port in {0}?", False),
    ("How many plans do we have per {0}?", False),
    ("Which users are there per {0}?", False),
    ("Lis le fichier {0} et dis-moi s'il y a des ventes en mars.", False),
    ("Проверь в {0}, включён ли кэш.", False),
    ("看看 {0} 是否启用了缓存", False),
)


@pytest.mark.parametrize(("request_text", "asks_existence"), REQUESTS)
def test_only_a_no_to_the_existence_of_its_target_is_an_answer(request_text: str, asks_existence: bool) -> None:
    for target, missing in product(("spec.md", "config.yml"), ("File does not exist.", "Error: {0} not found")):
        call = f'call a: Read {{"file_path": "/srv/{target}"}}'
        result = f"result a!: {missing.format(target)}"
        chain = chain_of(f"user: {request_text.format(target)}", call, result, "say: Yes, it is so.")
        assert (chain.steps[0].rules[0] == "asked-whether") == asks_existence, (target, missing)


@pytest.mark.parametrize("refused", ["Error 401: unauthorized", "Error: connection refused", "Error: timed out"])
def test_who_may_not_look_has_not_answered(refused: str) -> None:
    lines = ('call a: get_invoice {"invoice": "inv-88"}', f"result a!: {refused}", "say: Yes, it exists.")
    assert chain_of("user: Is there an invoice inv-88?", *lines).steps[0].result_kind == "failure"
    missing = ('call a: get_invoice {"invoice": "inv-88"}', "result a!: Error: inv-88 not found", "say: No.")
    assert chain_of("user: Is there an invoice inv-88?", *missing).steps[0].result_kind == "probe"


@pytest.mark.parametrize("piece", ["if it ", "ob es ", "is there ", "a", "存", "exist ", "a,", "'"])
def test_a_long_request_is_read_in_linear_time(piece: str) -> None:
    lines = ('call a: Read {"file_path": "a.md"}', "result a!: File does not exist.", "say: No.")
    begin = process_time()
    chain_of(f"user: {piece * (20_000 // len(piece))}", *lines)
    assert process_time() - begin < 2
