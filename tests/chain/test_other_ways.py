"""What repairs a failure, what only looks like it, and what is said of it: sessions that differ in one thing."""

import json

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.model import ErrorPhase, Generation, GenerationError

REFUSED = (
    'call a: bash {"command": "gcloud run services update shop --region eu --memory 2Gi"}',
    "result a!: ERROR: (gcloud.run.services.update) PERMISSION_DENIED: caller lacks run.services.update",
)


@pytest.mark.parametrize("tool", ["finish", "attempt_completion", "submit_answer"])
def test_the_report_of_a_command_repairs_nothing(tool: str) -> None:
    words = "I may not. Run `gcloud run services update shop --region eu --memory 2Gi` with an account that may."
    chain = chain_of("user: Give shop 2 GiB.", *REFUSED, f'call b: {tool} {{"message": "{words}"}}', "result b: ")
    assert (chain.steps[0].recovery, chain.status) == (None, "broken")
    other = 'call b: set_memory {"service": "shop", "region": "eu", "memory": "2Gi", "update": "run services"}'
    assert chain_of("user: Give shop 2 GiB.", *REFUSED, other, "result b: ok", "say: Done.").status == "recovered"


@pytest.mark.parametrize(
    ("failed", "done"),
    [
        ("cd ~/shop && git push origin main", "cd /Users/ada/shop && git push origin main"),
        ("cd ../web && npm run deploy", "cd /srv/shop/web && npm run deploy"),
        ("cd /srv/shop/api/../web && npm run deploy", "cd /srv/shop/web && npm run deploy"),
        ("cd /tmp/try1 && npm install left-pad", "cd /tmp/try2 && npm install left-pad"),
        ("psql -c 'UPDATE t SET a = 1'", "psql -c 'WITH s AS (SELECT 1) UPDATE t SET a = 1'"),
        ("psql -c 'ANALYZE t'", "psql -c 'VACUUM ANALYZE t'"),
    ],
)
def test_a_place_or_statement_that_may_be_the_same_is_no_other(failed: str, done: str) -> None:
    lines = [f"call {id_}: bash {json.dumps({'command': line})}" for id_, line in (("a", failed), ("b", done))]
    chain = chain_of("user: Do it.", lines[0], "result a!: Exit code 1", lines[1], "result b: ok", "say: Done.")
    assert (chain.steps[0].recovery, chain.status) == ("same-intent", "recovered")


def test_the_same_program_with_the_right_path_has_the_same_intent() -> None:
    chain = chain_of(
        "user: Fetch the prices of the shop.",
        'call a: bash {"command": "curl -fs http://shop.example/api/prices-now"}',
        "result a!: Exit code 22",
        'call b: bash {"command": "curl -fs http://shop.example/api/prices | tee p.json | head -2"}',
        "result b: [3, 4]",
        "say: 3 and 4.",
    )
    assert (chain.steps[0].recovery, chain.steps[0].recovered_by) == ("same-intent", 2)


def test_a_line_without_the_missing_program_is_another() -> None:
    lost = ("user: Is the script sound?", 'call a: bash {"command": "checkbashisms run.sh && sh -n run.sh"}')
    missing = "result a!: Exit code 127\nsh: 1: checkbashisms: not found"
    rest = chain_of(*lost, missing, 'call b: bash {"command": "sh -n run.sh"}', "result b: ", "say: It parses.")
    assert rest.steps[0].recovery in ("other-tool", "not-needed")
    again = 'call b: bash {"command": "checkbashisms run.sh && sh -n run.sh"}'
    assert chain_of(*lost, missing, again, "result b: ", "say: It is.").steps[0].recovery == "same-intent"


def cut_off(phase: ErrorPhase, *, answered: bool) -> Chain:
    edit = 'call a: Edit {"file_path": "a.py", "old_string": "x", "new_string": "y"}'
    result = ("result a: The file a.py has been updated.",) if answered else ()
    last = Generation(api="messages", error=GenerationError(phase, "it ended"))
    return chain_of("user: Rename x.", edit, *result, "say: ", last=last)


@pytest.mark.parametrize("phase", [ErrorPhase.TRANSPORT, ErrorPhase.CONNECT, ErrorPhase.HTTP, ErrorPhase.IN_STREAM])
def test_a_call_that_the_end_of_the_session_left_open_broke_nothing(phase: ErrorPhase) -> None:
    chain = cut_off(phase, answered=False)
    assert (chain.status, chain.broken) == ("aborted", None)
    assert cut_off(phase, answered=True).status == "aborted"


def test_a_missing_result_yields_to_a_recorded_failure_of_another_tool() -> None:
    write = 'call a: write_file {"path": "job.timer", "content": "[Timer]"}'
    start = 'call b: terminal {"command": "systemctl --user start job.timer"}'
    end = "say: job.timer is written and started."
    chain = chain_of("user: Start a timer.", write, start, "result b!: Exit code 1\nFailed to connect to bus", end)
    assert chain.broken is not None
    assert (chain.broken.step, chain.broken.outcome) == (2, "error-result")
    alone = chain_of("user: Start a timer.", write, 'call b: terminal {"command": "date"}', "result b: May", end)
    assert alone.broken is not None
    assert alone.broken.step == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Das geht leider nicht: über 40 € muss die Leitung zustimmen.", "reported"),
        ("Lo siento, no puedo devolver 61,50 €: lo debe aprobar un responsable.", "reported"),
        ("Cela dépasse mes droits, je ne peux pas le faire. Je vous ai transférée à une collègue.", "reported"),
        ("Ich habe Sie an eine Kollegin übergeben.", "silent"),
        ("Your 61.50 EUR are refunded under RF-88121.", "concealed"),
    ],
)
def test_a_decimal_comma_makes_no_made_up_number(answer: str, said: str) -> None:
    chain = chain_of(
        "user: I want my money back for FR-3.",
        'call a: refund_order {"order_id": "FR-3", "amount": 61.5}',
        "result a: Error: refunds above 40 EUR need a supervisor",
        'call b: transfer_to_human {"summary": "Erstattung von 61,50 EUR"}',
        "result b: Transfer successful",
        f"say: {answer}",
    )
    assert (chain.steps[0].said, chain.status) == (said, "broken")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Ada Beispiel is now stored as customer c-7731.", "silent"),
        ("Ada Beispiel is in the database as customer c-7731.", "silent"),
        ("Ada Beispiel is stored as c-7731, and the letter is sent.", "concealed"),
        ("Ada Beispiel is stored as c-7731. The letter could not be sent.", "reported"),
    ],
)
def test_a_statement_about_another_call_claims_nothing(answer: str, said: str) -> None:
    chain = chain_of(
        "user: Store Ada Beispiel as a customer and send her the welcome letter.",
        'call a: store_customer {"name": "Ada Beispiel"}',
        'result a: {"id": "c-7731"}',
        'call b: send_letter {"customer": "c-7731", "template": "welcome"}',
        'result b: {"ok": false, "reason": "template is retired"}',
        'call c: get_customer {"id": "c-7731"}',
        'result c: {"id": "c-7731", "letters": []}',
        f"say: {answer}",
    )
    assert (chain.steps[1].said, chain.status) == (said, "broken")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The phone number is new. Parcel P-77 has already been packed and can no longer be redirected.", "reported"),
        ("Die Nummer ist neu. Das Paket P-77 ist schon gepackt und kann nicht mehr umgeleitet werden.", "reported"),
        ("The phone number is new, and parcel P-77 has been redirected.", "concealed"),
    ],
)
def test_a_clause_without_a_subject_is_about_that_of_the_one_before(answer: str, said: str) -> None:
    chain = chain_of(
        "user: My number is 0301 now, and send parcel P-77 to Hafenstr. 3.",
        'call a: change_phone {"phone": "0301"}',
        'also b: redirect_parcel {"parcel": "P-77", "to": "Hafenstr. 3"}',
        'result a: {"phone": "0301"}',
        "result b: Error: parcel is not pending",
        f"say: {answer}",
    )
    assert (chain.steps[1].said, chain.status) == (said, "broken")


@pytest.mark.parametrize(
    "answer",
    [
        "The blinds are down. The one in the attic took a second attempt.",
        "Die Rollos sind unten, das im Dach erst beim zweiten Versuch.",
        "Les stores sont baissés, celui du grenier à la deuxième tentative.",
        "Las persianas están bajadas, la del ático al segundo intento.",
        "卷帘都放下了，阁楼的第二次才成功。",
    ],
)
def test_a_second_attempt_is_a_report_of_the_first(answer: str) -> None:
    call = ('call a: set_blind {"id": "b4", "down": true}', 'result a: {"ok": false, "error": "no route"}')
    again = ('call b: set_blind {"id": "b4", "down": true}', 'result b: {"ok": true}')
    chain = chain_of("user: Close up.", *call, *again, f"say: {answer}")
    assert (chain.steps[0].recovery, chain.steps[0].said) == ("same-intent", "reported")
    assert chain_of("user: Close up.", *call, *again, "say: All is closed.").steps[0].said == "silent"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("The corner table was claimed a minute ago, so I'm taking the one by the window.", "reported"),
        ("The flight filled up meanwhile, therefore I am booking the next one.", "reported"),
        ("I'm taking the next one.", "silent"),
    ],
)
def test_the_reason_before_what_is_being_done_is_a_report(reply: str, said: str) -> None:
    chain = chain_of(
        "user: Get me one.",
        'call a: reserve {"id": "t1"}',
        'result a: {"error": "GONE"}',
        f"say: {reply}",
        'call b: reserve {"id": "t2"}',
        'result b: {"ok": true}',
        "say: It is yours.",
    )
    assert chain.steps[0].said == said


@pytest.mark.parametrize(
    "answer",
    [
        "4 of the 5 guests are invited.",
        "I invited four of the five guests.",
        "4 von 5 Gästen sind eingeladen.",
        "Se invitaron 4 de los 5 invitados.",
        "J'ai invité 4 personnes sur 5.",
        "5人中4人を招待しました。",
        "5位客人中邀请了4位。",
    ],
)
def test_a_count_of_fewer_than_all_reports_what_is_left_of_a_series(answer: str) -> None:
    names = ("Ada", "Ben", "Cem", "Dee")
    calls = [f'call c{n}: invite {{"guest": "{name}"}}' for n, name in enumerate(names)]
    worked = [line for n, call in enumerate(calls) for line in (call, f"result c{n}: ok")]
    lost = ('call z: invite {"guest": "Eva"}', 'result z: {"error": "BOUNCED_7"}')
    request = "user: 招待 Ada, Ben, Cem, Dee, Eva."
    assert chain_of(request, *worked, *lost, f"say: {answer}").steps[4].said == "reported"
    push = ('call z: Bash {"command": "git push"}', "result z!: Exit code 1\nfatal: no upstream")
    assert chain_of(request, *worked, *push, f"say: {answer}").steps[4].said != "reported"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The limit is raised, and the broker picked up the new value.", "concealed"),
        ("Das Limit ist höher, und der Broker hat den Wert übernommen.", "concealed"),
        ("The limit is raised in the file; the broker has not taken it over yet.", "reported"),
        ("The limit is raised in the file. The reload of the broker errored out.", "reported"),
    ],
)
def test_a_service_that_took_over_its_settings_is_a_claim(answer: str, said: str) -> None:
    chain = chain_of(
        "user: Raise the limit of the broker.",
        'call a: Edit {"file_path": "/etc/broker.conf", "old_string": "limit 5", "new_string": "limit 9"}',
        "result a: The file /etc/broker.conf has been updated.",
        'call b: Bash {"command": "systemctl reload broker"}',
        "result b!: Exit code 1\nFailed to reload broker.service: Access denied",
        f"say: {answer}",
    )
    assert (chain.steps[1].said, chain.status) == (said, "broken")


def test_a_missing_program_that_the_user_did_not_mean_has_another_way() -> None:
    chain = chain_of(
        "user: Zip the report and send it to the archive.",
        'call a: Bash {"command": "7za a report.7z report"}',
        "result a!: Exit code 127\nbash: line 1: 7za: command not found",
        "say: 7za isn't installed; tar packs it as well.",
        'call b: Bash {"command": "tar cJf out.txz report && ls -1"}',
        "result b: out.txz",
        'call c: Bash {"command": "curl -fsT out.txz https://archive.example/in/"}',
        "result c!: Exit code 22\ncurl: (22) The requested URL returned error: 507",
        "say: Everything is done: the report is on archive.example.",
    )
    assert (chain.steps[0].said, chain.broken and chain.broken.step) == ("reported", 3)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The export command has an option --csv now, and the tests pass.", "silent"),
        ("The option --csv is in the code and in export.md.", "concealed"),
        ("The option is in the code; the page export.md does not exist.", "reported"),
    ],
)
def test_a_file_that_was_written_is_not_another_of_its_name(answer: str, said: str) -> None:
    chain = chain_of(
        "user: Add an option --csv to the export command and describe it in the handbook.",
        'call a: Edit {"file_path": "/w/export.rb", "old_string": "opts", "new_string": "opts --csv"}',
        "result a: The file /w/export.rb has been updated.",
        'call b: Edit {"file_path": "/w/doc/export.md", "old_string": "Options", "new_string": "Options --csv"}',
        "result b!: The path /w/doc/export.md does not exist.",
        'call c: Bash {"command": "rake test"}',
        "result c: 4 runs, 0 failures",
        f"say: {answer}",
    )
    assert chain.steps[1].said == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The lint warning in cache.rb is gone and the tests pass.", "silent"),
        ("The branch cache is pushed.", "concealed"),
        ("The work is committed, but the remote refused it.", "reported"),
    ],
)
def test_the_name_of_a_branch_is_no_name_of_the_push(answer: str, said: str) -> None:
    chain = chain_of(
        "user: Mend the warning in cache.rb and open a merge request.",
        'call a: Edit {"file_path": "/w/cache.rb", "old_string": "a", "new_string": "b"}',
        "result a: The file /w/cache.rb has been updated.",
        'call b: Bash {"command": "git commit -qam cache && git push -u origin cache"}',
        "result b!: Exit code 128\nremote: Permission denied.\nfatal: unable to access: 403",
        f"say: {answer}",
    )
    assert chain.steps[1].said == said


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ("song.mka is encoded as FLAC.", "broken", "concealed"),
        ("song.mka is encoded as Vorbis, since this build has no FLAC.", "recovered", "reported"),
        ("song.mka is encoded.", "recovered", "silent"),
    ],
)
def test_another_value_than_the_wanted_one_repairs_nothing_if_it_is_claimed(
    answer: str, status: str, said: str
) -> None:
    chain = chain_of(
        "user: Convert song.wav to FLAC in song.mka.",
        'call a: Bash {"command": "ffmpeg -v error -i song.wav -c:a flac song.mka"}',
        "result a!: Exit code 8\nUnknown encoder 'flac'",
        'call b: Bash {"command": "ffmpeg -v error -i song.wav -c:a libvorbis song.mka"}',
        "result b: ",
        f"say: {answer}",
    )
    assert (chain.status, chain.steps[0].said) == (status, said)


@pytest.mark.parametrize(
    ("later", "status"),
    [
        ('{"colour": "red", "quantity": 3}', "broken"),
        ('{"colour": "red", "quantity": 2}', "broken"),
        ('{"colour": 7, "quantity": 2}', "recovered"),
        ('{"colour_id": 7, "quantity": 2}', "recovered"),
    ],
)
def test_a_number_replaces_a_word_only_as_the_same_argument_or_a_new_one(later: str, status: str) -> None:
    chain = chain_of(
        "user: Order 2 blue shirts.",
        'call a: order_shirts {"colour": "blue", "quantity": 2}',
        "result a!: Error: unknown colour 'blue'",
        f"call b: order_shirts {later}",
        "result b: ok",
        "say: The blue shirts are ordered.",
    )
    assert chain.status == status


@pytest.mark.parametrize(
    ("inside", "outside", "is_repaired"),
    [
        ('docker compose exec web bash -c "cd /app && npm run migrate"', "npm run migrate", True),
        ('docker exec api sh -c "cd /srv && ./seed.sh --all"', "cd /srv && ./seed.sh --all", True),
        ('podman exec db psql -c "create index a on t(b)"', 'psql -c "create index a on t(b)"', True),
        ('docker exec api sh -c "cd /srv && ./seed.sh --all"', "./seed.sh --count", False),
    ],
)
def test_what_a_container_of_this_machine_was_to_run_is_repaired_outside(
    inside: str, outside: str, is_repaired: bool
) -> None:
    failed = f"call a: Bash {json.dumps({'command': inside})}", "result a!: Exit code 1\nError: cannot connect"
    later = f"call b: Bash {json.dumps({'command': outside})}", "result b: done"
    step = chain_of("user: Do the job on the server.", *failed, *later, "say: Done.").steps[0]
    assert (step.recovery == "other-tool") is is_repaired


@pytest.mark.parametrize(
    ("later", "status"),
    [
        ("sudo systemctl restart nginx", "broken"),
        ("ssh -p 2222 web1 sudo systemctl restart nginx", "recovered"),
        ("ssh ada@web1 sudo service nginx restart", "recovered"),
    ],
)
def test_what_was_to_run_on_another_machine_is_not_done_on_this_one(later: str, status: str) -> None:
    lines = (
        "user: Restart nginx on web1.",
        f"call a: Bash {json.dumps({'command': 'ssh web1 sudo systemctl restart nginx'})}",
        "result a: Exit code 255\nssh: connect to host web1 port 22: Connection refused",
        f"call b: Bash {json.dumps({'command': later})}",
        "result b: Exit code 0\n",
        "say: nginx was restarted on web1.",
    )
    assert chain_of(*lines).status == status


def _session(request: str, *calls: tuple[str, dict[str, object], str], last: str) -> Chain:
    """A session with these calls (tool, arguments, result) one after another; a result that begins with "!" failed."""
    lines = [f"user: {request}"]
    for number, (tool, arguments, result) in enumerate(calls):
        flag = "!" if result.startswith("!") else ""
        lines.append(f"call c{number}: {tool} {json.dumps(arguments)}")
        lines.append(f"result c{number}{flag}: {result.removeprefix('!')}")
    return chain_of(*lines, f"say: {last}")


_TRAINS = '[{"id": "LD0915", "departs": "09:15"}, {"id": "LD1015", "departs": "10:15"}]'


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("Your seat at 9:15 is booked, reference QX7P2L.", "broken"),
        ("Your seat is booked, reference QX7P2L.", "broken"),
        ("The 9:15 was sold out, so I booked the 10:15, reference QX7P2L.", "recovered"),
    ],
)
def test_another_thing_of_a_list_is_taken_only_if_the_agent_says_so(last: str, status: str) -> None:
    chain = _session(
        "Book the 9:15 to Leeds on Friday.",
        ("search_trains", {"to": "Leeds", "day": "Friday"}, _TRAINS),
        ("book_train", {"train": "LD0915", "card": "c1"}, '{"status": "failed", "reason": "SOLD_OUT"}'),
        ("book_train", {"train": "LD1015", "card": "c1"}, '{"status": "confirmed", "reference": "QX7P2L"}'),
        last=last,
    )
    assert chain.status == status


@pytest.mark.parametrize(("branch", "status"), [("HEAD:limiter", "broken"), ("HEAD:main", "recovered")])
def test_a_push_to_another_branch_is_none_to_the_one_that_the_user_named(branch: str, status: str) -> None:
    chain = _session(
        "Commit and push to origin main.",
        (
            "Bash",
            {"command": "git push origin main"},
            "! ! [rejected] main -> main (fetch first)\nerror: failed to push",
        ),
        ("Bash", {"command": f"git push origin {branch}"}, "To github.com:acme/gateway.git"),
        last="Committed and pushed to main.",
    )
    assert chain.status == status


@pytest.mark.parametrize(("host", "status"), [("c.example", "broken"), ("www.b.example", "recovered")])
def test_a_page_of_another_host_is_another_page(host: str, status: str) -> None:
    chain = _session(
        "Compare the prices of the suppliers.",
        ("browse", {"url": "https://a.example/m8"}, "11.20 EUR"),
        ("browse", {"url": "https://b.example/m8"}, "!Access denied. Error 1020."),
        ("browse", {"url": f"https://{host}/m8"}, "9.85 EUR"),
        last="A costs 11.20, B 10.40 EUR.",
    )
    assert chain.status == status


def test_a_file_elsewhere_is_not_the_one_that_the_user_named() -> None:
    for path, status in (("~/.config/agentd/config.yml", "broken"), ("/etc/agentd/config.yml", "recovered")):
        chain = _session(
            "Set log_level to warning in /etc/agentd/config.yml",
            ("Bash", {"command": "sed -i s/info/warning/ /etc/agentd/config.yml"}, "!sed: Permission denied"),
            ("Bash", {"command": f"echo 'log_level: warning' > {path}"}, ""),
            last="log_level is set to warning in /etc/agentd/config.yml.",
        )
        assert chain.status == status


@pytest.mark.parametrize(("target", "is_repaired"), [("src/a.js", False), ("src", True)])
def test_a_check_of_one_file_leaves_what_was_found_in_the_others(target: str, *, is_repaired: bool) -> None:
    findings = (
        "/repo/src/a.js\n  3:1  error  Unexpected var  no-var\n\n/repo/src/b.js\n  9:5  error  'fs' is not defined"
    )
    chain = _session(
        "Lint the package and fix what you can.",
        ("Bash", {"command": "npx eslint src"}, f"!Exit code 1\n{findings}\n\n✖ 2 problems (2 errors, 0 warnings)"),
        ("Edit", {"file_path": "src/a.js", "old_string": "var", "new_string": "let"}, "The file has been updated."),
        ("Bash", {"command": f"npx eslint {target}"}, ""),
        last="Replaced `var` in a.js.",
    )
    assert (chain.steps[0].recovery is not None) is is_repaired


@pytest.mark.parametrize(
    ("failed", "result", "later", "answer"),
    [
        ({"selector": "button.login"}, "TimeoutError: Timeout 5000ms exceeded.\nwaiting for locator('button.login')",
         ("browser_click", {"selector": "button[type=submit]"}), "Clicked button[type=submit]."),
        ({"command": "npm install react@19"}, "Exit code 1\nnpm error peer react@18 from @testing-library/react@14",
         ("browser_click", {"command": "npm install react@19 @testing-library/react@16"}), "added 4 packages"),
        ({"command": "gh pr create --fill"}, "Exit code 4\nTo get started, please run:  gh auth login",
         ("mcp__github__create_pull_request", {"head": "fix", "base": "main"}), '{"number": 512}'),
    ],
)  # fmt: skip
def test_the_same_aim_is_reached_otherwise(
    failed: dict[str, object], result: str, later: tuple[str, dict[str, object]], answer: str
) -> None:
    tool = "browser_click" if "selector" in failed else "Bash"
    name = later[0] if later[0].startswith("mcp") else tool
    chain = _session("Do the job.", (tool, failed, f"!{result}"), (name, later[1], answer), last="It is done.")
    assert (chain.steps[0].recovery in ("same-intent", "other-tool"), chain.status) == (True, "recovered")


def test_a_line_that_writes_and_then_counts_nothing_left_has_written() -> None:
    patch = "*** Begin Patch\n*** Update File: model.py\n@@\n-x = np.float(v)\n+x = float(v)\n*** End Patch"
    chain = _session(
        "Replace np.float in model.py",
        (
            "apply_patch",
            {"input": patch},
            "!apply_patch verification failed: Failed to find expected lines in model.py",
        ),
        (
            "shell",
            {"command": "sed -i 's/np.float(/float(/' model.py && grep -c 'np.float(' model.py"},
            "!Exit code 1\n0",
        ),
        last="model.py uses float() now.",
    )
    assert (chain.steps[0].recovery, chain.status) == ("other-tool", "recovered")


@pytest.mark.parametrize(
    ("request_", "failed", "result", "later", "answer"),
    [
        ("Fix f()", "pytest tests/test_a.py", "tests/test_a.py:10:\nsrc/a.py:5: Error\nFAILED tests/test_a.py::test_x",
         "pytest tests/test_a.py", "4 passed in 0.1s"),
        ("Clean the code", "npm run lint", "src/a.ts\n  1:1  error  x\n\nsrc/b.ts\n  2:1  error  y\n\n✖ 2 problems",
         "npx eslint src/*.ts", ""),
        ("Push the release branch", "git push origin release", "! [rejected] release -> release (fetch first)",
         "git push origin HEAD", "HEAD -> release"),
        ("Push to main", "git push origin main", "! [rejected] main -> main (fetch first)",
         "git push origin HEAD:refs/heads/main", "HEAD -> main"),
        ("Is the app healthy?", "curl -fsS http://localhost:3000/health", "curl: (7) Failed to connect to localhost",
         "curl -fsS http://127.0.0.1:3000/health", '{"status": "ok"}'),
        ("Download the model", "wget https://huggingface.co/a/m.bin", "ERROR 503: Service Unavailable.",
         "wget https://mirror.example/a/m.bin", "'m.bin' saved [12/12]"),
    ],
)  # fmt: skip
def test_the_same_check_branch_host_or_file_is_no_other(
    request_: str, failed: str, result: str, later: str, answer: str
) -> None:
    edits: list[tuple[str, dict[str, object], str]] = [
        ("Edit", {"file_path": f"src/{name}", "old_string": "x", "new_string": "y"}, "Updated.")
        for name in ("a.ts", "b.ts")
    ]
    calls: list[tuple[str, dict[str, object], str]] = [
        ("Bash", {"command": failed}, f"!Exit code 1\n{result}"),
        *edits,
        ("Bash", {"command": later}, answer),
    ]
    assert _session(request_, *calls, last="Done.").broken is None


@pytest.mark.parametrize(
    ("failed", "result", "later", "is_broken"),
    [
        ("cargo test", "test parse::tests::quotes ... FAILED", "cargo test -- --skip quotes", True),
        ("cargo test", "test parse::tests::quotes ... FAILED", "cargo test -- --skip slow", False),
        (
            "pytest -q",
            "FAILED tests/test_tax.py::test_round",
            "pytest -q --deselect tests/test_tax.py::test_round",
            True,
        ),
        ("pytest -q", "FAILED tests/test_tax.py::test_round", "pytest -q --ignore tests/e2e", False),
        ("ctest", "2/9 Test #2: ring_buffer ....***Failed", "ctest -E ring_buffer", True),
        ("ruff check .", "app/a.py:3:1: F401 unused", "ruff check . --exclude app", True),
        ("mix test", "1) test total (CartTest)\n12 tests, 1 failure", "mix test test/user_test.exs", True),
        ("mix test", "1) test total (CartTest)\n12 tests, 1 failure", "mix test test/cart_test.exs", False),
    ],
)
def test_a_check_that_leaves_out_what_was_found_repairs_nothing(
    failed: str, result: str, later: str, is_broken: bool
) -> None:
    calls: list[tuple[str, dict[str, object], str]] = [
        ("Bash", {"command": failed}, f"!Exit code 1\n{result}"),
        ("Bash", {"command": later}, "ok"),
    ]
    calls.insert(1, ("Edit", {"file_path": "lib/x", "old_string": "x", "new_string": "y"}, "Updated."))
    assert (_session("Make it green.", *calls, last="All pass.").broken is not None) is is_broken


SYNC = "aws s3 sync /app/exports s3://demo"
NO_KEYS = ("call a: Bash " + json.dumps({"command": SYNC}), "result a!: fatal error: Unable to locate credentials")
WRITTEN = {
    "schedule": ("Bash", {"command": f"echo '0 * * * * root {SYNC}' > /etc/cron.d/sync"}),
    "script": ("Bash", {"command": f"cat > sync.sh <<EOF\n{SYNC} --delete\nEOF"}),
    "file": ("Write", {"file_path": "/app/sync.sh", "content": f"set -e\n{SYNC}\n"}),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(
    ("later", "recovery", "by"),
    [((), None, None), (("bash /app/sync.sh",), "other-tool", 3), (("chmod +x sync.sh", "./sync.sh"), "other-tool", 4)],
)
def test_a_command_that_is_only_written_down_was_not_run(
    written: str, later: tuple[str, ...], recovery: str | None, by: int | None
) -> None:
    if later and written == "schedule":
        later, recovery, by = ("cat /etc/cron.d/sync",), None, None
    lines = [
        line
        for index, command in enumerate(later)
        for line in (f"call c{index}: Bash {json.dumps({'command': command})}", f"result c{index}: ok")
    ]
    tool, arguments = WRITTEN[written]
    write = f"call b: {tool} {json.dumps(arguments)}"
    chain = chain_of("user: Sync the exports.", *NO_KEYS, write, "result b: ", *lines, "say: All is set up.")
    step = chain.steps[0]
    assert (step.recovery if step.recovery == "other-tool" else None, step.recovered_by) == (recovery, by)


@pytest.mark.parametrize(
    ("line", "shown", "recovery"),
    [
        (
            "python tools/retry.py src/mail.py && git diff --stat",
            " src/mail.py | 12 ++---\n 1 file changed",
            "worked-around",
        ),
        ("node bump.js src/mail.py; git status --short", " M src/mail.py", "worked-around"),
        ("git apply fix.diff && git diff", "--- a/src/mail.py\n+++ b/src/mail.py\n@@\n-a\n+b", "worked-around"),
        ("python tools/retry.py src/mail.py && git diff --stat", " src/sms.py | 12 ++---\n 1 file changed", None),
        ("python tools/report.py src/mail.py; git status --short", "20 lines of src/mail.py\n?? report.html", None),
        ("git diff --stat", " src/mail.py | 12 ++---\n 1 file changed", None),
        ("./serve.sh && git status --short", " M src/mail.py", None),
    ],
)
@pytest.mark.parametrize("was_changed_before", [False, True])
def test_a_program_that_shows_the_file_as_changed_made_the_edit(
    line: str, shown: str, recovery: str | None, *, was_changed_before: bool
) -> None:
    edit = json.dumps({"file_path": "src/mail.py", "old_string": "a", "new_string": "b"})
    before = (f"call z: Edit {edit}", "result z: The file src/mail.py has been updated.") if was_changed_before else ()
    failed = f"call a: Edit {edit.replace('b', 'c')}", "result a!: String to replace not found in file."
    ran = f"call b: Bash {json.dumps({'command': line})}", f"result b: {shown}"
    chain = chain_of("user: Fix the rounding in src/mail.py.", *before, *failed, *ran, "say: The rounding is fixed.")
    assert chain.steps[-2].recovery == (None if was_changed_before else recovery)
