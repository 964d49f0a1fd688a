"""What makes a failed step good: section 5's words, one by one."""

import pytest
from msgspec import structs

from tests.chain.building import chain_of, trace_of
from weaklink.inspector.chain.analysis import analyse
from weaklink.inspector.chain.pairing import LocatedCall, LocatedResult, pair
from weaklink.inspector.chain.steps import Chain, Recovery
from weaklink.inspector.diagnostics import Diagnostic, Fault, Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Json, Outcome, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range

ERROR = "result: Error: service unavailable"
ASK = "user: Please."


def recovery(*lines: str, outcome: Outcome | None = None) -> tuple[str | None, int | None]:
    """How the first step was made good, and by which."""
    step = chain_of(ASK, *lines, outcome=outcome).steps[0]
    assert step.outcome.failed
    return step.recovery and step.recovery.value, step.recovered_by


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ('get_quote {"symbol": "FJRD"}', 'get_quote {"symbol": "FJRD.OL"}'),
        ('get_weather {"city": "Oslo", "unit": "kelvin"}', 'get_weather {"city": "Oslo", "unit": "celsius"}'),
        ('book {"table": "r_118", "guests": "five"}', 'book {"table": "r_118", "guests": 5}'),
        ('get_user {"user_id": "4711"}', 'get_user {"user_id": 4711}'),
        ('web_search {"query": "heat pump retrofit"}', 'web_search {"query": "heat pump retrofit old house"}'),
        ('read_file {"path": "src/app.py"}', 'read_file {"path": "/work/src/app.py"}'),
        ('bash {"command": "python test.py"}', 'bash {"command": "cd src && python3 ./test.py -v"}'),
        ('bash {"command": "git stauts"}', 'bash {"command": "git stauts"}'),
        ('python {"code": "import numpas\\nprint(total)"}', 'python {"code": "import numpy\\nprint(total)"}'),
        ("list_orders {}", "list_orders {}"),
        ("run {'sql': 'SELECT name FROM users'", 'run {"sql": "SELECT name FROM users"}'),
    ],
)
def test_a_later_good_step_of_the_same_intent(failed: str, later: str) -> None:
    assert recovery(f"call: {failed}", ERROR, f"call: {later}", "result: fine", "say: x") == ("same-intent", 2)


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ('get_weather {"city": "Oslo", "unit": "celsius"}', 'get_weather {"city": "Paris", "unit": "celsius"}'),
        ('get_weather {"city": "Oslo"}', 'get_time {"city": "Oslo"}'),
        ('bash {"command": "foo --all"}', 'bash {"command": "ls"}'),
        ('read_file {"path": "a.txt"}', 'read_file {"path": "b.txt"}'),
        ('bash {"command": "pip install numpy"}', 'bash {"command": "pip install pandas"}'),
        ('get_invoice {"number": "2025-0114"}', 'refund {"invoice": "2025-0114"}'),
    ],
)
def test_another_intent_does_no_work_of_this_one(failed: str, later: str) -> None:
    answer = f"say: Here is what you asked for, {failed}."
    assert recovery(f"call: {failed}", ERROR, f"call: {later}", "result: fine", answer) == (None, None)


def test_calls_made_before_the_failure_was_known_are_no_recovery() -> None:
    lines = ('call a: get {"city": "Oslo"}', 'also b: get {"city": "Oslo, NO"}', "result a: Error: no", "result b: 4")
    assert recovery(*lines, "say: Oslo has 4.") == (None, None)


def test_repeating_the_identical_call_is_none_unless_it_works() -> None:
    call = 'call: get {"city": "Oslo"}'
    assert recovery(call, ERROR, call, ERROR, "say: No.") == (None, None)
    assert recovery(call, ERROR, call, "result: 4", "say: 4.") == ("same-intent", 2)


def test_another_tool_whose_result_holds_what_was_asked_for() -> None:
    failed = 'call: get_order {"order_id": "SO-1042"}'
    listed = ('call: list_orders {"user": "u_77"}', 'result: [{"id": "SO-1042", "order": "2 lamps"}]')
    assert recovery(failed, ERROR, *listed, "say: SO-1042: 2 lamps.") == ("other-tool", 2)
    assert recovery('call: read_file {"path": "a/b.txt"}', ERROR, 'call: bash {"command": "cat a/b.txt"}', "result: x")[
        0
    ] == ("other-tool")


WON = (Outcome(reward=1.0), Outcome(completed=True), Outcome(exit_status="submitted"))


@pytest.mark.parametrize("won", WON, ids=str)
def test_success_alone_recovers_nothing(won: Outcome) -> None:
    failed = ('call: get {"city": "Oslo"}', ERROR)
    assert recovery(*failed, "say: Oslo is fine.", outcome=won)[0] is None
    assert recovery(*failed, "say: All is well.", outcome=won)[0] is None
    assert recovery(*failed, outcome=won)[0] is None
    assert recovery(*failed, "call: put {}", ERROR, "say: All is well.", outcome=won)[0] is None


@pytest.mark.parametrize("won", WON, ids=str)
def test_that_a_run_ended_is_no_evidence_that_a_step_was_not_needed(won: Outcome) -> None:
    lines = ('call: get {"city": "Oslo"}', ERROR, 'call: read {"region": "Bavaria"}', "result: much rain")
    answer = "say: Bavaria gets much rain."
    assert recovery(*lines, answer, outcome=won) == ("not-needed", None)
    solved = won.reward is not None
    assert recovery(*lines, outcome=won)[0] == ("not-needed" if solved else None)
    assert recovery(*lines)[0] is None
    assert recovery(*lines, "say: Bavaria gets as much rain as Oslo.", outcome=won)[0] is None
    assert recovery(*lines, "say: Bavaria gets 812 mm of rain.", outcome=won)[0] is None


def test_success_does_not_count_where_a_later_call_uses_the_failed_result() -> None:
    lines = ('call: get {"city": "Oslo"}', "result: Error: see ticket T4711", 'call: open {"ticket": "T4711"}')
    assert recovery(*lines, "result: x", "say: Done.", outcome=Outcome(reward=1.0))[0] is None


def test_an_answer_that_quotes_nothing_from_it_with_lower_certainty() -> None:
    other = ('call: get_rain {"region": "Bavaria"}', "result: much")
    lines = ('call: lookup {"town": "Hof"}', ERROR, *other)
    assert recovery(*lines, "say: Bavaria gets much rain.") == ("not-needed", None)
    assert not Recovery("not-needed").is_sure
    assert recovery(*lines, "say: Hof, like all Bavaria, gets much rain.")[0] is None
    assert recovery(*lines, "say: Bavaria gets much rain, but one lookup failed.")[0] is None
    assert recovery(*lines, "say: Bavaria gets 812 mm of rain.")[0] is None
    assert recovery('call: lookup {"town": "Hof"}', ERROR, "say: Much rain.")[0] is None


def test_a_call_against_its_schema_that_the_tool_took_all_the_same() -> None:
    def judged(code: str, answer: str) -> Chain:
        rule = Rule(code, "some-fault", Severity.ERROR, "One.", "Two.")
        location = Location(1, "text", Range(2, 20))
        call = LocatedCall(ToolCall("f", {}, "{}", True, location.range), location)
        result = LocatedResult(ToolResult(answer, Range(0, len(answer))), Location(2, "text", Range(0, len(answer))))
        fault = Diagnostic(location, Fault(rule, location.range, "One."))
        return analyse(trace_of("say: x", f"result: {answer}", "say: x"), pair([call, result]), [fault]).chain

    for code in ("S203", "T401"):
        chain = judged(code, "fine")
        assert (chain.status, chain.steps[0].recovery) == ("recovered", Recovery.ANSWERED)
        assert judged(code, "Error: unknown argument").status == "broken"
        assert judged(code, "").status == "broken"


_SCHEMA: dict[str, Json] = {"type": "object", "required": ["command", "risk"]}


@pytest.mark.parametrize(
    "answer",
    [
        "Error validating tool 'terminal': Failed to provide security_risk field in tool 'terminal'.",
        "Error: Invalid JSON arguments. Expecting ',' delimiter. Please retry with valid JSON.",
        "<system>ERROR: Error validating JSON arguments: 1 validation error for Params</system>",
        "Error invoking tool 'terminal' with kwargs {'command': 'cat x'} with error: risk: Field required",
        "Invalid input for tool terminal: Type validation failed.",
        "The terminal tool was called with invalid arguments: missing risk.",
        "1 validation error:\n```json\n[]\n```\n\nFix the errors and try again.",
        "An error occurred while running the tool. Please try again. Error: Invalid JSON input",
        "Input validation error: 'risk' is a required property",
        "MCP error -32602: Invalid arguments for tool terminal: []",
        "InputValidationError: terminal failed due to the following issue",
        "failed to parse function arguments: missing field `risk` at line 1 column 20",
        "Unknown tool: terminal",
        "Error: Validation failed for input parameters: 1 validation error for TerminalTool",
        "Tool 'terminal' not found. Available: ['shell']",
        "The tool call with name 'terminal' is not part of the provided tools, please try again.",
        "The tool call arguments are malformed. Arguments must be in JSON format. Please try again.",
        "terminal() missing 1 required positional argument: 'risk'",
        "Tools.terminal() got an unexpected keyword argument 'danger'",
        "terminal() takes 1 positional argument but 2 were given",
    ],
)
def test_a_call_that_the_agent_rejected_was_not_taken_though_its_command_only_shows_a_file(answer: str) -> None:
    def status(result: str) -> str:
        trace = trace_of(
            "user: Look.", 'call a: terminal {"command": "cat x.log"}', f"result a: {result}", "say: That is done."
        )
        offered = Generation(tools=(ToolDefinition("terminal", "", _SCHEMA, "{}"),))
        turns = [structs.replace(turn, generation=offered) if turn.calls else turn for turn in trace.turns]
        return inspect_trace(structs.replace(trace, turns=tuple(turns))).chain.status

    assert status(answer) == "broken"
    assert status(f"10:02 a log\n{answer}") == "recovered"


def test_a_payload_that_is_no_call_is_broken_whatever_a_server_made_of_it() -> None:
    assert chain_of("call: f {'a': 1}", "result: fine", "say: Fine.").status == "broken"


def test_a_call_that_was_taken_in_spite_of_its_schema_makes_a_failed_one_good() -> None:
    rule = Rule("T401", "some-fault", Severity.ERROR, "One.", "Two.")
    calls: list[LocatedCall | LocatedResult] = []
    turns: list[str] = []
    for turn, answer in ((1, "Error: no"), (3, "4 degrees")):
        location = Location(turn, "text", Range(0, 4))
        calls.append(LocatedCall(ToolCall("f", {"city": "Oslo"}, "{}", True, location.range), location))
        calls.append(LocatedResult(ToolResult(answer, Range(0, 4)), Location(turn + 1, "text", Range(0, 4))))
        turns += ["say: x", f"result: {answer}"]
    faults = [Diagnostic(call.location, Fault(rule, call.location.range, "One.")) for call in calls[::2]]
    chain = analyse(trace_of(*turns, "say: 4 degrees."), pair(calls), faults).chain
    assert [(step.recovery, step.recovered_by) for step in chain.steps] == [("same-intent", 2), ("answered", None)]


@pytest.mark.parametrize("command", ["git merge main", "git cherry-pick 9ac1", "git pull", "git stash pop"])
def test_a_conflict_whose_file_is_edited_is_worked_around(command: str) -> None:
    failed = (
        "user: Bring both together.",
        f'call a: Bash {{"command": "{command}"}}',
        "result a!: Exit code 1\nCONFLICT (content): Merge conflict in app.py",
    )
    edited = ('call b: Edit {"file_path": "app.py", "old_string": "<<<", "new_string": "x"}', "result b: ok")
    commit = ('call c: Bash {"command": "git add -A && git commit --no-edit"}', "result c: [main 1f2] Merge")
    resolved = chain_of(*failed, *edited, *commit, "say: Both are together; app.py had a conflict.")
    assert (resolved.status.value, resolved.steps[0].recovered_by) == ("recovered", 2)
    assert chain_of(*failed, "say: app.py has conflicts that you have to resolve.").status.value == "broken"


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("mkdir /srv/svc", "mkdir -p ~/svc/data"),
        ("touch /var/log/app.log", "touch logs/app.log"),
    ],
)
def test_a_place_that_refuses_is_worked_around_by_another_that_the_agent_names(failed: str, later: str) -> None:
    folder = later.rsplit(maxsplit=1)[-1]

    def status(user: str, end: str) -> str:
        return chain_of(
            f"user: {user}",
            f'call a: Bash {{"command": "{failed}"}}',
            f"result a!: Exit code 1\n{failed}: Permission denied",
            f'call b: Bash {{"command": "{later}"}}',
            "result b: ",
            f"say: {end}",
        ).status.value

    told = f"It is in {folder}, because {failed.rsplit(maxsplit=1)[-1]} is not writable for me."
    assert status("Prepare the service.", told) == "recovered"
    assert status(f"Prepare the service with {failed.rsplit(maxsplit=1)[-1]}", told) == "broken"


@pytest.mark.parametrize(("program", "call"), [("gh", "gh pr create --fill"), ("az", "az login --identity")])
def test_a_program_of_two_letters_is_named(program: str, call: str) -> None:
    chain = chain_of(
        "user: Fix the typo, push it and open a pull request.",
        'call a: Edit {"file_path": "a.md", "old_string": "teh", "new_string": "the"}',
        "result a: ok",
        f'call b: Bash {{"command": "{call}"}}',
        "result b!: Exit code 4\nTo get started, please log in",
        f"say: The typo is fixed. {program} is not logged in.",
    )
    assert (chain.status.value, chain.steps[1].said) == ("broken", "reported")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git commit -am x", "On branch main\nnothing to commit, working tree clean"),
        ("git push", "Everything up-to-date"),
        ("poetry publish", "Nothing to release"),
    ],
)
def test_a_program_that_has_nothing_to_do_did_no_harm(command: str, words: str) -> None:
    def status(end: str) -> str:
        call = f'call a: Bash {{"command": "{command}"}}'
        return chain_of(
            "user: See to my changes.", call, f"result a!: Exit code 1\n{words}", f"say: {end}"
        ).status.value

    assert status("There was nothing left to do.") == "recovered"
    assert status("I committed, pushed and published all changes.") == "broken"


@pytest.mark.parametrize(
    ("later", "status"),
    [("docker start redis", "recovered"), ("docker rm -f redis", "broken"), ("docker ps", "broken")],
)
def test_what_exists_already_may_be_used(later: str, status: str) -> None:
    chain = chain_of(
        "user: Start redis in Docker.",
        'call a: Bash {"command": "docker run -d --name redis redis:7"}',
        'result a!: Exit code 125\nConflict. The container name "/redis" is already in use',
        f'call b: Bash {{"command": "{later}"}}',
        "result b: redis",
        "say: redis runs.",
    )
    assert chain.status.value == status


@pytest.mark.parametrize("question", ["Would terraform change anything?", "Will this plan add something?"])
def test_an_exit_code_that_answers_a_question_is_no_break(question: str) -> None:
    call = 'call a: Bash {"command": "terraform plan -detailed-exitcode"}'
    result = "result a!: Exit code 2\nPlan: 1 to add, 0 to change, 0 to destroy."
    assert chain_of(f"user: {question}", call, result, "say: Yes, it would add one resource.").status.value == "ok"


def _after_an_edit(user: str, call: str, error: str) -> Chain:
    edit = 'call e: Edit {"file_path": "kalk.py", "old_string": "spocti", "new_string": "secti"}', "result e: ok"
    return chain_of(
        f"user: {user}", *edit, f"call b: {call}", f"result b!: {error}", "say: Funkce se teď jmenuje secti."
    )


@pytest.mark.parametrize(
    ("user", "call", "error", "expected"),
    [
        ("přejmenuj funkci spocti na secti", "black kalk.py", "black: not found", "not-needed"),
        ("Rename spocti.", "xdg-open kalk.py", "Exit code 3\nno method available for opening 'kalk.py'", "not-needed"),
        ("Rename spocti and open it in xdg.", "xdg-open kalk.py", "Exit code 3\nno method available", None),
        ("Rename spocti and regenerate the docs.", "make generate", "Exit code 2\nStop.", None),
        ("Rename spocti, format with black.", "black kalk.py", "black: not found", None),
        ("Go.", "make generate", "Exit code 2\nStop.", None),
    ],
)
def test_a_silent_failure_that_the_users_words_do_not_speak_of_is_not_needed(
    user: str, call: str, error: str, expected: str | None
) -> None:
    chain = _after_an_edit(user, f'Bash {{"command": "{call}"}}', error)
    assert chain.steps[1].recovery == expected
    assert chain.certainty == ("low" if expected else "high")


def test_what_a_service_was_to_change_and_each_item_of_a_series_is_needed() -> None:
    user = 'call f: find_user {"name": "דנה"}', 'result f: {"id": 51}'
    added = 'call a: add_group_member {"group": "project", "user": 51}', "result a!: 403 only owners may add members"
    sent = 'call s: send_message {"user": 51, "text": "שלום"}', "result s: sent"
    assert chain_of("user: תוסיף את דנה לקבוצה ותשלח לה הודעה", *user, *added, *sent, "say: שלחתי.").broken is not None
    quotes = 'call n: quote {"ticker": "N"}', "result n: 92.1", 'call r: quote {"ticker": "R"}', "result r!: timeout"
    assert chain_of("user: Closing prices of Nestlé and Roche?", *quotes, "say: 92.10.").broken is not None


def test_another_look_that_brought_the_answer_works_around_one_of_a_tool_in_no_table() -> None:
    failed = 'call a: Task {"prompt": "Find where emails are validated"}', "result a!: 529 overloaded_error"
    look = 'call b: Read {"file_path": "lib/emails.py"}', "result b: def validate(value): return regex.match(value)"
    user, answer = "user: where do we validate emails?", "say: In `validate`, by a regex.match."
    assert chain_of(user, *failed, *look, answer).steps[0].recovery == "worked-around"
    drop = 'call a: db {"query": "ALTER TABLE emails DROP COLUMN a"}', "result a!: must be owner of table emails"
    owner = 'call b: admin {"query": "SELECT owner FROM tables WHERE name = emails"}', "result b: deploy"
    assert chain_of("user: Drop column a.", *drop, *owner, "say: Only deploy owns emails.").broken is not None


def test_a_program_that_is_not_there_is_replaced_by_another_in_the_words_of_any_shell() -> None:
    winget = 'call a: PowerShell {"command": "winget install BurntSushi.ripgrep"}'
    missing = "result a!: winget : The term 'winget' is not recognized as a name of a cmdlet or function."
    scoop = 'call b: PowerShell {"command": "scoop install ripgrep"}', "result b: ripgrep was installed!"
    chain = chain_of("user: install ripgrep", winget, missing, *scoop, "say: ripgrep is installed.")
    assert chain.steps[0].recovery == "other-tool"


def test_what_an_agent_keeps_in_its_memory_is_not_needed() -> None:
    edit = 'call e: Edit {"file_path": "a.md", "old_string": "x", "new_string": "y"}', "result e: ok"
    note = 'call m: save_memory {"fact": "x is called y"}', "result m!: memory is disabled"
    assert chain_of("user: call x y", *edit, *note, "say: Renamed.").steps[1].recovery == "not-needed"


def test_a_look_does_no_work_of_a_change() -> None:
    failed = 'call a: restore_snapshot {"vm": "vm3", "snapshot": "2026-11-03"}', "result a!: snapshot not found"
    look = 'call b: list_snapshots {"vm": "vm3"}', 'result b: ["2026-10-31"]'
    chain = chain_of("user: Restore vm3.", *failed, *look, "say: vm3 has no snapshot of that day.")
    assert (chain.status, chain.steps[0].recovery) == ("broken", None)


def test_the_removal_of_what_was_never_there_is_not_needed_if_the_agent_says_so() -> None:
    gone = 'call a: delete_user {"name": "t2"}', 'result a: {"error": "no such user"}'
    for words, status in (("There was no t2.", "recovered"), ("t2 is deleted.", "broken")):
        assert chain_of("user: Remove the test user t2.", *gone, f"say: {words}").status == status


def test_the_command_that_an_error_names_works_around_it_on_the_same_target() -> None:
    failed = (
        'call a: Bash {"command": "brew install node@22"}',
        "result a!: Error: The `brew link` step did not complete",
    )
    for later, recovery in (("brew link node@22", "worked-around"), ("brew link python@3", None)):
        link = f'call b: Bash {{"command": "{later}"}}', "result b: 220 symlinks created"
        chain = chain_of("user: install node 22", *failed, *link, "say: Node 22 is installed and linked.")
        assert chain.steps[0].recovery == recovery


@pytest.mark.parametrize(
    ("later", "status"),
    [
        ('Bash {"command": "python plot.py"}', "recovered"),
        ('Bash {"command": "pytest -q"}', "recovered"),
        ('Read {"file_path": "plot.py"}', "broken"),
        ('Bash {"command": "python other.py"}', "broken"),
    ],
)
def test_a_write_whose_result_the_log_lacks_is_shown_by_what_rests_on_it(later: str, status: str) -> None:
    write = 'call a: Write {"file_path": "plot.py", "content": "print(1)"}'
    chain = chain_of("user: Plot the sales.", write, f"call b: {later}", "result b: 1", "say: I wrote plot.py.")
    assert (chain.status.value, chain.certainty.value) == (status, "low" if status == "recovered" else "high")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The copy is still missing: rclone has no access to the drive.", None),
        ("a.pdf was copied with scp, because rclone has no access.", "other-tool"),
    ],
)
def test_what_the_agent_says_is_still_to_be_done_was_not_repaired(words: str, expected: str | None) -> None:
    copy = 'call a: Bash {"command": "rclone copy out/a.pdf drive:b"}', "result a!: Exit code 1\ninvalid_grant"
    other = 'call b: Bash {"command": "mytool out/a.pdf"}', "result b: 12 pages", f"say: {words}"
    assert chain_of("user: Copy out/a.pdf to the drive.", *copy, *other).steps[0].recovery == expected


@pytest.mark.parametrize(("later", "expected"), [("jobs list --failed", None), ("jobs retry --failed", "same-intent")])
def test_a_program_that_only_lists_does_not_do_what_another_subcommand_was_to(later: str, expected: str | None) -> None:
    call = (
        'call a: Bash {"command": "fleetctl jobs retry --failed"}',
        "result a!: Exit code 1\nerror: role admin needed",
    )
    again = f'call b: Bash {{"command": "fleetctl {later}"}}', "result b: 12"
    chain = chain_of("user: Retry the failed jobs.", *call, *again, "say: 12 jobs have failed.")
    assert chain.steps[0].recovery == expected


def test_a_tool_that_is_not_there_is_not_needed_whether_the_tools_are_known_or_not() -> None:
    first = 'call a: bash {"command": "wc -l notes.txt"}', "result a: 3 notes.txt"
    wrong = 'call b: no_such_tool {"path": "other.txt"}', "result b!: Tool no_such_tool not found"
    trace = trace_of("user: How many lines has notes.txt?", *first, *wrong, "say: notes.txt has three lines.")
    offered = Generation(tools=(ToolDefinition("bash", "", {"type": "object"}),))
    turns = tuple(structs.replace(turn, generation=offered) if turn.calls else turn for turn in trace.turns)
    asked = structs.replace(trace, turns=turns)
    steps = [inspect_trace(either).chain.steps[1] for either in (trace, asked)]
    assert [step.outcome.value for step in steps] == ["error-result", "unknown-tool"]
    assert [step.recovery for step in steps] == ["not-needed", "not-needed"]
