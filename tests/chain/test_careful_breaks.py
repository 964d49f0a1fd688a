"""A healthy session is not called broken because of words, or of a need that is weak; generated over its variations."""

import itertools
import json

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Chain, Recovery, ResultKind, Said


def run(command: str, call_id: str) -> str:
    return f"call {call_id}: Bash {json.dumps({'command': command})}"


def failing(call_id: str, code: int, output: str) -> str:
    return f"result {call_id}!: Exit code {code}\n{output}"


QUESTIONS = [
    ("mountpoint /mnt/backup", 32, "/mnt/backup is not a mountpoint"),
    ("mountpoint -q /srv/media; mountpoint /srv/media", 32, "/srv/media is not a mountpoint"),
    ("systemctl is-active worker", 3, "worker is inactive"),
]


@pytest.mark.parametrize(("command", "code", "output"), QUESTIONS)
def test_what_is_not_so_is_an_answer_whatever_the_exit_code(command: str, code: int, output: str) -> None:
    chain = chain_of("user: is it so?", run(command, "a"), failing("a", code, output), "say: No, it is not.")
    assert chain.steps[0].result_kind is ResultKind.PROBE
    assert chain.broken is None


@pytest.mark.parametrize("output", ["mountpoint: /mnt/backup: Permission denied", "mountpoint: unknown option -- z"])
def test_a_question_that_could_not_be_put_is_no_answer(output: str) -> None:
    chain = chain_of("user: is it so?", run("mountpoint /mnt/backup", "a"), failing("a", 32, output), "say: No.")
    assert chain.steps[0].result_kind is ResultKind.FAILURE


REMOVALS = [
    ("git push origin --delete spike", "error: unable to delete 'spike': remote ref does not exist"),
    ("git branch -d spike", "error: branch 'spike' not found"),
    ("git tag -d v0.1", "error: tag 'v0.1' not found."),
    ("git remote remove upstream", "error: No such remote: 'upstream'"),
    ("docker volume rm cache", "Error response from daemon: get cache: no such volume: cache"),
    ("helm uninstall web", 'Error: uninstall: Release not loaded: web: release: not found: "web"'),
    ("kubectl delete configmap flags", 'Error from server (NotFound): configmaps "flags" not found'),
]


@pytest.mark.parametrize(("command", "output"), REMOVALS)
def test_the_removal_of_what_is_not_there_breaks_nothing_if_the_agent_says_so(command: str, output: str) -> None:
    name = command.rsplit(maxsplit=1)[-1]
    chain = chain_of(
        f"user: remove {name}, here and there",
        run("git branch -D other", "a"),
        "result a: Deleted branch other (was 1f0aa92).",
        run(command, "b"),
        failing("b", 1, output),
        f"say: {name} did not exist there.",
    )
    assert chain.steps[1].recovery is Recovery.NOT_NEEDED
    assert chain.broken is None


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("kubectl delete configmap flags", 'Error from server (NotFound): namespaces "prod" not found'),
        ("kubectl delete -f app.yaml", 'error: the path "app.yaml" does not exist'),
        ("git push origin --delete spike", "fatal: repository 'https://git.example.com/a.git/' not found"),
    ],
)
def test_a_removal_that_could_not_begin_is_a_break(command: str, output: str) -> None:
    chain = chain_of(
        f"user: please {command}", run(command, "a"), failing("a", 1, output), "say: That failed: it was not found."
    )
    assert chain.broken is not None


LEADS = ["", "No, ", "Ok, ", "Hmm, then ", "In that case "]
WAIVERS = ["I'll leave it for now.", "never mind", "I'll wait", "I'd rather keep it as it was", "leave it"]
FOREIGN_WAIVERS = [
    "Nein, dann lasse ich es erst einmal.",
    "Na gut, dann verzichte ich.",
    "Dann warte ich lieber.",
    "Non, alors je laisse tomber.",
    "Dans ce cas j'attends, je laisse comme ça.",
    "No, entonces lo dejo así.",
    "Não, então deixo assim.",
    "No, allora lascio stare.",
    "Нет, тогда я подожду.",
    "Nie, to zostawiam.",
    "Nie, dziękuję, rezygnuję.",
    "no, I'll keep the one I have",
]


def declined(answer: str) -> Chain:
    return chain_of(
        "user: add a bag to reservation M4TT21",
        'call a: get_reservation {"id": "M4TT21"}',
        'result a: {"id": "M4TT21", "bags": 1}',
        'call b: update_bags {"id": "M4TT21", "bags": 2, "payment": "card_20"}',
        "result b: Error: payment declined",
        "say: The payment was declined. Do you have another card?",
        f"user: {answer}",
        "say: All right, the reservation stays as it is.",
    )


@pytest.mark.parametrize(
    "answer", [*(lead + waiver for lead, waiver in itertools.product(LEADS, WAIVERS)), *FOREIGN_WAIVERS]
)
def test_what_the_user_then_waives_is_not_needed(answer: str) -> None:
    chain = declined(answer)
    assert chain.steps[1].recovery is Recovery.NOT_NEEDED
    assert chain.broken is None


@pytest.mark.parametrize(
    "answer", ["No.", "Try it again", "No, but it has to be added", "Then use the one ending in 31"]
)
def test_what_the_user_does_not_waive_stays_needed(answer: str) -> None:
    assert declined(answer).broken is not None


MEASURES = [
    ("npm run size", "  Size limit: 150 kB\n  Size:       181.2 kB\n  Package size limit has exceeded by 31.2 kB"),
    ("make bundle-report", "app.js is 412 kB, above the maximum of 350 kB"),
    ("python perf_report.py", "p95 320 ms, over the budget of 300 ms"),
    ("./scripts/score.sh", "accuracy 0.81 is below the threshold of 0.90"),
    ("just footprint", "allowed: 64.0 KiB exceeded: 71.5 KiB"),
]


@pytest.mark.parametrize(("command", "output"), MEASURES)
def test_what_a_task_measures_beyond_its_limit_is_a_finding(command: str, output: str) -> None:
    chain = chain_of(
        f"user: get it within the limit ({command})",
        run(command, "a"),
        failing("a", 1, output),
        f"say: It is still beyond what is set: {output.splitlines()[-1].strip()}. Shall I go on?",
    )
    assert chain.steps[0].result_kind is ResultKind.FINDING
    assert chain.broken is None


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("./upload.sh report.pdf", "error: file 7.8 MB exceeds limit 5 MB"),
        ("npm run upload", "limit 5 MB exceeded: file has 7.8 MB"),
        ("./send.sh report.pdf", "413 Payload Too Large: limit 5 MB exceeded, file 7.8 MB"),
        ("npm run sync", "rate limit exceeded: 60.0 of 50.0 allowed"),
        ("make data", "heap limit exceeded: 4096 MB of 2048 MB allowed"),
    ],
)
def test_what_ran_into_a_limit_of_another_is_a_failure(command: str, output: str) -> None:
    chain = chain_of("user: do it", run(command, "a"), failing("a", 1, output), "say: It failed at the limit.")
    assert chain.steps[0].result_kind is ResultKind.FAILURE


@pytest.mark.parametrize("error", ["Command timed out after 30 seconds", "Killed", "MemoryError: out of memory"])
@pytest.mark.parametrize("code", ["from game import play\nprint(play(3))", "print(open('game.py').read().count('x'))"])
def test_what_took_too_long_is_worked_around_by_own_code_on_the_same_files(error: str, code: str) -> None:
    chain = chain_of(
        "user: find the seed for which game.py ends in a draw",
        run("for s in $(seq 0 1000000); do python game.py $s | grep -q draw && echo $s; done", "a"),
        failing("a", 124, error),
        run(f"python - <<'EOF'\n{code}\nEOF", "b"),
        "result b: 41",
        "say: The seed is 41.",
    )
    assert chain.steps[0].recovery in (Recovery.WORKED_AROUND, Recovery.OTHER_TOOL)
    assert chain.broken is None


def test_own_code_on_other_files_works_around_nothing() -> None:
    chain = chain_of(
        "user: find the seed for which game.py ends in a draw",
        run("python game.py --all", "a"),
        failing("a", 124, "Command timed out after 30 seconds"),
        run("python - <<'EOF'\nimport sys\nprint(sys.version)\nEOF", "b"),
        "result b: 3.12",
        "say: The seed is 41.",
    )
    assert chain.broken is not None


@pytest.mark.parametrize("looks", ["curl -s -o /dev/null -w '%{http_code}' ", "curl -so /dev/null -w '%{http_code}' "])
def test_the_status_of_a_page_is_not_the_page(looks: str) -> None:
    url = "https://metals.example.com/copper"
    chain = chain_of(
        f"user: fetch today's copper price from {url} and write it to price.json",
        run(f"curl -sf {url}", "a"),
        failing("a", 22, ""),
        run(looks + url, "b"),
        "result b: 403",
        'call c: Write {"file_path": "/w/price.json", "content": "{\\"usd_per_t\\": 9412.5}"}',
        "result c: File created successfully at: /w/price.json",
        "say: price.json now contains today's copper price: 9,412.50 USD per tonne.",
    )
    assert chain.broken is not None
    assert chain.broken.step == 1
    assert chain.steps[0].said is Said.CONCEALED


@pytest.mark.parametrize(
    ("user", "before", "call", "answer", "status"),
    [
        ("Set the hours to 9-17.", "", "cms_backup {}", "The hours are 9-17 now.", "recovered"),
        ("Set the hours to 9-17.", "", "cms_backup {}", "The hours are 9-17 now. A backup is in place.", "broken"),
        ("Make a backup, then set the hours to 9-17.", "", "cms_backup {}", "The hours are 9-17 now.", "broken"),
        ("Aggiorna gli orari.", "Salvo una copia in PDF, per sicurezza.", "export_pdf {}",
         "Orari aggiornati; la copia PDF non è stata possibile.", "recovered"),
        ("Set the hours to 9-17.", "", 'Bash {"command": "git fetch origin"}', "The hours are 9-17 now.", "recovered"),
        ("Pull, then set the hours to 9-17.", "", 'Bash {"command": "git pull"}', "The hours are 9-17 now.", "broken"),
        ("Tell the customer of ticket 7 that it ships.", "", 'get_history {"ticket": 7}', "Told in ticket 7.",
         "recovered"),
    ],
)  # fmt: skip
def test_a_precaution_and_a_look_aside_break_nothing_if_nobody_speaks_of_them(
    user: str, before: str, call: str, answer: str, status: str
) -> None:
    lines = [f"user: {user}", *([f"say: {before}"] if before else []), f"call a: {call}"]
    done = 'call b: update_page {"hours": "9-17", "ticket": 7}', 'result b: {"ok": true}'
    chain = chain_of(*lines, 'result a!: {"error": "not in your plan"}', *done, f"say: {answer}")
    assert chain.status == status
