"""`weaklink ask`: rates of servers that are known, bounds, busy servers, secrets, and what is sent."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Drop, Framing, Received, running_upstream
from tests.ui.experiments.asking import APIS, BROKEN, GOOD, broken_trace, database, run, said, server
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Json, ParentWhy, Part
from weaklink.inspector.replay.resend import ResendError, turn_request
from weaklink.storage.store import open_store
from weaklink.ui.cli.group import weaklink

KEY = "wl-test-4f6c1a7b9d2e8f305a6b7c8d"


def _is_changed(body: Mapping[str, Json]) -> bool:
    return body.get("temperature") == 0


def _is_whole(request: Received) -> bool:
    return request.is_whole


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("api", list(APIS))
def test_the_rates_of_a_known_server_are_found(api: str, tmp_path: Path) -> None:
    where = database(tmp_path, api)
    with running_upstream(server(api, lambda body: 0.1 if _is_changed(body) else 0.9)) as upstream:
        done = run(
            *("ask", "1", "--upstream", upstream.url, "--set", "temperature=0", "-n", "60", "--yes", "--json"),
            *("--db", where),
        )
    report = json.loads(done.stdout)
    row, trailing, *_ = report["rates"]
    assert (done.exit_code, report["turn"], report["api"]) == (0, 3, APIS[api]), done.stderr
    assert report["counted"] == 60
    assert row["rule"] == "any"
    assert trailing["rule"] == "J104"
    assert row["interval"][0] <= 0.1 <= row["interval"][1] < 0.9
    assert row["original"]["interval"][0] <= 0.9 <= row["original"]["interval"][1]
    assert row["difference"]["interval"][0] <= -0.8 <= row["difference"]["interval"][1] < 0
    assert row["difference"]["value"] == pytest.approx((row["hits"] - row["original"]["hits"]) / row["answers"])
    bodies = [json.loads(request.body) for request in upstream.requests]
    changed = sum(map(_is_changed, bodies))
    assert abs(2 * changed - len(bodies)) <= 4, "both settings are asked equally often"
    with open_store(where) as store:
        kept = store.traces(f"session:{report['experiment']}", limit=200)
        parent = broken_trace(api).external_ids[0]
    assert len(kept) == report["kept"] == len(bodies) == report["requests"]
    assert all(trace.parent is not None and trace.parent.external_id == parent for trace in kept)
    assert all(trace.parent is not None and trace.parent.why is ParentWhy.FORK for trace in kept)


def test_equal_rates_do_not_differ(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 1.0)) as upstream:
        done = run(
            *("ask", "1", "--upstream", upstream.url, "--set", "temperature=0", "-n", "12", "--yes", "--json"),
            *("--db", where),
        )
    report = json.loads(done.stdout)
    low, high = report["rates"][0]["difference"]["interval"]
    assert (report["counted"], report["requests"]) == (12, 24)
    assert low < 0 < high
    assert report["stopped"] is None


def test_the_original_alone_is_rebuilt_as_it_was_and_asked_again_from_the_record(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 1.0)) as upstream:
        first = run("ask", "1", "--upstream", upstream.url, "-n", "1", "--yes", "--json", "--db", where)
        again = run("ask", "2", "--upstream", f"{upstream.url}/v1", "-n", "1", "--yes", "--json", "--db", where)
    report, repeated = json.loads(first.stdout), json.loads(again.stdout)
    payload, other = (json.loads(request.body) for request in upstream.requests)
    assert payload == other
    assert [request.target for request in upstream.requests] == ["/v1/chat/completions"] * 2
    assert (payload["model"], payload["temperature"], len(payload["tools"])) == ("small", 0.7, 1)
    assert [message["content"] for message in payload["messages"]] == ["You are terse.", "Is it warm in Oslo?"]
    assert report["notes"][0] == "The request was not recorded; it is rebuilt from the trace."
    assert repeated["notes"] == []
    assert report["rates"][0]["original"] is None


def test_a_rebuilt_anthropic_request_has_its_own_shape(tmp_path: Path) -> None:
    where = database(tmp_path, "anthropic")
    done = run("ask", "1", "--db", where)
    body = json.loads(done.stdout)
    assert body["system"] == [{"type": "text", "text": "You are terse."}]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Is it warm in Oslo?"}]}]
    assert body["tools"][0]["input_schema"]["required"] == ["city"]
    assert body["max_tokens"] > 0
    assert "nothing was sent" in done.stderr


def test_every_change_reaches_the_server_and_nothing_else_does(tmp_path: Path) -> None:
    where = database(tmp_path)
    (tmp_path / "system.txt").write_text("Be careful.")
    (tmp_path / "tools.json").write_text("[]")
    words: tuple[str, ...] = (
        "--set",
        "temperature=",
        "--set",
        "response_format.type=json_object",
        "--model",
        "large",
        "--system",
        str(tmp_path / "system.txt"),
        "--tools",
        str(tmp_path / "tools.json"),
    )
    with running_upstream(server("openai", lambda body: 0.0)) as upstream:
        run("ask", "1", "--upstream", upstream.url, *words, "-n", "1", "--yes", "--db", where)
    bodies = sorted((json.loads(request.body) for request in upstream.requests), key=lambda body: body["model"])
    changed, original = bodies
    assert changed == {
        "model": "large",
        "messages": [{"role": "system", "content": "Be careful."}, original["messages"][1]],
        "tools": [],
        "response_format": {"type": "json_object"},
    }


def test_with_fix_adds_the_advice_to_the_prompt_and_edit_changes_it_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = database(tmp_path)
    fixed = json.loads(run("ask", "1", "--with-fix", "--db", where).stdout)
    assert fixed["messages"][0]["content"].startswith("You are terse.\n\nMake every tool call in exactly")
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i s/terse/verbose/ "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    edited = json.loads(run("ask", "1", "--edit", "--db", where).stdout)
    assert edited["messages"][0]["content"] == "You are verbose."


@pytest.mark.one_in(4)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("name", "arguments", "advice"),
    [
        ("weather", '{"city": 5}', "The weather. Avoid this mistake: "),
        ("wether", GOOD, "You are terse.\n\nCall only these tools, by exactly these names: weather."),
    ],
)
def test_with_fix_advises_where_the_fault_belongs(
    tmp_path: Path, api: str, name: str, arguments: str, advice: str
) -> None:
    trace = broken_trace(api)
    *before, broken = trace.turns
    answer = replace(broken, parts=(Part("call:0", arguments),), calls=(CallHeader("call:0", name, "c1"),))
    where = str(tmp_path / "t.db")
    with open_store(where) as store:
        made = replace(trace, turns=(*before, answer))
        store.save([(made, inspect_trace(made))])
    body = json.loads(run("ask", "1", "--turn", "3", "--with-fix", "--db", where).stdout)
    tool = body["tools"][0]
    described = tool.get("function", tool)["description"]
    prompt = body["messages"][0]["content"] if api == "openai" else body["system"]
    prompt = prompt if isinstance(prompt, str) else prompt[0]["text"]
    changed, same = (described, prompt) if name == "weather" else (prompt, described)
    assert changed.startswith(advice)
    assert same in {"You are terse.", "The weather."}


def test_bounds_hold(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 0.0)) as upstream:
        common = ("ask", "1", "--upstream", upstream.url, "-n", "20", "--json", "--db", where)
        few = json.loads(run(*common, "--max-requests", "3", "--yes").stdout)
        sent = len(upstream.requests)
        tokens = json.loads(run(*common, "--max-tokens", "250", "--yes").stdout)
        refused = run(*common)
    assert (few["requests"], few["counted"], sent) == (3, 3, 3)
    assert few["stopped"] == "the limit of 3 requests is reached (`--max-requests`)"
    assert 0 < tokens["requests"] < 20
    assert tokens["tokens"] <= 250
    assert refused.exit_code == 2
    assert "will be sent 20 times (about 1,000 prompt tokens" in refused.stderr
    assert len(upstream.requests) == sent + tokens["requests"]


def test_a_busy_server_is_asked_again_after_the_time_it_names(tmp_path: Path) -> None:
    where = database(tmp_path)
    answered: dict[int, int] = {}

    def busy_at_first(request: Received) -> Answer:
        number = answered.setdefault(id(request), len(answered))
        if number >= 2:
            return said("openai", broken=False)
        error = scripted.error(429, "Too Many Requests")
        return Answer(error.pieces, 429, "Too Many Requests", (*error.headers, ("Retry-After", "0.05")), error.framing)

    with running_upstream(busy_at_first) as upstream:
        done = run("ask", "1", "--upstream", upstream.url, "-n", "2", "--yes", "--json", "--db", where)
    report = json.loads(done.stdout)
    assert (report["counted"], report["requests"], report["failures"]) == (2, 4, [])


def test_a_refusal_ends_the_experiment_with_the_servers_words(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(scripted.error(401, "Unauthorized", "Bad key.")) as upstream:
        done = run("ask", "1", "--upstream", upstream.url, "--parallel", "1", "--yes", "--json", "--db", where)
    report = json.loads(done.stdout)
    assert (done.exit_code, report["requests"], report["kept"]) == (2, 1, 0)
    assert report["stopped"] == "the server answered 401: Bad key."


def test_answers_that_were_not_stored_are_not_said_to_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.resending._ATTEMPTS", 1)
    where = database(tmp_path, "openai")
    done = run("ask", "1", "--upstream", "http://127.0.0.1:9", "-n", "1", "--yes", "--db", where)
    assert (done.exit_code, "0 answers saved as forks" in done.stdout) == (2, True)
    assert "lists the answers" not in done.stderr
    with running_upstream(scripted.chat_answer("Hello.")) as upstream:
        done = run("ask", "1", "--upstream", upstream.url, "-n", "1", "--yes", "--db", where)
    assert "lists the answers" in done.stderr


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_server_that_nobody_reaches_ends_the_experiment(
    parallel: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.resending._ATTEMPTS", 1)
    where = database(tmp_path, "openai")
    asked = ("ask", "1", "--upstream", "http://127.0.0.1:9", "-n", "40", "--parallel", str(parallel), "--yes")
    done = run(*asked, "--json", "--db", where)
    value = json.loads(done.stdout)
    assert (done.exit_code, value["kept"]) == (2, 0)
    assert value["requests"] <= parallel
    assert "the server at http://127.0.0.1:9/v1 cannot be reached" in value["stopped"]


def test_a_server_that_closes_the_connection_on_one_setting_does_not_end_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.inspector.capture.resending._ATTEMPTS", 1)

    with running_upstream(Answer((Drop(reset=False),))) as upstream:
        asked = ("ask", "1", "--upstream", upstream.url, "-n", "3", "--parallel", "1", "--yes", "--json")
        value = json.loads(run(*asked, "--db", database(tmp_path, "openai")).stdout)
    assert (value["requests"], value["stopped"]) == (3, None)


@pytest.mark.parametrize(("api", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_the_key_is_sent_and_never_stored(
    api: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server repeats the key in its answer and in an error."""
    where = database(tmp_path, api)
    monkeypatch.setenv(variable, KEY)
    spoken = (
        scripted.chat_answer(f"Your key is {KEY}.")
        if api == "openai"
        else scripted.messages_stream("Your key is ", KEY[:9], KEY[9:])
    )
    with running_upstream(spoken) as upstream:
        done = run("ask", "1", "--upstream", upstream.url, "-n", "2", "--yes", "--json", "--db", where)
    with running_upstream(scripted.error(403, "Forbidden", f"{KEY} is not allowed.")) as refusing:
        refused = run("ask", "1", "--upstream", refusing.url, "-n", "1", "--yes", "--db", where)
    head = {name.lower(): value for name, value in upstream.requests[0].headers}
    assert KEY in head["authorization" if api == "openai" else "x-api-key"]
    assert KEY not in done.output + refused.output
    assert json.loads(done.stdout)["kept"] == 2
    with open_store(where) as store:
        texts = [part.text for id_ in (2, 3) for turn in store.trace(id_).turns for part in turn.parts]
        exchanges = [trace for id_ in (2, 3) for trace in store.exchanges.of(id_).traces[id_]]
    assert any("Your key is" in text for text in texts)
    assert not any(KEY in text for text in texts)
    assert not any(KEY.encode() in (exchange.request or b"") + (exchange.answer or b"") for exchange in exchanges)
    assert not any(KEY in value for exchange in exchanges for _, value in exchange.headers)
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_an_interrupt_keeps_what_came(tmp_path: Path) -> None:
    where = database(tmp_path)
    answered: dict[int, int] = {}

    def slow_at_last(request: Received) -> Answer:
        number = answered.setdefault(id(request), len(answered))
        if number == 3 and _is_whole(request):
            os.kill(os.getpid(), signal.SIGINT)
        return said("openai", broken=True)

    with running_upstream(slow_at_last) as upstream:
        done = run(
            *("ask", "1", "--upstream", upstream.url, "--parallel", "1", "-n", "500", "--yes", "--json", "--db", where)
        )
    report = json.loads(done.stdout)
    assert (done.exit_code, report["interrupted"]) == (130, True)
    assert 3 <= report["kept"] < 500
    assert report["rates"][0]["hits"] == report["counted"] == report["kept"]
    with open_store(where) as store:
        assert store.paging().count(f"session:{report['experiment']}") >= report["kept"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--set", "nonsense"), "is not of the form NAME=VALUE"),
        (("--key-env", "NO_SUCH_KEY"), "is not set"),
        (("--upstream", "ftp://there"), "write `http://` or `https://` before it"),
    ],
)
def test_nothing_is_sent_with_options_that_cannot_be_read(words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    with running_upstream(said("openai", broken=False)) as upstream:
        done = CliRunner().invoke(
            weaklink, ["ask", "1", "--upstream", upstream.url, "--yes", "--db", database(tmp_path), *words]
        )
    assert done.exit_code
    assert why in " ".join(f"{done.output} {done.exception}".split())
    assert not upstream.requests


def test_marked_traces_are_asked_one_after_the_other_within_the_same_bounds(tmp_path: Path) -> None:
    location = database(tmp_path)
    with open_store(location) as store:
        trace, inspection = store.inspected(1)
        store.save([(replace(trace, name="another", external_ids=()), inspection)])
        for id_ in (1, 2):
            store.marks.put(id_)
    with running_upstream(*(said("openai", broken=False) for _ in range(6))) as upstream:
        words = ("--upstream", upstream.url, "--yes", "-n", "2", "--parallel", "1", "--json", "--db", location)
        done = CliRunner().invoke(weaklink, ["ask", "@marked", *words, "--max-requests", "3"])
    assert len(upstream.requests) == 3
    assert [json.loads(line)["trace"] for line in done.stdout.splitlines()] == [1, 2]


def test_what_cannot_be_asked_again_is_refused() -> None:
    trace = broken_trace("openai")
    with pytest.raises(ResendError, match="turn 2 is not an answer of a model, as are 3"):
        turn_request(trace, (), 2)
    answer = trace.turns[2]
    assert answer.generation is not None
    gemini = replace(answer, generation=replace(answer.generation, api="generate_content"))
    with pytest.raises(ResendError, match=r"a request for `generate_content` cannot be rebuilt; `--api openai`"):
        turn_request(replace(trace, turns=(*trace.turns[:2], gemini)), (), 3)


def test_broken_off_answers_do_not_count(tmp_path: Path) -> None:
    where = database(tmp_path)
    whole = said("openai", broken=True)
    cut = Answer((whole.body[:40], Drop()), headers=whole.headers, framing=Framing.CHUNKED)
    answered: dict[int, int] = {}

    def every_second(request: Received) -> Answer:
        return cut if answered.setdefault(id(request), len(answered)) % 2 else whole

    with running_upstream(every_second) as upstream:
        done = run(
            *("ask", "1", "--upstream", upstream.url, "--parallel", "1", "-n", "4", "--yes", "--json", "--db", where)
        )
    report = json.loads(done.stdout)
    assert (report["counted"], report["kept"], report["requests"]) == (2, 2, 4)
    assert report["failures"][0]["answers"] == 2
    assert report["rates"][0]["hits"] == 2


def test_the_table_names_rates_intervals_and_what_they_mean(tmp_path: Path) -> None:
    where = database(tmp_path)
    with running_upstream(server("openai", lambda body: 0.0 if _is_changed(body) else 1.0)) as upstream:
        words = ("ask", "1", "--upstream", upstream.url, "--set", "temperature=0", "--max-requests", "50")
        done = run(*words, "--max-tokens", "100000", "--db", where)
    lines = done.stdout.splitlines()
    assert " ".join(lines[0].split()).startswith("rule rate 95 % interval original 95 % interval difference")
    assert lines[1].startswith("any error")
    assert "-100 points" in lines[1]
    assert any(line.startswith("J104 trailing-comma") for line in lines)
    assert any(line.startswith("Each interval has 95 % confidence") for line in lines)
    assert "/temperature  0.7 → 0" in done.stderr
    assert BROKEN not in done.stdout
