"""The first and the last lines of a result: where they are, wherever lines end, and what they say of a program."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of
from tests.chain.test_result_kinds import kind
from weaklink.inspector.chain.failure_words import HEAD, first_line, last_line
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import RecordedState

TEXTS = st.text("ab \t\n\r\x0b\x0c\x1c\x85\u2028é", max_size=40)


@given(
    st.tuples(TEXTS, TEXTS, st.sampled_from((0, 1, 250, 2_100))).map(
        lambda pieces: pieces[0] + "x" * pieces[2] + pieces[1]
    )
)
def test_the_ends_are_those_of_the_lines(text: str) -> None:
    head, tail = text[:HEAD].splitlines(), text[-HEAD:].splitlines()
    assert first_line(text) == next((line.strip() for line in head if line.strip()), "")
    assert last_line(text) == next((line.strip() for line in reversed(tail) if line.strip()), "")


_FAILED_AT_END = (
    ("pandoc x.md -o x.pdf", "pdflatex not found. Please select a different --pdf-engine or install pdflatex"),
    ("pandoc x.md -o x.docx", "pandoc: x.md: withBinaryFile: does not exist (No such file or directory)"),
    (
        "yarn install",
        (
            'error Couldn\'t find package "x@^9" required by "y" on the "npm" registry.\n'
            "info Visit https://yarnpkg.com for documentation"
        ),
    ),
    ("rails db:migrate", "rails aborted!\nActiveRecord::NoDatabaseError: We could not find your database: app_dev"),
    (
        "composer install",
        (
            "Your lock file does not contain a compatible set of packages. Please run composer update.\n\n"
            "  Problem 1\n    - x requires php ^8.3"
        ),
    ),
    ("dotnet run", "Unhandled exception. System.IO.FileNotFoundException: Could not find file '/x'."),
    (
        "dotnet restore",
        "error NU1101: Unable to find package X. No packages exist with this id in source(s): nuget.org",
    ),
    ("sqlite3 a.db 'insert into t values (1)'", "Error: stepping, UNIQUE constraint failed: t.id (19)"),
    ("sqlite3 a.db 'insert into t values (1)'", "Runtime error near line 1: UNIQUE constraint failed: t.id (19)"),
    ("redis-cli set a b", "Could not connect to Redis at 127.0.0.1:6379: Connection refused"),
    ("redis-cli set a b", "(error) READONLY You can't write against a read only replica."),
    ("brew install x", 'Warning: No available formula with the name "x". Did you mean y?'),
    ("choco install x", "x not installed. The package was not found with the source(s) listed."),
    ("winget install x", "No package found matching input criteria."),
    (
        "wget https://x/y.zip",
        (
            "--2026-11-01 10:00:00--  https://x/y.zip\n"
            "HTTP request sent, awaiting response... 404 Not Found\n2026-11-01 10:00:01 ERROR 404: Not Found."
        ),
    ),
    ("crontab a.txt", '"a.txt":3: bad minute\nerrors in crontab file, can\'t install.'),
    ("supervisorctl restart x", "x: ERROR (no such process)"),
    ("sqlplus a/b@c", "ORA-01017: invalid username/password; logon denied"),
    ("dbt run", "Completed with 1 error and 0 warnings:\n\n  Database Error in model x"),
    (
        "vagrant up",
        (
            "The provider 'virtualbox' that was requested to back the machine\n"
            "'default' is reporting that it isn't usable on this system."
        ),
    ),
    ("packer build a.hcl", "==> Builds finished but no artifacts were created."),
    ("cdk deploy", " ❌  AppStack failed: Error: The stack named AppStack failed creation"),
    ("serverless deploy", "✖ ServerlessError: Cannot resolve serverless.yml"),
    ("jekyll build", "  Liquid Exception: Liquid syntax error (line 3): Unknown tag 'x' in /a.md"),
    ("sphinx-build . out", "Extension error:\nCould not import extension x (exception: No module named 'x')"),
    ("pod install", '[!] CocoaPods could not find compatible versions for pod "X":'),
    ("fastlane beta", "[!] Error uploading ipa file"),
    ("python setup.py build_ext", "running build_ext\nerror: command '/usr/bin/gcc' failed with exit code 1"),
    ("git push", "To host.example:a/b\n ! [rejected] main -> main (fetch first)\nerror: failed to push some refs"),
    (
        "terraform apply",
        "aws_s3_bucket.b: Creating...\n\nError: creating S3 Bucket: AccessDenied\n\n  on main.tf line 1",
    ),
    ("cargo lint", "error: no such command: `lint`\n\nView all installed commands with `cargo --list`"),
    ("npm ci", "npm ERR! code ENOENT\nnpm ERR! missing: x"),
    ("ansible-playbook site.yml", "PLAY RECAP ****\nweb1 : ok=3 changed=1 unreachable=0 failed=1"),
    ("docker build .", '#5 ERROR: process "x" did not complete\n------\nERROR: failed to solve: exit code: 1'),
    ("git merge dev", "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts and commit."),
    ("git commit -m x", "On branch main\n  modified: a.py\n\nno changes added to commit"),
    (
        "npm run deploy",
        "> node d.js\n\nError: Cannot find module '/app/d.js'\n    at x\n  code: 'X',\n}\n\nNode.js v20.14.0",
    ),
    ("java -jar a.jar", 'Exception in thread "main" java.lang.NullPointerException: x\n\tat A.main(A.java:3)'),
    (
        "docker compose up -d",
        "[+] Running 1/2\n ✔ Network x  Created\nError response from daemon: port is already allocated",
    ),
    ("kubectl apply -f a.yaml", 'service/x created\nError from server (Forbidden): error when creating "a.yaml"'),
    ("systemctl restart nginx", 'Job for nginx.service failed because the control process exited.\nSee "journalctl".'),
    ("psql -f m.sql", 'BEGIN\npsql:m.sql:3: ERROR:  column "x" does not exist\nROLLBACK'),
    ("patch -p1 < a.diff", "patching file a.py\nHunk #1 FAILED at 12.\n1 out of 1 hunk FAILED -- saving rejects"),
    ("alembic upgrade head", "INFO  [alembic] Context\nFAILED: Can't locate revision identified by 'abc'"),
    ("uv sync", "  × No solution found when resolving dependencies:\n  ╰─▶ Because only foo<2 is available"),
    ("docker push r.test/a", "The push refers to repository [r.test/a]\nunauthorized: authentication required"),
    ("docker compose exec -T db pg_dump a", 'service "db" is not running'),
    ("scp a.gz nas:/b/", "ssh: connect to host nas port 22: No route to host\nscp: Connection closed"),
    ("ssh web1 'sudo apt-get install -y foo'", "Reading package lists...\nE: Unable to locate package foo"),
    ("ssh web1 systemctl reload nginx", 'Job for nginx.service failed.\nSee "systemctl status nginx.service".'),
    ("flutter pub get", "Because app depends on intl ^0.20.0, version solving failed."),
    ("ogr2ogr a.json b.zip", "ERROR 4: Unable to open b.shp.\nERROR 1: Unable to open datasource `b.zip'"),
    ("convert a.heic a.jpg", "convert-im6.q16: no decode delegate for `HEIC' @ error/constitute.c/ReadImage/581."),
    ("ffmpeg -i a.mkv b.mp4", "  Metadata:\nUnknown encoder 'libx265'\nConversion failed!"),
    ("make release", "Makefile:12: *** missing separator.  Stop."),
    ("certbot renew", "Challenge failed for domain a.example\n1 renew failure(s), 0 parse failure(s)"),
    ("gh pr comment 2 --body x", "GraphQL: Resource not accessible by integration (addComment)"),
    ("git commit -m x", "ruff............Passed\nisort............Failed\n- hook id: isort\n\nFixing a.py"),
    ("git commit -m x", "husky - pre-commit script failed (code 1)"),
    ("cargo run", "thread 'main' panicked at src/png.rs:22:9:\nindex out of bounds: the len is 512"),
    ("python bench.py", "fast: 40.8 s\nKilled"),
    ("python load.py a.xml", 'psycopg.errors.InvalidTextRepresentation: invalid input syntax: "c. 1780"'),
    ("python run.py", "step 1\nKeyError: 'temp'"),
    ("bash get.sh", "Resolving a.example... failed.\nwget: unable to resolve host address 'a.example'"),
    ("Rscript app.R", "Error in library(leaflet) : there is no package\nCalls: source\nExecution halted"),
    ("rclone copy a b:c", "2026/06/01 09:00:02 ERROR : Failed to copy: invalid_grant"),
    ("./deploy.sh prod", "Помилка: немає доступу до кластера (401)"),
    ("./put.sh a", "kopiere a\nFehler: kein Platz"),
    ("npm run deploy", "> netlify deploy --prod\n\n\u203a   Error: JSONHTTPError: Unauthorized"),
    ("npx prettier --write LICENSE", '[error] No parser could be inferred for file "LICENSE".'),
    ("python manage.py check", "SystemCheckError: System check identified some issues:\n\nERRORS:\n?: (urls.E007) no"),
    ("mkdocs build --strict", "WARNING -  a link\n\nAborted with 1 warnings in strict mode!"),
    ("yamllint .", "./a.yml\n  9:81      error    line too long (96 > 80 characters)"),
    ("php bin/phpunit", "..E.\n\nERRORS!\nTests: 4, Assertions: 9, Errors: 1."),
    ("dbt test", "12:05:21  Done. PASS=5 WARN=0 ERROR=1 SKIP=0 TOTAL=6"),
    ("docker compose run --rm tests", "FAILED tests/a.py::test_x\n1 failed, 44 passed in 12.9s"),
    ("cmake -B build", "CMake Error at CMakeLists.txt:9 (find_package):\n  Could not find a package"),
    ("./gradlew assemble", "> Task :compileJava\n\nFAILURE: Build failed with an exception.\n\n* Try: --info"),
)
_WORKED = (
    ("git push", "To github.com:a/b.git\n   1a2b..3c4d  main -> main"),
    (
        "npm install",
        (
            "added 12 packages, and audited 300 packages in 3s\n\n2 moderate severity vulnerabilities\n"
            "\nTo address all issues, run:\n  npm audit fix"
        ),
    ),
    (
        "pip install x",
        "WARNING: Running pip as the 'root' user can result in broken permissions\nSuccessfully installed x-1.0",
    ),
    ("docker compose up -d", " Container x-db-1  Started\n Container x-web-1  Started"),
    ("kubectl apply -f a", "deployment.apps/x configured\nWarning: policy/v1beta1 PodDisruptionBudget is deprecated"),
    ("terraform apply", "Apply complete! Resources: 1 added, 0 changed, 0 destroyed."),
    ("cargo build", "warning: unused variable: `x`\n    Finished `dev` profile in 2.3s"),
    ("make", "cc -c a.c\na.c:3: warning: unused variable 'error'"),
    (
        "ffmpeg -i a b",
        (
            "frame=  100 fps=25 q=28.0 Lsize= 100kB time=00:00:04.00 bitrate= 200.0kbits/s speed=1.2x\n"
            "video:80kB audio:20kB"
        ),
    ),
    ("rsync -a a b", "sending incremental file list\nerrors.log\nsent 100 bytes  received 20 bytes"),
    ("psql -c 'delete from t'", "DELETE 3"),
    ("python train.py", "epoch 1 error: 0.23\nepoch 2 error: 0.12"),
    ("node build.js", "0 errors, 2 warnings\nBuild finished"),
    ("gh pr create", "https://github.com/a/b/pull/3"),
    ("brew install x", "Warning: x 1.2 is already installed and up-to-date."),
    ("mvn package", "[WARNING] deprecated\n[INFO] BUILD SUCCESS"),
    ("git commit -m 'fix error: not found'", "[main 1a2b] fix error: not found\n 1 file changed"),
    ("curl -s https://x/api/errors", '[{"id":1,"error":"timeout"}]'),
    ("wget https://x/y", "2026-11-01 10:00:01 (3 MB/s) - ‘y’ saved [100/100]"),
    ("unzip a.zip", "Archive:  a.zip\n  inflating: error.txt"),
    ("git merge x", "Auto-merging a.py\nMerge made by the 'ort' strategy."),
    ("git stash pop", "On branch main\nDropped refs/stash@{0}"),
    ("poetry install", "Installing dependencies from lock file\n\nNo dependencies to install or update"),
    ("dbt run", "Completed successfully\n\nDone. PASS=3 WARN=0 ERROR=0 SKIP=0 TOTAL=3"),
    ("ansible-playbook a", "web1 : ok=3 changed=1 unreachable=0 failed=0 skipped=0"),
    ("certbot renew", "Congratulations, all renewals succeeded"),
    ("mkdocs build", "INFO - Documentation built in 0.50 seconds"),
    ("pg_restore -d x a", 'pg_restore: processing data for table "t"'),
    ("sqlite3 a.db .schema", "CREATE TABLE errors (id int, error text);"),
    ("cat build.log", "cc -c a.c\nerror: unknown type name"),
    ("python eval.py", "epoch 3\nmean error: 0.23\nerror: 0.19"),
    ("./sync-all", "41 files\nerror: none"),
    ("python report.py", "Error rate: 0.4 %\nErrors: 0\nFailed: 0"),
    ("npm ci", "added 120 packages in 3s\n\nfound 0 vulnerabilities"),
    ("make", "cc -Wall -Werror -c errors.c -o errors.o\ncc -o app errors.o"),
    ("git commit -m x", "[main a1b2c3] fix error: handling\n 1 file changed, 2 insertions(+)"),
    ("ansible-playbook site.yml", "PLAY RECAP ****\nweb1 : ok=3 changed=1 unreachable=0 failed=0"),
    (
        "./import.sh users.csv",
        "reading users.csv\nerror: line 17 has no e-mail, skipped\nimported 1,204 of 1,206 users\ndone",
    ),
    (
        "npm run check:all",
        "\n> mocha\n\nError: bad password (expected by the test)\n ✔ refuses a bad password\n 2 passing",
    ),
    ("git stash pop", 'On branch main\n  modified: a.py\n\nno changes added to commit (use "git add")\nDropped a1b2c3'),
    ("sed -i s/x/y/ theme.ts && cat theme.ts", "export default {\n  error: '#ff0000',\n}"),
    ("./rebuild.sh", "Passed: 12\nFailed: none\nDone"),
    ("./env.sh", "Node.js v20.11.1\nnpm 10.2.4\nReady."),
    ("python constants.py", "pi: 3.14159\ne: 2.71828"),
    ("./start.sh", "redis: could not connect, retry in 1s\nredis: connected\nserver ready"),
    ("./scan.sh", "warning  3\nerror  12"),
    ("apt-get install -y jq", "E: Could not get lock, retrying\nSetting up jq (1.7.1-3) ..."),
    ("docker push r.test/a", "The push refers to repository [r.test/a]\n1.0: digest: sha256:ab12 size: 1573"),
    ("ssh web1 'tail -3 /var/log/a.log'", "10:01 started\nE: a message of the log"),
    ("flutter pub get", "Resolving dependencies...\nGot dependencies!\n3 packages have newer versions"),
    ("ffmpeg -i a.mkv b.mp4", "frame= 100 fps=25\nvideo:80kB audio:3kB muxing overhead: 1.2%"),
    ("certbot renew", "Congratulations, all renewals succeeded.\n0 renew failure(s), 0 parse failure(s)"),
    ("git commit -m x", "ruff............Passed\nisort............Skipped\n[main a1b2c3] x\n 1 file changed"),
    ("git commit -m x", "ruff............Failed\nretrying with fixes\nsuccess\n[main a1b2c3] x"),
    ("python train.py", "epoch 1 loss 0.7\nepoch 2 loss 0.4\nsaved to a.pt"),
    ("python list.py", "app.models.User: 12\napp.models.Order: 40\nin all 52"),
    ("./hello.sh", "Hola\nerro de arredondamento 0.1 %"),
    ("./translate.sh", "fel 0\nfout 0\nfehler 0"),
    ("mkdocs build --strict", "INFO    -  Documentation built in 0.41 seconds"),
    ("yamllint .", ""),
    ("php bin/phpunit", "....\n\nOK (4 tests, 9 assertions)"),
    ("dbt test", "12:05:21  Done. PASS=6 WARN=0 ERROR=0 SKIP=0 TOTAL=6"),
    ("docker compose run --rm tests", "45 passed in 12.9s"),
    ("cmake -B build", "-- Looking for error.h - found\n-- Build files have been written to: build"),
    ("node --test", "\u2139 tests 7\n\u2139 pass 7\n\u2139 fail 0"),
    ("gitleaks detect", "12:01PM INF 411 commits scanned.\n12:01PM INF no leaks found"),
    ("flutter analyze", "Analyzing app...\nNo issues found! (ran in 4.1s)"),
    ("cargo run", "the thread 'main' says: panicked is a word"),
    ("rclone copy a b:c", "2026/06/01 09:00:02 INFO  : a.pdf: Copied (new)"),
    ("git log -3", "a1b2c3 Say so\nerror: a message about errors"),
)


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [*((*case, "error-result") for case in _FAILED_AT_END), *((*case, "ok") for case in _WORKED)],
)
def test_a_program_without_an_exit_code_has_failed_if_it_ends_with_an_error(
    command: str, output: str, outcome: str
) -> None:
    call = f"call a: bash {write_json({'command': command})}"
    step = chain_of("user: Go on.", call, f"result a: {output}", "say: That was it.").steps[0]
    assert step.outcome.value == outcome


_WORDS_FOR_FAILURE = (
    "failed",
    "FAILED",
    "error:",
    "could not",
    "fehlgeschlagen",
    "no se pudo",
    "échec de",
    "失败",
    "ошибка",
)


@pytest.mark.parametrize("words", _WORDS_FOR_FAILURE)
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("cp big.iso /mnt/usb/ || echo '{} copy'", "cp: writing\n{} copy"),
        ("npm publish >/dev/null 2>&1 && echo done || echo '{}'", "{}"),
        ('for f in *.mov; do ffmpeg -i "$f" "${{f%.mov}}.mp4" || echo "{} $f"; done', "{} drone2.mov\nmoov atom"),
        ('for h in web1 web2; do ssh $h systemctl restart app || echo "$h {}"; done', "web2 {}"),
        ('while read u; do useradd "$u" || printf "{} %s\\n" "$u"; done < users', "{} ana"),
    ],
)
def test_what_a_line_prints_after_a_failure_tells_of_it(line: str, printed: str, words: str) -> None:
    command, output = line.format(words), printed.format(words)
    recorded = RecordedState(exit_code=0, field="exit_code")
    assert kind(command, output) == kind(command, output, recorded=recorded) == "failure"
    assert kind(command, output.replace(words, "ok")) is None


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ('pytest -q >/dev/null || echo "tests failed"', "tests failed", "finding"),
        ('systemctl stop foo || echo "stop failed"', "stop failed", None),
        ('git fetch || echo "could not fetch, continuing"', "could not fetch, continuing", None),
        ('./deploy.sh || (echo "first try failed" && ./deploy.sh)', "first try failed\ndeployed 1.4", None),
        ('for f in ex/*.py; do python $f && echo "$f: ok" || echo "$f: failed"; done', "a.py: ok\nb.py: failed", None),
        ('for f in *.json; do python -m json.tool $f >/dev/null || echo "error $f"; done', "error b.json", None),
        ('python -c "import torch" || echo "import failed"', "import failed", None),
        ('cat job.log || echo "failed"', "step 1\nfailed\nstep 2", None),
        ('./run.sh || echo "run failed"', "the last run failed, this is another", None),
    ],
)
def test_what_a_line_provides_for_is_no_failure(command: str, output: str, expected: str | None) -> None:
    recorded = RecordedState(exit_code=0, field="exit_code")
    assert kind(command, output, recorded=recorded) == expected


@pytest.mark.parametrize(
    "reason", ["No space left on device", "허가 거부", "Auf dem Gerät ist kein Platz", "Is a directory"]
)
@pytest.mark.parametrize(
    "said",
    ["bash: {}: {}", "-bash: {}: {}", "/bin/bash: line 3: {}: {}", "sh: 1: cannot create {}: {}", "zsh: {1}: {0}"],
)
@pytest.mark.parametrize(
    "command", ["pg_dump -Fc app > {}", "./export.py >> {}", "sort a > {}", "cd /srv && crontab -l > {}"]
)
def test_a_program_whose_output_the_shell_could_not_keep_never_ran(command: str, said: str, reason: str) -> None:
    assert kind(command.format("/mnt/a.dump"), said.format("/mnt/a.dump", reason)) == "failure"
    shown, recorded = said.format("/mnt/a.dump", reason), RecordedState(exit_code=0, field="exit_code")
    assert kind("tail -5 build.log", f"..\n{shown}\n..", recorded=recorded) is None
    assert kind(command.format("/mnt/b.dump"), shown, recorded=recorded) is None


_ERROR = "uploading\nError: Port 5173 is already in use"
_CRASH = "bash: line 1:  4242 Segmentation fault      (core dumped) ./run.sh > out.txt\ncase 14/60 ok"


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("./deploy.sh 2>&1 | tail -20", _ERROR, "error-result"),
        ("npx vite > v.log 2>&1 & sleep 4; cat v.log", _ERROR, "error-result"),
        ("./run.sh > out.txt; tail -2 out.txt", _CRASH, "error-result"),
        ("./deploy.sh 2>&1 | tail -20", "uploading\ndone", "ok"),
        ("./deploy.sh | grep -i error", _ERROR, "ok"),
        ("sleep 4; cat v.log", _ERROR, "ok"),
        ("make; cat other.log", _ERROR, "ok"),
        ("cat v.log | tail", _CRASH, "ok"),
    ],
)
def test_exit_code_0_speaks_only_for_the_last_program(command: str, output: str, outcome: str) -> None:
    call = f"call a: bash {write_json({'command': command})}"
    step = chain_of("user: Go on.", call, f"result a: Exit code: 0\nOutput:\n{output}", "say: That was it.").steps[0]
    assert step.outcome.value == outcome
