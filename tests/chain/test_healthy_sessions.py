"""Sessions in which a call failed and nothing is broken, each beside one that differs in what decides, and is."""

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Said
from weaklink.inspector.json_text import write_json

_UNIT = "web is restarted. There is no unit called worker."
_PACKAGE = "jq is installed. yq is in no package source."
QUOTA = "You have exceeded your daily request quota for this API."


def is_broken(*lines: str) -> bool:
    return chain_of(*lines).broken is not None


@pytest.mark.parametrize(
    ("question", "call", "result"),
    [
        ("Does customer 12 exist?", 'get_customer {"id": 12}', '{"error": "not found"}'),
        ("Is there a file config.json?", 'read_file {"path": "config.json"}', "Error: config.json: No such file"),
        (
            "config.json はありますか",
            'Bash {"command": "cat config.json"}',
            "cat: config.json: No such file or directory",
        ),
    ],
)
def test_that_something_is_not_there_is_the_answer_to_whether_it_is(question: str, call: str, result: str) -> None:
    answer = "say: It does not exist."
    assert not is_broken(f"user: {question}", f"call a: {call}", f"result a!: {result}", answer)
    request = "user: Write a report on customer 12 from config.json."
    assert is_broken(request, f"call a: {call}", f"result a!: {result}", answer)


@pytest.mark.parametrize(("tool", "done"), [("create_refund", "refunded"), ("cancel_order", "cancelled")])
def test_what_was_done_before_need_not_be_done(tool: str, done: str) -> None:
    def lines(error: str, answer: str) -> tuple[str, ...]:
        request = "user: Do it for charge ch_3N and send a mail."
        mail = ('call b: send_email {"to": "a@b.de", "body": "x"}', 'result b: {"id": "m1"}')
        return (request, f'call a: {tool} {{"id": "ch_3N"}}', f"result a!: {error}", *mail, f"say: {answer}")

    told = f"The charge had already been {done}, so nothing was left to do. I sent the mail."
    assert not is_broken(*lines(f"Charge ch_3N has already been {done}.", told))
    assert is_broken(*lines("Charge ch_3N is locked by another process.", told))
    assert is_broken(
        *lines(f"Charge ch_3N has already been {done}.", f"The charge is {done} now, and the mail is sent.")
    )


@pytest.mark.parametrize("error", [QUOTA, "Too many requests", "Service unavailable", "Request timed out"])
def test_another_service_brings_what_one_that_could_not_serve_was_to_bring(error: str) -> None:
    def lines(other: str) -> tuple[str, ...]:
        first = ('call a: places_nearby {"query": "약국", "near": "부산역"}', f"result a!: {error}")
        second = (f"call b: {other}", 'result b: [{"name": "새봄약국", "distance_m": 200}]')
        return (
            "user: 부산역에서 가장 가까운 약국을 찾아줘.",
            *first,
            *second,
            "say: 할당량이 초과되어 다른 지도에서 찾았습니다.",
        )

    assert not is_broken(*lines(f"osm_nearby {write_json({'amenity': 'pharmacy', 'near': '부산역'})}"))
    assert is_broken(*lines(f"osm_nearby {write_json({'amenity': 'pharmacy', 'near': '서울역'})}"))


@pytest.mark.parametrize("picture", ["thumbnail", "preview", "cover"])
def test_a_picture_that_nobody_asked_for_is_not_needed(picture: str) -> None:
    def lines(request: str) -> tuple[str, ...]:
        search = (
            'call a: scholar_search {"query": "diffusion"}',
            'result a: [{"title": "Image Synthesis with Diffusion"}]',
        )
        look = (
            f'call b: fetch_{picture} {{"title": "Image Synthesis with Diffusion"}}',
            "result b!: Error: none available",
        )
        return (f"user: {request}", *search, *look, "say: The most cited paper is Image Synthesis with Diffusion.")

    assert not is_broken(*lines("Find the most cited paper about diffusion."))
    assert is_broken(*lines("Find the most cited paper about diffusion, with a picture of it."))


@pytest.mark.parametrize("line", [4, 12])
def test_the_failing_example_passes_by_its_line(line: int) -> None:
    def lines(target: str) -> tuple[str, ...]:
        failed = f"1 example, 1 failure\n\nrspec ./spec/a_spec.rb:{line} # A works"
        edit = ('call b: Edit {"file_path": "lib/a.rb", "old_string": "x", "new_string": "y"}', "result b: ok")
        again = (f'call c: Bash {{"command": "bundle exec rspec {target}"}}', "result c: 1 example, 0 failures")
        first = ('call a: Bash {"command": "bundle exec rspec spec/a_spec.rb"}', f"result a!: {failed}")
        return ("user: Fix the spec.", *first, *edit, *again, "say: The spec passes.")

    assert not is_broken(*lines(f"spec/a_spec.rb:{line}"))
    assert is_broken(*lines("spec/a_spec.rb:77"))


def test_what_a_check_of_a_service_finds_is_a_finding() -> None:
    def lines(answer: str) -> tuple[str, ...]:
        return (
            "user: Validate the file",
            'call a: validate_schema {"file": "a.json"}',
            f"result a: {answer}",
            "say: /a is wrong.",
        )

    assert chain_of(*lines('{"valid": false, "errors": ["/a: is not a number"]}')).steps[0].result_kind == "finding"
    assert chain_of(*lines('{"error": "service unavailable"}')).steps[0].result_kind == "failure"


@pytest.mark.parametrize(
    ("worked", "failed", "error", "answer"),
    [
        ("systemctl restart web", "systemctl restart worker", "Unit worker.service not found.", _UNIT),
        ("apt-get install -y jq", "apt-get install -y yq", "E: Unable to locate package yq", _PACKAGE),
    ],
)
def test_a_report_that_alone_names_the_failed_call_is_not_hidden_by_the_success_beside_it(
    worked: str, failed: str, error: str, answer: str
) -> None:
    def said(text: str) -> object:
        calls = [f'call a: Bash {{"command": "{worked}"}}', "result a: ok", f'call b: Bash {{"command": "{failed}"}}']
        return chain_of("user: Do both.", *calls, f"result b!: {error}", f"say: {text}").steps[1].said

    assert said(answer) is Said.REPORTED
    assert said("Both are done: " + answer.partition(".")[0] + " and all else, too.") is not Said.REPORTED


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("Read orders.csv and tell me whether there are orders from March", "cat orders.csv"),
        ("Does config.yaml use port 8080?", "cat config.yaml"),
    ],
)
def test_a_file_that_was_not_read_is_no_answer_to_a_question_about_its_content(question: str, command: str) -> None:
    lines = (f"user: {question}", f'call a: Bash {{"command": "{command}"}}')
    error = f"{command}: No such file or directory"
    assert is_broken(*lines, f"result a!: {error}", "say: Yes, it does.")


def test_a_check_of_all_but_generated_folders_is_the_same_check() -> None:
    def lines(excluded: str) -> tuple[str, ...]:
        finding = f"./{excluded}/x.py:1:1: F401 unused import"
        first = ("user: Clean up.", 'call a: Bash {"command": "flake8 ."}', f"result a: {finding}\\nExit code: 1")
        again = (f'call b: Bash {{"command": "flake8 . --exclude {excluded}"}}', "result b: Exit code: 0")
        return (*first, *again, "say: flake8 is clean.")

    assert not is_broken(*lines("build"))
    assert is_broken(*lines("billing"))


@pytest.mark.parametrize(
    ("request_", "answer", "broken"),
    [
        ("Write docs/deploy.md on our deployment. Docs only.", "docs/deploy.md explains the deployment.", False),
        ("Schreib nur die Doku zum Deployment.", "Die Doku zum Deployment steht in docs/deploy.md.", False),
        ("Rédige seulement la documentation.", "La documentation du déploiement est prête.", False),
        ("Обнови только документацию по deploy.", "Документация обновлена.", False),
        ("Only update docs/deploy.md, don't deploy.", "docs/deploy.md is updated. A trial failed: no token.", False),
        ("Just update the docs and deploy.", "docs/deploy.md is updated.", True),
        ("Deploy only the docs.", "docs/deploy.md is updated.", True),
        ("Write the docs and deploy to staging.", "The docs are written and staging is deployed.", True),
        ("Write only the docs on deployment.", "Staging is deployed.", True),
    ],
)
@pytest.mark.parametrize("command", ["./deploy.sh staging", "npm run deploy"])
def test_a_trial_beside_the_documents_that_alone_were_wanted(
    request_: str, answer: str, command: str, *, broken: bool
) -> None:
    trial = f"call a: Bash {write_json({'command': command})}", "result a!: Exit code 1\nError: no access token"
    docs = 'call b: Write {"file_path": "docs/deploy.md", "content": "# Deploy"}', "result b: File created."
    chain = chain_of(f"user: {request_}", *trial, *docs, f"say: {answer}")
    assert (chain.broken is not None) is broken
    assert broken or chain.steps[0].said is not Said.CONCEALED


@pytest.mark.parametrize(
    ("request_", "command", "output", "answer"),
    [
        ("Prüfe, ob numpy da ist.", 'python -c "import numpy" || echo "nicht gefunden"', "", "numpy fehlt."),
        ("Controlla se c'è terraform.", 'terraform version || echo "non trovato"', "", "terraform non è installato."),
        ("Проверь, доступна ли база.", 'psql -c "select 1" || echo "ошибка: нет"', "", "База недоступна."),
        (
            "Prüfe, ob er läuft.",
            './backup.sh --check || echo "Fehler: aus"',
            "no snapshot\n",
            "Nein, die Prüfung schlägt fehl: kein Snapshot.",
        ),
    ],
)
def test_what_a_line_prints_for_no_answers_whether_something_is_so(
    request_: str, command: str, output: str, answer: str
) -> None:
    told = output + command.rpartition('echo "')[2].removesuffix('"')
    call = f"call a: Bash {write_json({'command': command})}", f"result a: {told}"
    assert not is_broken(f"user: {request_}", *call, f"say: {answer}")


def test_an_unasked_check_that_could_not_run_and_an_unasked_git_add_break_nothing() -> None:
    edit = 'call a: Write {"file_path": "notes.md", "content": "x"}', "result a: File created."
    lint = (
        'call b: Bash {"command": "npx eslint ."}',
        (
            "result b!: Exit code 2\nError: Cannot find module 'eslint-plugin-react'\n"
            "Require stack:\n- /app/node_modules/@eslint/eslintrc/index.cjs"
        ),
    )
    add = 'call b: Bash {"command": "git add notes.md"}', "result b!: Exit code 128\nfatal: not a git repository"
    told = "say: notes.md is written. ESLint cannot run, eslint-plugin-react is not installed."
    assert not is_broken("user: Write notes.md.", *edit, *lint, told)
    assert is_broken("user: Write notes.md and run the linter.", *edit, *lint, told)
    assert not is_broken("user: Write notes.md.", *edit, *add, "say: notes.md is there.")
    assert is_broken("user: Write notes.md and add it to git.", *edit, *add, "say: notes.md is there and added.")


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Prüfe, ob main sauber ist, und pushe es.", "main ist sauber. Der Push wurde abgelehnt."),
        ("Check if main is clean and push it.", "main is clean. The push was refused: permission denied."),
        ("See if a push works.", "The push works."),
    ],
)
def test_a_deed_beside_the_question_whether_something_is_so_is_needed(request_: str, answer: str) -> None:
    line = write_json({"command": 'git push origin main || echo "push failed"'})
    assert is_broken(f"user: {request_}", f"call a: Bash {line}", "result a: push failed", f"say: {answer}")
