"""A call that corrects a failed one, and one that only does to the next thing what failed for another."""

import pytest

from tests.chain.building import chain_of
from weaklink.inspector.json_text import write_json


def became(*lines: str, user: str = "Do it.") -> tuple[str | None, int | None]:
    chain = chain_of(f"user: {user}", *lines, "say: Here you are.")
    step = next(step for step in chain.steps if step.outcome.failed)
    return step.recovery and step.recovery.value, step.recovered_by


def run(command: str, result: str, id_: str) -> tuple[str, str]:
    return f"call {id_}: Bash {write_json({'command': command})}", f"result {id_}: {result}"


ADD = 'call a: add_track {"playlist": "jazz", "track": "So What"}', 'result a!: {"code": "INVALID_ID"}'


def test_a_call_with_an_id_that_a_result_brought_corrects_one_with_a_name() -> None:
    lists = 'call b: my_playlists {"of": "me"}', 'result b: [{"id": "pl_889", "name": "Jazz"}]'
    again = 'call c: add_track {"playlist": "pl_889", "track": "tr_17a"}', 'result c: {"ok": true}'
    assert became(*ADD, *lists, *again, user="Add So What to jazz.") == ("same-intent", 3)


@pytest.mark.parametrize(
    ("user", "expected"),
    [("Total a.pdf and b.pdf.", None), ("Total the bill.", ("same-intent", 2))],
)
def test_the_next_thing_that_the_user_named_is_no_correction(user: str, expected: tuple[str, int] | None) -> None:
    failed = 'call a: total {"of": "a.pdf"}', "result a!: no text layer"
    other = 'call b: total {"of": "b.pdf"}', "result b: 88.00"
    assert became(*failed, *other, user=user) == (expected or (None, None))


def test_the_next_item_of_a_series_is_no_correction() -> None:
    first = 'call a: convert {"what": "2 cups"}', "result a: 250 g"
    second = 'call b: convert {"what": "1 stick"}', "result b!: unknown unit"
    third = 'call c: convert {"what": "350 F"}', "result c: 177 C"
    assert became(*first, *second, *third)[1] is None


@pytest.mark.parametrize(
    ("failed", "error", "later", "expected"),
    [
        ("make docs", "make: *** No rule to make target 'docs'.  Stop.", "make apidoc", "same-intent"),
        ("make docs", "make: *** [Makefile:3: docs] Error 1", "make clean", None),
        ("python -m http.server 8000", "OSError: Address already in use", "python -m http.server 8017", "same-intent"),
        ("systemctl restart web1", "Job for web1 failed.", "systemctl restart web2", None),
        ("npm start", 'npm ERR! Missing script: "start"', "npm install", None),
        ("jq_tool -p a.json", "failed", "jq_tool -x a.json", "same-intent"),
        (
            """python -c "print(load('a.json')['ms'])" """,
            "KeyError: 'ms'",
            "python -c \"print(load('a.json'))\"",
            "same-intent",
        ),
        ("""python -c "store('a.db')" """, "OperationalError", "python -c \"print(count('a.db'))\"", None),
    ],
)
def test_a_line_without_what_the_error_blames_corrects_another(
    failed: str, error: str, later: str, expected: str | None
) -> None:
    first, second = run(failed, f"Exit code 1\n{error}", "a"), run(later, "done", "b")
    assert became(*first, *second)[0] == expected


def test_a_call_with_other_values_does_not_correct_one_that_a_service_did_not_answer() -> None:
    failed = 'call a: get_weather {"city": "Oslo"}', "result a!: service unavailable"
    assert became(*failed, 'call b: get_weather {"city": "Paris"}', "result b: 4 degrees")[1] is None


def test_an_identical_look_that_finds_nothing_has_worked() -> None:
    look = 'search_code {"q": "redis"}'
    lines = f"call a: {look}", "result a!: rate limit exceeded", f"call b: {look}", "result b: 0 results"
    assert became(*lines) == ("same-intent", 2)


def test_what_the_user_named_beside_it_does_not_stand_for_what_failed() -> None:
    def send(name: str, id_: str) -> str:
        return f'call {id_}: send_email {{"to": "{name}@x.org", "subject": "Minutes"}}'

    lines = send("bob", "a"), "result a: Error: mailbox full", send("cleo", "b"), "result b: sent"
    assert became(*lines, user="Send the minutes to Bob and Cleo.") == (None, None)
    typo = send("cloe", "a"), "result a: Error: no such mailbox", send("cleo", "b"), "result b: sent"
    assert became(*typo, user="Send the minutes to Cleo.") == ("same-intent", 2)


def test_what_a_look_brought_corrects_what_the_error_names() -> None:
    failed = run("ansible web -m ping", "Exit code 1\nCould not match supplied host pattern, ignoring: web", "a")
    look = run("cat inventory/hosts", "[webservers]\nw1", "b")
    again = run("ansible -i inventory/hosts webservers -m ping", "w1 | SUCCESS", "c")
    assert became(*failed, *look, *again) == ("same-intent", 3)


def test_a_call_that_keeps_most_values_corrects_another_although_the_user_named_both() -> None:
    pay = 'call {0}: transfer {{"from": "{1}", "to": "Kerr", "amount": 900}}'
    short = pay.format("a", "current"), "result a!: insufficient_funds"
    paid = pay.format("b", "savings"), "result b: executed"
    user = "Pay Kerr 900, from savings if current is short."
    assert became(*short, *paid, user=user) == ("same-intent", 2)


@pytest.mark.parametrize(
    ("error", "later", "expected"),
    [
        ("sed: can't read .env.local: No such file or directory", "sed -i s/old/new/ .env", "same-intent"),
        ("sed: can't read .env.local: No such file or directory", "sed -i s/a/b/ .env", None),
        ("sed: couldn't open .env.local: Permission denied", "sed -i s/old/new/ .env", None),
    ],
)
def test_the_same_change_in_another_file_corrects_one_in_a_file_that_is_not_there(
    error: str, later: str, expected: str | None
) -> None:
    failed = run("sed -i s/old/new/ .env.local", f"Exit code 2\n{error}", "a")
    assert became(*failed, *run(later, "", "b"), user="Put new into .env.local.")[0] == expected


@pytest.mark.parametrize(("town", "status"), [("Oslo", "recovered"), ("Ostend", "recovered"), ("Stavanger", "broken")])
def test_a_malformed_call_is_mended_by_one_with_all_its_words_though_the_tool_worked_before(
    town: str, status: str
) -> None:
    lines = (
        "user: When is the tide in Bergen? And then in the other town?",
        'call: tide {"place": "Bergen"}',
        "result: 14:20",
        'call: tide {"place": "Os',
        "result: Error: the arguments are not JSON",
        f'call: tide {{"place": "{town}"}}',
        "result: 15:10",
        "say: At 14:20 and at 15:10.",
    )
    assert chain_of(*lines).status == status


@pytest.mark.parametrize(
    ("calls", "error", "user", "wanted", "told"),
    [
        (('reserve {"time": "2026-12-05T19:00"}', 'reserve {"time": "2026-12-05T21:30"}'), "sold out",
         "Reserve a table for 7 pm.", "Your table for 7 pm is reserved.", "7 pm was full; you have one at 21:30."),
        (('termin {"start": "2026-12-07T09:00"}', 'termin {"start": "2026-12-07T11:00"}'), "slot_taken",
         "Trag Frau Ott um 9 Uhr ein.", "Frau Ott ist um 9 Uhr eingetragen.", "Frau Ott ist um 11 Uhr eingetragen."),
        (('add_member {"user": "u8", "role": "editor"}', 'add_member {"user": "u8", "role": "viewer"}'),
         "seat_limit_reached", "Dodaj Annę z rolą edytora.", "Anna jest edytorem.", "Anna ma na razie rolę viewer."),
        (('create_invoice {"for": "C7", "amount": 1200}', 'create_invoice {"for": "C7", "amount": 1000}'),
         "credit_limit", "Invoice C7 over 1,200 EUR.", "It is over 1,200 EUR.", "It is over 1,000 EUR."),
        (('Bash {"command": "helm upgrade api . -n prod"}', 'Bash {"command": "helm upgrade api . -n staging"}'),
         "locked", "Deploy api to production.", "api is in production.", "api is in staging; production is locked."),
        (('upgrade {"plan": "business"}', 'upgrade {"plan": "team"}'), "payment_failed",
         "Upgrade us to Business.", "You are on Business now.", "You are on Team now."),
    ],
)  # fmt: skip
def test_a_call_with_another_value_repairs_nothing_if_the_answer_claims_the_one_that_was_asked_for(
    calls: tuple[str, str], error: str, user: str, wanted: str, told: str
) -> None:
    lines = f"user: {user}", f"call a: {calls[0]}", f"result a!: {error}", f"call b: {calls[1]}"
    statuses = [chain_of(*lines, 'result b: {"ok": true}', f"say: {words}").status for words in (wanted, told)]
    assert statuses == ["broken", "recovered"]
    agreed = chain_of(*lines[:3], "say: Another one?", "user: Yes.", lines[3], 'result b: {"ok": true}', f"say: {told}")
    assert agreed.status == "recovered"


@pytest.mark.parametrize(
    ("user", "failed", "error", "later", "expected"),
    [
        ("Close 301 and 302.", 'close {"id": 301, "as": "dup", "of": "290"}', "invalid", "301 302", None),
        ("Close 301, or if that fails 302.", 'close {"id": 301, "as": "dup", "of": "290"}', "invalid", "301 302", 2),
        ("Close 12 and 15.", 'Bash {"command": "gh issue close 12"}', "Could not resolve to 12", "12 15", None),
        ("Give Tomas and Ines access.", 'share {"file": "a", "email": "ines@n.example", "role": "editor"}', "no member",
         "ines tomas", None),
        ("Print the label.", 'print_label {"order": "771", "printer": "hall"}', "printer offline", "hall office", 2),
        ("Check the licences.", 'Bash {"command": "npx license-checkr --all"}', "404 Not Found - GET r/license-checkr",
         "checkr checker", 2),
    ],
)  # fmt: skip
def test_the_next_of_the_items_in_a_request_is_no_correction(
    user: str, failed: str, error: str, later: str, expected: int | None
) -> None:
    old, _, new = later.partition(" ")
    again = failed.replace(old, new)
    assert (
        became(f"call a: {failed}", f"result a!: {error}", f"call b: {again}", "result b: ok", user=user)[1] == expected
    )


@pytest.mark.parametrize(
    ("user", "calls", "error", "answer"),
    [
        ("A 10 GB volume", ('create_volume {"size": 10}', 'create_volume {"size": 10240}'),
         "size is in MB", "10 GB it is."),
        ("Remind me at 5 pm", ('remind {"at": "17:00"}', 'remind {"at": "2026-11-30T16:00:00Z"}'),
         "time zone missing", "I remind you at 5 pm."),
        ("Ship it by express", ('ship {"service": "express"}', 'ship {"service": "EXP"}'),
         "must be one of EXP, STD", "It ships by express."),
        ("How many invoices?", ('query {"sql": "select 1 from invoice"}', 'query {"sql": "select 1 from invoices"}'),
         "locked", "There are 3 invoices."),
    ],
)  # fmt: skip
def test_a_value_in_another_form_is_the_one_that_was_asked_for(
    user: str, calls: tuple[str, str], error: str, answer: str
) -> None:
    lines = f"call a: {calls[0]}", f"result a!: {error}", f"call b: {calls[1]}", "result b: 3"
    assert chain_of(f"user: {user}", *lines, f"say: {answer}").status == "recovered"


SERIES = {
    "tool": ('{} {{"id": "{}", "target": "tax"}}', ("r-101", "r-102", "r-103", "r-104")),
    "script": ('Bash {{"command": "python tools/{}.py feeds/{}.xml"}}', ("alpha", "beta", "gamma", "delta")),
    "option": ('Bash {{"command": "./{}.sh --region {} --quiet"}}', ("eu", "us", "ap", "sa")),
    "file": ('Bash {{"command": "./{}.py scans/{}.tif"}}', ("p1", "p2", "p3", "p4")),
}


def calls_of(series: str, *made: tuple[int, str]) -> list[str]:
    form, items = SERIES[series]
    lines = ((f"call s{n}: {form.format('upload', items[i])}", f"result s{n}{end}") for n, (i, end) in enumerate(made))
    return [text for pair in lines for text in pair]


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("names_items", [True, False])
@pytest.mark.parametrize("is_whole", [True, False])
def test_the_next_of_a_series_repairs_nothing_if_each_item_was_to_be_processed(
    series: str, *, names_items: bool, is_whole: bool
) -> None:
    _, items = SERIES[series]
    listed = items[:3] if is_whole else items
    suffix = {"script": ".xml", "file": ".tif"}.get(series, "")
    listing = "call l: list_things {}", f"result l: {write_json([f'{item}{suffix}' for item in listed])}"
    calls = calls_of(series, (0, ": ok"), (1, "!: no such field"), (2, ": ok"))
    user = f"Upload {', '.join(items[:3])}." if names_items else "Upload some."
    is_item = names_items or (is_whole and series != "option")  # names without a form may be of anything
    recovered = became(*listing, *calls, user=user)
    assert (recovered[0] == "same-intent") is (not is_item and series != "tool")
    retried = calls_of(series, (0, ": ok"), (1, "!: no such field"), (2, ": ok"), (1, ": ok"))
    assert became(*listing, *retried, user=user) in (
        (("same-intent", 5),) if is_item else (("same-intent", 4), ("same-intent", 5))
    )


@pytest.mark.parametrize(
    ("failed", "error", "later"),
    [
        ("worker2", "no such vm", "worker-2"),
        ("php-fpm", "unit not found", "php8.3-fpm"),
        ("web2", "in use", "web2b"),
        ("db2", "unknown, did you mean postgres?", "postgres"),
    ],
)
def test_another_spelling_is_not_the_next_of_a_series(failed: str, error: str, later: str) -> None:
    steps = (("nginx", ": ok"), (failed, f"!: {error}"), (later, ": ok"))
    lines = [
        text
        for number, (name, end) in enumerate(steps)
        for text in (f'call s{number}: Bash {{"command": "python tools/start.py {name}"}}', f"result s{number}{end}")
    ]
    assert became(*lines, user=f"Start nginx and {failed}.") == ("same-intent", 3)


@pytest.mark.parametrize(("later", "expected"), [("b.mov b.mp4", 2), ("c.mov c.mp4", None)])
def test_what_a_loop_failed_for_is_repaired_by_a_line_for_that_item(later: str, expected: int | None) -> None:
    loop = 'for f in *.mov; do ffmpeg -i "$f" "${f%.mov}.mp4" || echo "FAILED $f"; done'
    lines = *run(loop, "FAILED b.mov", "a"), *run(f"ffmpeg -err_detect ignore_err -i {later}", "ok", "b")
    assert became(*lines, user="Convert all clips.")[1] == expected


@pytest.mark.parametrize(
    ("user", "expected"), [("Start web and db2.", ("same-intent", 3)), ("Start web, db2 and postgres.", (None, None))]
)
def test_a_value_that_the_error_names_is_a_correction(user: str, expected: tuple[str | None, int | None]) -> None:
    first = 'call a: start_service {"name": "web"}', "result a: ok"
    failed = 'call b: start_service {"name": "db2"}', "result b!: unknown service db2, did you mean postgres?"
    other = 'call c: start_service {"name": "postgres"}', "result c: ok"
    assert became(*first, *failed, *other, user=user) == expected


@pytest.mark.parametrize(
    ("failed", "error", "later", "expected"),
    [
        ("convert b.tif b.png", "convert: unable to open image 'b.tif': No such file", "convert c.tif c.png", None),
        ("lint en.json", "lint: en.json: No such file", "lint es.json", None),
        ("convert logo.tif a.png", "convert: unable to open 'logo.tif': No such file", "convert logi.tif a.png", 3),
        ("systemctl restart php-fpm", "Unit php-fpm.service not found.", "systemctl restart php8.3-fpm", 3),
        ("systemctl restart app-web", "Unit app-web.service not found.", "systemctl restart app-api", None),
        ('for f in q1 q2; do put $f.pdf || echo "failed $f"; done', "failed q2", "put q2.pdf", 3),
    ],
)
def test_the_thing_that_failed_by_its_right_name_and_not_the_next_one(
    failed: str, error: str, later: str, expected: int | None
) -> None:
    first = run("convert a.tif a.png" if "tif" in failed else "systemctl restart nginx", "", "a")
    second = run(failed, error if "echo" in failed else f"Exit code 1\n{error}", "b")
    chain = chain_of("user: Do all of it.", *first, *second, *run(later, "", "c"), "say: All is done.")
    assert chain.steps[1].recovered_by == expected
