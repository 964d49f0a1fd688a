"""What kind of answer a call got: facts before words, and a negative answer is an answer."""

import pytest

from tests.chain.building import chain_of, codes, inspection_of
from weaklink.inspector.chain.outcomes import judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.facade import make_call
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import RecordedState, RunState, ToolResult
from weaklink.inspector.text import Range

LABELLED = (
    "Command: as given\nDirectory: (root)\nOutput: {}\nError: {}\nExit Code: {}\nSignal: (none)\n"
    "Process Group PGID: (none)"
)
"""A command's result as Qwen Code 0.24 writes it; Gemini CLI leaves out what is `(none)`."""

_PLACE = Location(1, "call:0", Range(0, 1))


def kind(command: str, content: str, *, flag: bool | None = None, recorded: RecordedState | None = None) -> str | None:
    call = make_call("bash", {"command": command})
    result = ToolResult(content, Range(0, len(content)), is_error=flag, recorded=recorded)
    judgement = judged_result(LocatedCall(call, _PLACE), result)
    return judgement.kind.value if judgement else None


@pytest.mark.parametrize(
    ("command", "content", "expected"),
    [
        ("npx tsc --noEmit", "Exit code 2\na.ts(1,1): error TS2304: no x", "finding"),
        ("npm test", "Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\n3 failed", "finding"),
        ("pytest -q", "Exit code 1\nFAILED tests/a.py::test_x\n1 failed", "finding"),
        ("pytest -q", "/usr/bin/python: No module named pytest\nExit code 1", "failure"),
        ("npm test", "failed in sandbox X with execution error: denied, exit code: 1, stdout: ", "failure"),
        ("cargo build | tail -3", "error: could not compile `a` (lib) due to 2 previous errors", "finding"),
        ("ruff check . ; echo rc=$?", "a.py:1:1: F401 unused\nrc=1", "finding"),
        ("git commit -m x", "Exit code 1\nPre-commit validation failed", "failure"),
        ("cd build && make", "/bin/sh: 1: cd: can't cd to build\nExit code 2", "failure"),
        ("make install", "install: cannot create '/x'\nmake: *** [Makefile:3: install] Error 1", "failure"),
        ("curl -fsS http://a.invalid", "curl: (6) Could not resolve host: a.invalid", "failure"),
        ("rg -n x src", "Exit code 127\nbash: line 1: rg: command not found", "failure"),
        ("which rg", "Exit code 1", "probe"),
        ("rg --version", "Exit code 127\nbash: line 1: rg: command not found", "probe"),
        ("grep -rn total src", "Exit code 1", "probe"),
        ("grep -rn total src", "", "probe"),
        ("sed -i s/a/b/ x.py && grep -n TOTAL x.py", "<returncode>1</returncode>\n<output>\n\n</output>", "probe"),
        (
            "sed -i s/a/b/ x.py && grep -n T x.py",
            "<returncode>2</returncode>\n<output>\nsed: x.py: No such\n</output>",
            "failure",
        ),
        ("pytest -q | grep FAILED", "Exit code 1", "probe"),
        ("terraform plan -detailed-exitcode | tail -1", "Exit code 2\nPlan: 1 to add.", "probe"),
        ("terraform plan -detailed-exitcode", "Exit code 1\nError: no credentials", "failure"),
        ("ansible web -m command -a 'test -f /etc/a' -o", "Exit code 2\nw1 | FAILED | rc=1 | (stdout) \n", "probe"),
        ("nvidia-smi", "Exit code 127\nbash: line 1: nvidia-smi: command not found", "probe"),
        ("su postgres -c 'test -d /srv/db'", "Exit code 1", "probe"),
        ("wrangler deploy", "Output: ✘ [ERROR] A request failed.\nExit Code: 1\nProcess Group PGID: 7", "failure"),
        ("npx vitest", "Output: 2 failed, 1 passed\nExit Code: 1\nProcess Group PGID: 7", "finding"),
        ("./count.sh", "Output: 3\nProcess Group PGID: 7", None),
        ("make -C docs html", "Wall time: 41.2 seconds\naborted by user", "rejected"),
        ("docker network inspect edge", "Exit code 1\n[]\nError response from daemon: edge not found", "probe"),
        ("kubectl get pods", "Exit code 1\nerror: You must be logged in to the server (Unauthorized)", "failure"),
        (
            "kubectl get secret/db-credentials",
            'Exit code 1\nError from server: secrets "db-credentials" not found',
            "probe",
        ),
        ("aws s3 ls", "Exit code 255\nUnable to locate credentials", "failure"),
        ("make", "a.c:1:1: error: x undeclared\nBuild finished with 1 error(s).", "finding"),
        ("make", "a.c:1:1: warning: x\nBuild finished with 0 errors.", None),
        ("docker ps", "Exit code 1\nCannot connect to the Docker daemon at unix:///var/run/docker.sock.", "failure"),
        (
            "php bin/phpunit",
            "Exit code 2\nThere was 1 error:\n1) ATest::testB\nERRORS!\nTests: 4, Errors: 1.",
            "finding",
        ),
        ("git commit -m x", "Exit code 1\n- hook id: golangci-lint\nhub/hub.go:77:2: SA1019: deprecated", "failure"),
        ("make", "error: could not read cached dependency file, ignoring\ncc -o app\nBuild complete.", None),
        ("python -c 'from PIL import features; print(features.check(\"webp\"))'", "False", "probe"),
        ("python -c 'print(run())'", "True", None),
        ("./a.out < in.txt | diff - expected.txt", "7c7\n< 1.12\n---\n> 1.13", "finding"),
        ("diff a.txt expected/a.txt", "Exit code 1\n7c7\n< 1.12\n---\n> 1.13", "finding"),
        ("diff a.txt b.txt", "Exit code 1\n7c7\n< 1.12\n---\n> 1.13", "probe"),
        ("git diff --exit-code", "Exit code 1\n- a\n+ b", "probe"),
        ("cat notes.md", LABELLED.format("cat: notes.md: No such file or directory", "(none)", 1), "probe"),
        ("npm test", LABELLED.format("3 failed\nError: the suite's own", "(none)", 1), "finding"),
        ("npm test", LABELLED.format("Error: shown by a passing test", "(none)", 0), None),
        ("grep -rn total src", LABELLED.format("(empty)", "(none)", 1), "probe"),
        ("git push", LABELLED.format("(empty)", "spawn git ENOENT", 1), "failure"),
        ("cat notes.md", "Exit code 1\ncat: notes.md: No such file or directory", "probe"),
        ("ls specs 2>/dev/null || echo none", "none", "probe"),
        ("dart analyze lib", "Exit code: 3\n  error - a.dart:31:5 - The method 'x' isn't defined.", "finding"),
        ("R CMD check .", "Status: 1 ERROR\n[exit 1]", "finding"),
        (
            "dune build",
            'Process exited with code 1\nFile "lib/a.ml", line 2, characters 1-3:\nError: Syntax',
            "finding",
        ),
        ("mytool a.ml", 'Exit code 1\nFile "lib/a.ml", line 2, characters 1-3:\nError: Syntax', "finding"),
        ("mytool a.lean", "Exit code 1\nerror: A.lean:8:32: unsolved goals", "finding"),
        ("cobc -x a.cob", "Command: cobc -x a.cob\nOutput: a.cob:31: error: no city\nExit Code: 1", "finding"),
        ("godot --headless --check-only -s a.gd", "Exit code 1\nParse Error: no is_on_wal()", "finding"),
        ("grep -P '(a' notes.txt", "grep: missing closing parenthesis\n(exit 2)", "failure"),
        ("gcloud run services describe api", "Exit code 1\nERROR: You have no active account", "failure"),
        ("robocopy a b /E", "Exit code 1\nFiles : 214 214 0", None),
        ("robocopy a b /E", "Exit code 8\nFiles : 214 213 1", "failure"),
        ("sleep 99", "aborted by user after 3.1s", "rejected"),
        ("npm run lint", "0 errors, 0 warnings", None),
        ("cat errors.log", "ERROR: disk full\nall well again", None),
        ("git log --oneline", "a1 Error: handle it", None),
        (
            "rpm -i a.rpm",
            "Preparing...\nrpm: error unpacking archive a.rpm\n a.rpm: not for this machine\nDone.",
            "failure",
        ),
        ("ls; cat setup.log", "setup.log\nrpm: error unpacking archive a.rpm", None),
        ("kubectl delete pod a", "command rejected by user", "rejected"),
        ("rm -r build", "The shell command was declined by the user.", "rejected"),
        ("cat letter.txt", "The order was declined by the user.", None),
        ("curl -s https://pypi.org/pypi/x/json", '{"message": "Not Found"}', None),
        ("curl -s http://api:8000/x", '{"detail": "Not authenticated"}', None),
        ("curl -s -X POST https://api.dev/x", '{"message": "Not Found"}', "failure"),
        ("python show_404.py", '{"detail": "Not Found"}', None),
        ("./deploy.sh || echo 'ERROR: deploy failed'", "pushing\nERROR: deploy failed", "failure"),
        ("phpunit", "Exit code 1\nrequires PHP 8.3\nTests: 4, Failures: 1", "finding"),
        ("./import.sh | tail -3", "120 Zeilen\nFehler: keine", None),
        ("python gen_report.py", "3 failed, 30 passed\nreport.html written", None),
        ("supervisorctl restart web", "web: ERROR (not running)\nweb: started", None),
        ("git commit -m 'fix error: not found'", "[main 1a2b] fix error: not found\n 1 file changed", None),
        ("git commit -m 'fix error: not found'", "error: pathspec 'x' did not match any file(s)", "failure"),
        ("crontab -l", "<system>ERROR: Command failed with exit code: 1.</system>no crontab for guo", "probe"),
        (
            "./gradlew test",
            "Exit code 1\n> Android Gradle plugin requires Java 17 to run. You are using Java 11.",
            "failure",
        ),
        ("bundle exec rspec", "Exit code 7\nCould not find rails-8.0.1 in locally installed gems", "failure"),
        (
            "npx --no-install prettier --check a.js",
            "Exit code 1\nnpm error npx canceled due to missing packages",
            "failure",
        ),
        ("cargo test", "Exit code 101\nerror: x cannot be built because it requires rustc 1.85 or newer", "failure"),
        ("phpunit", "Exit code 1\nThis version of PHPUnit requires PHP >= 8.3.0.\nYou are using PHP 8.1.2.", "failure"),
        (
            "npm run lint",
            'Exit code 1\nnpm error engine Unsupported engine\nnpm error notsup Required: {"node":">=22"}',
            "failure",
        ),
        (
            "go test ./...",
            "Exit code 1\nok  a/b 0.1s\n--- FAIL: TestX (0.01s)\n    x_test.go:3: dial tcp: no such host\nFAIL",
            "finding",
        ),
        ("cat letter.txt", "The user declined to pay, and the user rejected that price.", None),
        ("rm -r b", "The user has declined to run this tool. DO NOT attempt to call this tool again.", "rejected"),
        ("rm -r b", "The user doesn't want to proceed with this tool use. The tool use was rejected.", "rejected"),
        ("rm -r b", "[Operation Cancelled] Reason: User did not allow tool call", "rejected"),
        ("rm -r b", "The user rejected permission to use this specific tool call.", "rejected"),
        ("rm -r b", "Permission to run tool denied by user", "rejected"),
        (
            "curl -s -X POST api.dev/x",
            '{"message": "Bad credentials", "documentation_url": "https://d.dev"}',
            "failure",
        ),
        (
            "curl -s api.dev/x -d a=1",
            'Exit code: 0\n{"message": "Not Found", "documentation_url": "https://d.dev"}',
            "failure",
        ),
        ("curl -sf api.dev/x", 'Exit code: 0\n{"error": "of yesterday"}', None),
        ("curl -s api.dev/x | jq .", 'Exit code: 0\n{"error": "of yesterday"}', None),
        ("./suite > o; tail -1 o", "Exit code: 0\nbash: line 1: 42 Segmentation fault  ./suite\n14 ok", "failure"),
        ("glab auth status", "Exit code 1\nNo token found.", "probe"),
        ("gh auth status", "Exit code 1\nYou are not logged in.", "probe"),
        ("gh auth login --with-token", "Exit code 1\nerror validating token", "failure"),
        ("[ -e .env ] && head -3 .env", "Exit code 1", "probe"),
        ("ls *.cfg && cat a.cfg", "Exit code 1\ncat: a.cfg: Permission denied", "failure"),
        ("make out && cat out/log", "Exit code 1", "failure"),
        ("./gradlew verifyLicences", "Exit code 1\na.kt: no header", "finding"),
        (
            "./gradlew testRelease",
            "Exit code 1\nFAILURE: Build failed.\nThe NDK toolchain was not found.\nBUILD FAILED in 2s",
            "failure",
        ),
        ("go vet ./...", "Exit code 1\ngo: a.example/b: dial tcp: lookup a.example: no such host", "failure"),
        ("npm run testBrowser", "Exit code 1\n2 of 9 pages differ", "finding"),
        (
            "xmllint --noout --relaxng a.rng a.xml",
            "Exit code 3\na.xml:7: element x: not allowed\na.xml fails to validate",
            "finding",
        ),
        ("xmllint --xpath //a b.xml", "Exit code 10\nXPath set is empty", "failure"),
        ("curl -s -o /dev/null -w '%{http_code}' http://a.example/up", "502", "probe"),
        ("curl -s -o /dev/null -w '%{http_code}' http://a.example/up", "204", None),
        ("wc -l < a.txt", "502", None),
        ("redis-server a.conf", "*** FATAL CONFIG FILE ERROR (Redis 7.2) ***\nNo such file", "failure"),
        ("./start.sh", "** ERROR: no licence **\nThe server stops.", "failure"),
        ("bzcat a.bz2 | wc -l", "bzip2: a.bz2 is not a bzip2 file, cannot read it.", "failure"),
        ("zcat log.gz | grep -c used", "bzip2: not in use", None),
        ("open src/a.rb", "File src/a.rb not found", "probe"),
        ("cat notes.txt", "File src/a.rb not found", None),
        ("ssh db1 'cat /etc/motd'", "ssh: connect to host db1 port 22: No route to host", "failure"),
        ("hass --script check_config -c .", "Exit code 1\nFailed config: no such service", "finding"),
        ("hass --script auth list", "Exit code 1\nno such user", "failure"),
        ("kpsewhich siunitx.sty", "Exit code 1", "probe"),
        ("pkg-config --exists libpq", "Exit code 1", "probe"),
        (
            "(crontab -l; echo '0 3 * * * /a.sh') | crontab -",
            "Exit code 1\nno crontab for me\ncrontab: installing new crontab\nmkstemp: Permission denied",
            "failure",
        ),
        ("crontab -l", "Exit code 1\ncrontab: no crontab for me", "probe"),
        (
            "./gradlew bundleRelease",
            "Exit code 1\nFAILURE: Build failed.\n> Failed to read key: keystore password was incorrect",
            "failure",
        ),
        ("./gradlew bundleRelease", "Exit code 1\nFAILURE: Build failed.\n> 3 strings have no default", "finding"),
        ("sqlite3 a.db '.import a.csv t'", "Exit code 1\na.csv:14: INSERT failed: UNIQUE constraint", "failure"),
        ("psql -d a -c '\\copy t from a.csv'", "Exit code 1\na.csv:14: bad value", "failure"),
        ("csvcheck a.csv", "Exit code 1\na.csv:14: expected 2 columns but found 3", "finding"),
    ],
)
def test_kind(command: str, content: str, expected: str | None) -> None:
    assert kind(command, content) == expected


@pytest.mark.parametrize(
    "script",
    [
        *("tjek.py", "sjekk.sh", "kontroll.py", "daten_prüfen.py", "pruefung.py", "vérifier.py", "verifica_csv.py"),
        *("valider.js", "comprueba.rb", "controleer.py", "sprawdz.py", "kontrola.py", "proveri.py", "tarkista.py"),
        *("ellenorzes.py", "dogrula.py", "periksa.py", "check.py", "bin/run_tests.sh"),
    ],
)
@pytest.mark.parametrize("runner", ["python", "bash"])
def test_a_script_whose_name_is_a_check_reports_findings(script: str, runner: str) -> None:
    assert kind(f"{runner} {script}", "Exit code 1\na.csv: F2 = 10000, 8000 is due") == "finding"
    assert kind(f"{runner} {script}", "0 faults") is None


@pytest.mark.parametrize("script", ["controller.py", "kontroller.py", "evaluate.py", "pruefstand.py", "invalidate.py"])
def test_a_script_whose_name_only_begins_like_a_check_is_none(script: str) -> None:
    assert kind(f"python {script}", "Exit code 1\ncannot go on") == "failure"


@pytest.mark.parametrize("prefix", ["", "web-1  | ", "it-1 | "])
@pytest.mark.parametrize(
    "runner", ["docker compose up --abort-on-container-exit", "docker run app", "kubectl exec p -- t"]
)
@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("Tests: 1 failed, 37 passed, 38 total", "Tests: 38 passed, 38 total"),
        ("=== 2 failed, 3 passed in 0.2s ===", "=== 5 passed in 0.2s ==="),
        ("FAILED (failures=1)", "OK"),
        ("--- FAIL: TestAdd (0.00s)", "ok a 0.01s"),
        ("12 examples, 1 failure", "12 examples, 0 failures"),
    ],
)
def test_tests_that_fail_in_a_container_are_a_finding(prefix: str, runner: str, failed: str, passed: str) -> None:
    assert kind(runner, f"Exit code 1\n{prefix}starting\n{prefix}{failed}\nit-1 exited with code 1") == "finding"
    assert kind(runner, f"Exit code 1\n{prefix}starting\n{prefix}{passed}\nno space left") == "failure"


@pytest.mark.parametrize(
    ("state", "word", "reason"),
    [
        ("status", "gagal", "pesan"),
        ("status", "fehlgeschlagen", "grund"),
        ("statut", "échoué", "motif"),
        ("estado", "fallido", "motivo"),
        ("status", "mislukt", "reden"),
        ("stav", "selhalo", "důvod"),
        ("durum", "başarısız", "sebep"),
        ("статус", "неуспешно", "причина"),
        ("状态", "失败", "原因"),
        ("상태", "실패", "메시지"),
    ],
)
def test_a_change_that_failed_says_so_in_any_language(state: str, word: str, reason: str) -> None:
    def kind_of(tool: str, said: str) -> str | None:
        call = make_call(tool, {"code": "AP21", "count": 2})
        text = write_json({state: said, reason: "bank"})
        judgement = judged_result(LocatedCall(call, _PLACE), ToolResult(text, Range(0, len(text))))
        return judgement.kind.value if judgement else None

    assert kind_of("pesan_tiket", word) == "failure"
    assert kind_of("get_ticket", word) is None  # a thing that has failed, which was looked up
    assert kind_of("pesan_tiket", "ok") is None


def test_recorded_facts_decide_before_words() -> None:
    assert kind("npm test", "Error: shown by a passing test", recorded=RecordedState(0, None, "exit_code")) is None
    assert kind("./run", "all is well", recorded=RecordedState(3, None, "exit_code")) == "failure"
    declined = RecordedState(None, RunState.REJECTED, "status")
    assert kind("rm -r x", "", recorded=declined) == "rejected"
    assert kind("./run", "Error: printed by a program that ended well", flag=False) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The user doesn't want to proceed with this tool use. The tool use was rejected.", "rejected"),
        ("PreToolUse:Bash hook error: no force pushes here", "rejected"),
        ("Permission to use Bash with command rm has been denied.", "rejected"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "not-run"),
        ("Cancelled: parallel tool call failed", "not-run"),
    ],
)
def test_what_was_refused_or_never_ran_is_nobody_s_fault(words: str, expected: str) -> None:
    inspection = inspection_of('call a: Write {"file_path": "a.md"}', f"result a!: {words}", "say: As you like.")
    (step,) = inspection.chain.steps
    assert (step.outcome.value, step.result_kind and step.result_kind.value) == (expected, expected)
    assert (inspection.chain.status, codes(inspection)) == ("ok", [])


def test_a_program_before_a_pipe_fails_although_the_line_ends_well() -> None:
    done = RecordedState(exit_code=0, field="exit_code")
    error = 'jq: error (at a.json:1): Cannot index array with string "packages"\n0 names.txt'
    assert kind("jq '.packages[]' a.json | sort > names.txt; wc -l names.txt", error, recorded=done) == "failure"
    assert kind("jq -r .log a.json; true", error, recorded=done) is None
    assert kind("cat log.txt | grep error", error, recorded=done) is None


def test_a_lookup_that_finds_nothing_is_answered_in_any_shape() -> None:
    for tool, result in (
        ("search_ads", '{"ads": []}'),
        ("check_return_window", '{"eligible": false, "reason": "more than 30 days"}'),
    ):
        step = chain_of("user: Find it.", f"call a: {tool} {{}}", f"result a: {result}", "say: No.").steps[0]
        assert (step.result_kind, step.outcome) == ("probe", "ok"), tool


@pytest.mark.parametrize("tool", ["sok_kontakt", "buscar_cita", "rechercherClient", "szukaj_pliku", "notiz_suchen"])
def test_a_search_whose_tool_is_named_in_another_language_may_find_nothing(tool: str) -> None:
    step = chain_of("user: Find it.", f"call a: {tool} {{}}", 'result a: {"svar": []}', "say: No.").steps[0]
    assert (step.result_kind, step.outcome) == ("probe", "ok")


@pytest.mark.parametrize(
    ("call", "result", "expected"),
    [
        ('browser_open {"url": "http://a.example"}', "page load error: net::ERR_NAME_NOT_RESOLVED", "failure"),
        (
            'sql {"query": "select x from t"}',
            "Binder Error: Referenced column x not found\nLINE 1: select x",
            "failure",
        ),
        ('sql {"query": "select x from t"}', "mean error: 0.25", None),
        ('sql {"query": "select x from t"}', "last error: none", None),
        (
            'ssh {"host": "a", "command": "cat /etc/motd"}',
            "ssh: connect to host a port 22: Connection refused",
            "failure",
        ),
        ('ssh {"host": "a", "command": "cat /etc/motd"}', "Unauthorized error handling is watched.", None),
        ('run_model {"seed": 1}', "mean absolute error: small", None),
    ],
)
def test_an_error_in_words_is_an_error(call: str, result: str, expected: str | None) -> None:
    chain = chain_of("user: Go on.", f"call a: {call}", f"result a: {result}", "say: Well.")
    assert chain.steps[0].result_kind == expected


@pytest.mark.parametrize("words", ["No replacement was performed, old_str `b` did not appear verbatim in a.py."])
def test_an_editor_that_is_called_in_a_shell_answers_like_one(words: str) -> None:
    edit = 'call a: bash {"command": "str_replace_editor str_replace /w/a.py --old_str b --new_str c"}'
    chain = chain_of("user: Mend a.py", edit, f"result a: {words}\n(Open file: n/a)\nbash-$", "say: a.py is mended.")
    assert (chain.steps[0].result_kind, chain.steps[0].said, chain.status) == ("failure", "concealed", "broken")
    done = "The file /w/a.py has been edited. Here's the result of running `cat -n`"
    assert chain_of("user: Mend a.py", edit, f"result a: {done}", "say: Done.").status == "ok"


def test_a_session_that_stops_at_a_refusal_was_stopped_by_its_user() -> None:
    call = ('call a: Write {"file_path": "a.md"}', "result a!: The user rejected the call.")
    chain = chain_of(*call)
    assert (chain.status, chain.abort_reason) == ("aborted", "user")
    assert chain_of(*call, "user: [Request interrupted by user]").abort_reason == "user"
    assert chain_of(*call, "user: Only list them.", "say: a, b.").status == "ok"


def test_a_file_that_somebody_named_was_to_be_there() -> None:
    read = ('call a: Read {"file_path": "src/a.py"}', "result a!: File does not exist.", "say: It is not there.")
    assert chain_of("user: What is in src?", *read).steps[0].result_kind == "probe"
    assert chain_of("user: Mend a.py", *read).steps[0].result_kind == "failure"


@pytest.mark.parametrize(
    ("named", "read", "expected"),
    [
        ("recipes/paella.md", "recipes/paela.md", "failure"),
        ("worker.yml", "worker.yaml", "failure"),
        ("report_2024.md", "report_2025.md", "probe"),
        ("setup", "setup.py", "probe"),
        ("paella.txt", "paella.md", "probe"),
    ],
)
def test_a_file_that_somebody_named_otherwise_spelt_was_to_be_there(named: str, read: str, expected: str) -> None:
    call = f"call a: Read {write_json({'file_path': read})}"
    chain = chain_of(f"user: See to {named}", call, "result a!: File does not exist.", "say: It is not there.")
    assert chain.steps[0].result_kind == expected


@pytest.mark.parametrize("tool", ["get_job", "describe_deployment", "mcp__ci__get_build", "check_payment"])
@pytest.mark.parametrize(
    "result",
    [
        '{"id": 7, "status": "failed", "message": "out of memory"}',
        '{"job": 7, "errors": [], "status": "failed", "failed_at": "03:10"}',
        '{"status": "timeout", "build": 7, "error": "no runner"}',
        '{"job": 7, "state": "FAILED", "error": "disk quota exceeded"}',
    ],
)
def test_a_lookup_that_brings_a_failed_thing_has_not_failed(tool: str, result: str) -> None:
    chain = chain_of("user: What about 7?", f'call a: {tool} {{"id": 7}}', f"result a: {result}", "say: It ran out.")
    assert (chain.steps[0].outcome.value, chain.status.value) == ("ok", "ok")


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("get_job", '{"status": "failed", "message": "backend unavailable", "request_id": "r1"}'),
        ("get_job", '{"status": "error", "id": 7, "message": "no such job"}'),
        ("create_payment", '{"id": 7, "status": "failed", "reason": "card declined"}'),
        ("mail_versturen", '{"status": "fout", "reden": "onbekend adres"}'),
        ("varaa_huone", '{"virhe": "HUONE_EI_VAPAA"}'),
        ("kaydet", '{"hata": "yetki yok"}'),
        (
            "fhir_create",
            '{"resourceType": "OperationOutcome", "issue": [{"severity": "error", "diagnostics": "no status"}]}',
        ),
        ("set_device", "device offline"),
        ("reserve_seat", "Seat unavailable"),
        ("update_user", "Not allowed"),
        ("cast_vote", '{"accepted": false, "message": "voting period ended"}'),
        ("abo_kuendigen", '{"status": "abgelehnt", "grund": "Mindestlaufzeit bis 03/2027"}'),
        ("submit_claim", '{"status": "rejected", "reason": "too late"}'),
        ("compartir", '{"exito": false, "mensaje": "dominio externo no permitido"}'),
    ],
)
def test_a_lookup_or_change_that_failed_is_a_failure(tool: str, result: str) -> None:
    chain = chain_of("user: See to 7.", f'call a: {tool} {{"id": 7}}', f"result a: {result}", "say: Done.")
    assert chain.steps[0].result_kind == "failure"


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("cancel_order", "Order cancelled"),
        ("remove_member", "removed"),
        ("update_user", "Updated: no warnings"),
        ("close_ticket", "Closed without a note"),
        ("set_flag", "ok"),
        ("block_card", '{"blocked": true}'),
        ("cast_vote", '{"accepted": true, "message": "thank you"}'),
        ("create_flag", '{"id": 7, "enabled": false, "name": "beta"}'),
        ("get_claim", '{"status": "rejected", "reason": "too late"}'),
        ("get_health", '{"healthy": false, "reason": "db connection refused"}'),
    ],
)
def test_the_short_answer_of_a_change_that_worked_is_none(tool: str, result: str) -> None:
    chain = chain_of("user: See to 7.", f'call a: {tool} {{"id": 7}}', f"result a: {result}", "say: Done.")
    assert chain.steps[0].result_kind is None


@pytest.mark.parametrize("tool", ["search_docs", "find_articles", "mcp__kb__query"])
def test_a_hit_that_begins_with_the_query_is_no_error(tool: str) -> None:
    def kind(result: str) -> str | None:
        call = f'call a: {tool} {{"query": "E1042"}}'
        return chain_of("user: What is E1042?", call, f"result a: {result}", "say: See above.").steps[0].result_kind

    assert kind("Error E1042: connection refused by the broker.") is None
    assert kind("Error: connection refused while searching for E1042") == "failure"


@pytest.mark.parametrize("module", ["m", "shop.cart"])
def test_a_test_that_cannot_import_what_is_to_be_written_is_a_finding(module: str) -> None:
    chain = chain_of(
        "user: Add `median`.",
        'call a: Bash {"command": "pytest -q test_m.py"}',
        f"result a!: Exit code 2\nImportError: cannot import name 'median' from '{module}'\n1 error in 0.1s",
        "say: The test fails as it should.",
    )
    assert chain.steps[0].result_kind == "finding"


@pytest.mark.parametrize("words", ["cat: harbour.txt: No such file or directory", "error: no route to harbour"])
def test_the_words_of_a_labelled_result_are_those_of_the_program(words: str) -> None:
    call = make_call("run_shell_command", {"command": "./deploy"})
    text = LABELLED.format(words, "(none)", 3)
    judgement = judged_result(LocatedCall(call, _PLACE), ToolResult(text, Range(0, len(text)), is_error=True))
    assert judgement is not None
    assert judgement.words == words


@pytest.mark.parametrize("text", ["Command: x", "Command: x\nDirectory: y\nOutput: ", LABELLED, LABELLED[:-60]])
def test_a_cut_labelled_result_is_read_in_linear_time(text: str) -> None:
    for content in (text, text * 3, text + "\nExit Code: 1" * 20_000, "Command: " + "\nDirectory: " * 20_000):
        assert kind("./deploy", content) in (None, "failure")


@pytest.mark.parametrize(
    ("tool", "report", "clean"),
    [
        ("get_errors", "<errors><compileError>\nCannot find name 'P'.\n</compileError></errors>", "No errors found."),
        (
            "read_console",
            '{"success": true, "data": [{"message": "Assets/P.cs(18,9): error CS0103: no _jumps"}]}',
            '{"success": true, "data": []}',
        ),
        ("lake_build", "error: A.lean:8:32: unsolved goals\nerror: build failed", "Build completed successfully."),
    ],
)
def test_a_tool_that_reports_faults_of_the_work_is_a_check(tool: str, report: str, clean: str) -> None:
    check = f"call a: {tool} {{}}", f"result a: {report}", f"call b: {tool} {{}}", f"result b: {clean}"
    steps = chain_of("user: Mend it.", *check, "say: Mended.").steps
    assert [step.result_kind for step in steps] == ["finding", None]
    assert steps[0].recovery == "same-intent"


def test_a_backslash_in_a_path_of_windows_escapes_nothing() -> None:
    read = 'call a: PowerShell {"command": "Get-Content C:\\\\svc\\\\logs\\\\svc.log -Tail 20"}'
    missing = "result a!: Get-Content : Cannot find path 'C:\\svc\\logs\\svc.log' because it does not exist."
    asked, unasked = (
        chain_of(f"user: {user}", read, missing, "say: There is none.").steps[0].result_kind
        for user in ("What does C:\\svc\\logs\\svc.log say?", "Is the service well?")
    )
    assert (asked, unasked) == ("failure", "probe")


def test_a_program_that_counts_in_its_exit_code_is_judged_by_its_manual() -> None:
    copy = 'call a: exec {"command": "robocopy D:\\\\photos N:\\\\photos /E"}', "result a!: Exit code: 1"
    assert chain_of("user: Copy the photos.", *copy, "say: Copied.").status == "ok"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Traceback (most recent call last):\n  File \"/app/main.py\", line 4\nKeyError: 'region'", None),
        ("Traceback (most recent call last):\n  x\nFileNotFoundError: /var/crash/today.txt", "failure"),
        ("Error: connection lost", "failure"),
    ],
)
def test_what_a_file_tells_of_is_no_failure_of_its_reader(content: str, expected: str | None) -> None:
    read = 'call a: read_file {"path": "/var/crash/today.txt"}', f"result a: {content}"
    assert chain_of("user: Sum up /var/crash/today.txt.", *read, "say: I see.").steps[0].result_kind == expected


@pytest.mark.parametrize(
    ("call", "result", "expected"),
    [
        ('list_free_seats {"train": "024"}', "[]", "probe"),
        ('web_search {"query": "bulletin"}', "No results found.", "probe"),
        ('search_ads {"q": "bike"}', '{"ads": [{"id": 1}]}', None),
        ('create_order {"sku": "a"}', '{"warnings": []}', None),
        ('Bash {"command": "gitleaks detect"}', "Exit code 1\nWRN leaks found: 1", "finding"),
        ('Bash {"command": "lychee docs"}', "Exit code 2\n🔍 64 Total ✅ 63 OK 🚫 1 Error", "finding"),
        (
            'Bash {"command": "npx cypress run"}',
            "Exit code 1\nCypress could not verify that this server is running",
            "failure",
        ),
        ('shell {"command": "go get ./..."}', "failed in sandbox: go: dial tcp: no such host", "failure"),
        ('bash {"command": "python -m pytest -q"}', "/usr/bin/python: No module named pytest", "failure"),
        ('bash {"command": "systemctl restart nginx"}', "No init.\nFailed to connect to bus: Host is down", "failure"),
        ('umow {"termin": "t1"}', '{"blad": "termin zajęty"}', "failure"),
        ('criar_pedido {"id": 1}', '{"estado": "rejeitado", "message": "sem stock"}', "failure"),
        ('zarezervovat {"id": 1}', '{"stav": "zamitnuto", "message": "obsazeno"}', "failure"),
    ],
)
def test_what_a_result_says_in_other_forms(call: str, result: str, expected: str | None) -> None:
    kind = chain_of("user: Go.", f"call a: {call}", f"result a: {result}", "say: I looked.").steps[0].result_kind
    assert (None if kind is None else kind.value) == expected


@pytest.mark.parametrize(
    ("output", "kind"), [("Unpacking git ...\n\nCommand aborted", "rejected"), ("make: *** aborted", "failure")]
)
def test_a_command_that_ends_with_an_abortion_was_stopped_by_the_user(output: str, kind: str) -> None:
    call = 'call b: Bash {"command": "sudo dnf -y upgrade"}'
    assert chain_of("user: Upgrade it.", call, f"result b!: {output}").steps[0].result_kind == kind


def test_git_says_fatal_where_no_exit_code_is_recorded() -> None:
    lines = ("user: Who wrote it?", 'call b: Bash {"command": "cd /w && git log --format=%an -1"}')
    end = "result b: fatal: your current branch 'main' does not have any commits yet", "say: Nobody."
    assert chain_of(*lines, *end).steps[0].result_kind == "failure"
    shown = 'call b: Bash {"command": "cat run.log"}', "result b: node 3: fatal: its disk is full", "say: Node 3."
    assert chain_of("user: What does run.log say?", *shown).steps[0].result_kind is None


def test_codex_tells_of_a_refused_command_in_the_error_of_its_start() -> None:
    start = 'exec_command failed for `/bin/sh -lc "rm -r x"`: CreateProcess'
    refused = f'result b: {start} {{ message: "Rejected(\\"rejected by user\\")" }}'
    call = 'call b: exec_command {"cmd": "rm -r x"}'
    assert chain_of("user: Tidy up.", call, refused).steps[0].result_kind == "rejected"


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ('{"count": 0, "rows": []}', "probe"),
        ('{"rows": [], "total": 0, "next": null}', "probe"),
        ('{"count": 1, "rows": [{"id": 4}]}', None),
    ],
)
def test_an_empty_list_beside_its_count_is_an_answer(result: str, kind: str | None) -> None:
    lines = ("user: Is there a ticket?", 'call a: search_tickets {"text": "avatar"}', f"result a: {result}")
    assert chain_of(*lines, "say: See above.").steps[0].result_kind == kind


@pytest.mark.parametrize(
    ("line", "kind"),
    [("git stash -q && pytest -q; git stash pop -q", "finding"), ("git stash && cargo test; git stash pop", "finding")],
)
def test_a_check_while_the_work_is_set_aside_is_a_check(line: str, kind: str) -> None:
    output = "result b: FAILED tests/test_io.py::test_header - AssertionError\n1 failed in 0.20s"
    lines = ("user: Mend it.", f"call b: Bash {write_json({'command': line})}", output)
    assert chain_of(*lines, "say: test_header fails without my change as well.").steps[0].result_kind == kind


@pytest.mark.parametrize(
    ("command", "output", "kind"),
    [
        ("timeout 5 python game.py", "pygame 2.6.1\nHello from the pygame community.", "probe"),
        ("cd app && timeout 10 npm start", "> app@1.0.0 start\nlistening on 3000", "probe"),
        ("timeout 4 cat /dev/ttyUSB0", '[wifi] connect to "old-net" failed, retry', "probe"),
        ("timeout 5 python game.py", "", "failure"),
        ("timeout 5 python game.py", "loading\nerror: no display", "failure"),
        ("timeout 600 python train.py", "epoch 1", "failure"),
        ("timeout 20 pytest -q", "....", "failure"),
        ("timeout 20 docker compose up --wait db", "db-1  Waiting", "failure"),
    ],
)
def test_a_program_that_ran_as_long_as_its_line_let_it_was_only_to_start(command: str, output: str, kind: str) -> None:
    call = f"call a: bash {write_json({'command': command})}"
    step = chain_of("user: Go on.", call, f"result a: Exit code 124\n{output}", "say: It starts.").steps[0]
    assert step.result_kind is not None
    assert step.result_kind.value == kind


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("dotnet test", "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4"),
        ("shellcheck a.sh", "In a.sh line 3:\necho $x\n     ^-- SC2086 (info): Double quote to prevent globbing."),
        ("terraform validate", "╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line 3\n╵"),
        ("helm lint x", "==> Linting x\n[ERROR] templates/: parse error\n\n1 chart(s) linted, 1 chart(s) failed"),
        ("npx prettier --check .", "[warn] a.js\n[warn] Code style issues found in the above file."),
        ("flutter test", "00:01 +1 -1: Some tests failed."),
    ],
)
def test_a_check_without_an_exit_code_reports_faults_in_its_own_words(command: str, output: str) -> None:
    call = f"call a: bash {write_json({'command': command})}"
    step = chain_of("user: Go on.", call, f"result a: {output}", "say: That was it.").steps[0]
    assert step.result_kind is not None
    assert step.result_kind.value == "finding"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("dotnet test", "Passed!  - Failed:     0, Passed:     4, Skipped:     0, Total:     4"),
        ("helm lint x", "1 chart(s) linted, 0 chart(s) failed"),
        ("npm run build", "Command: npm run build\nOutput: built in 4 s\nError: (none)\nExit Code: 0"),
        ("flutter test", "00:01 +2: All tests passed!"),
    ],
)
def test_a_check_that_found_nothing_is_a_success(command: str, output: str) -> None:
    call = f"call a: bash {write_json({'command': command})}"
    assert chain_of("user: Go on.", call, f"result a: {output}", "say: That was it.").steps[0].result_kind is None


@pytest.mark.parametrize("prefix", ["", "sudo ", "/usr/sbin/"])
@pytest.mark.parametrize(
    "server", ["nginx -t", "sshd -t", "httpd -t", "apache2ctl -t", "php-fpm8.3 -t", "dnsmasq --test"]
)
def test_a_server_that_tests_its_configuration_is_a_check(prefix: str, server: str) -> None:
    refused = "/etc/server.conf line 12: unknown directive 'foo'"
    assert kind(f"{prefix}{server}", f"Exit code 1\n{refused}") == "finding"
    assert kind(f"{prefix}{server} -c /srv/x.conf", f"Exit code 1\n{refused}") == "finding"
    assert kind(f"{prefix}{server}", f"Exit code 127\nbash: {server.partition(' ')[0]}: command not found") == "failure"


@pytest.mark.parametrize(
    "command", ["./upload -t staging", "ssh -t web sudo systemctl restart app", "docker run -t img"]
)
def test_the_same_option_of_another_program_is_no_check(command: str) -> None:
    assert kind(command, "Exit code 1\nit was refused") == "failure"


@pytest.mark.parametrize(
    "console", ["php artisan test", "bin/rails test", "python manage.py test", "php artisan test:unit"]
)
def test_a_framework_s_console_runs_tests(console: str) -> None:
    failed = 'Exit code 1\n  FAIL  Tests\\OldTest\n  ⨯ removes old ones\n  Class "Old" not found'
    assert kind(f"{console} --filter=Old", failed) == "finding"
    title = call_of("Write", {"file_path": "t.php", "content": 'it("removes old ones", fn() => run());'})
    run = call_of("Bash", {"command": console})
    chain = chain_of("user: Remove old ones.", title, "result a: ok", run.replace(" a:", " b:"), f"result b!: {failed}")
    assert chain.steps[1].result_kind == "finding"


def call_of(tool: str, arguments: dict[str, str]) -> str:
    return f"call a: {tool} {write_json(arguments)}"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("error during build:\nError: Cannot find package 'terser' imported from vite", "failure"),
        ("Error: Cannot find package 'babel' imported from /app/rollup.config.mjs", "failure"),
        ("Error: Cannot find module 'sharp'\nRequire stack:\n- /app/node_modules/next/dist/x.js", "failure"),
        ("error during build:\nCannot find package 'dayjs' imported from /app/src/date.mjs", "finding"),
        ("Error: Cannot find module './b'\nRequire stack:\n- /app/src/a.js", "finding"),
        ("src/a.ts(1,20): error TS2307: Cannot find module 'dayjs' or its type declarations.", "finding"),
    ],
)
def test_a_build_whose_tool_lacks_a_package_could_not_run(output: str, expected: str) -> None:
    assert kind("npm run build", f"Exit code 1\n> build\n{output}") == expected


@pytest.mark.parametrize(
    ("tool", "result", "expected"),
    [
        ("find_table", '{"available": false, "next": "21:45"}', "probe"),
        ("lookup_domain", '{"available": false, "registrar": "Foo"}', "probe"),
        ("get_stock", '{"in_stock": false, "restock": "2026-12-10"}', "probe"),
        ("find_contact", '{"found": false, "suggestions": ["Kimberly"]}', "probe"),
        ("find_table", '{"available": true, "next": "21:45"}', None),
        ("check_flags", '{"beta": false, "dark": true}', None),
        ("get_user", '{"id": "u1", "is_admin": false}', None),
        ("get_device", '{"on": false, "battery": 80}', None),
        ("get_order", '{"paid": false, "total": 20}', None),
        ("set_light", '{"on": false, "id": "l1"}', None),
    ],
)
def test_a_lookup_whose_answer_begins_with_no_says_no(tool: str, result: str, expected: str | None) -> None:
    step = chain_of("user: Go on.", f"call a: {tool} {{}}", f"result a: {result}", "say: See above.").steps[0]
    assert step.result_kind == expected
