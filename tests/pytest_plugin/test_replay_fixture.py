"""The fixture `weaklink_replay`, in the pytest run of a user: recorded, replayed, and failing at the difference."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import weaklink.inspector.pytest_plugin.replaying  # noqa: F401  # here once: what a run in this process loads, it forgets again
from tests.capture import scripted_answers as scripted
from tests.capture.upstream import running_upstream
from weaklink import pytest_plugin

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
_TEST = """
import json, os, urllib.request

def ask(words):
    body = {"model": "m", "messages": [{"role": "user", "content": words}]}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

def test_booking(weaklink_replay):
    weaklink_replay("runs/booking.jsonl"%s)
"""
Runs = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs a test whose body uses the fixture, in a run of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(body: str, *options: str, arguments: str = "") -> pytest.RunResult:
        pytester.makepyfile(_TEST % arguments + "".join(f"    {line}\n" for line in body.splitlines()))
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options, plugins=[pytest_plugin])

    return run


def _record(run: Runs, body: str) -> None:
    with running_upstream(scripted.json_answer({"choices": [{"message": {"content": "Booked"}}]})) as upstream:
        run(body, "--weaklink-record", arguments=f", upstream={upstream.url!r}").assert_outcomes(passed=1)


def test_a_recording_is_made_and_answers_without_a_server(run: Runs, pytester: pytest.Pytester) -> None:
    body = 'assert [ask("Book"), ask("Pay")] == ["Booked", "Booked"]'
    _record(run, body)
    before = (pytester.path / "runs/booking.jsonl").read_bytes()
    for _ in range(3):
        run(body).assert_outcomes(passed=1)
    assert (pytester.path / "runs/booking.jsonl").read_bytes() == before


def test_a_difference_fails_the_test_and_is_named(run: Runs) -> None:
    _record(run, 'ask("Book a room")')
    result = run('try: ask("Book a rook")\nexcept OSError: pass')
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            '*/messages/0/content, message 1, characters 10 to 11: recorded "Book a room", now "Book a rook".',
            "*--weaklink-record*",
        ]
    )


def test_a_request_never_made_fails_the_test(run: Runs) -> None:
    _record(run, 'ask("Book")\nask("Pay")')
    run('ask("Book")').assert_outcomes(passed=1, errors=1)
    run('ask("Book")', arguments=", allow_unused=True").assert_outcomes(passed=1)


def test_a_failing_test_keeps_its_recording_and_a_missing_one_is_named(run: Runs, pytester: pytest.Pytester) -> None:
    run('ask("Book")').stdout.fnmatch_lines(
        ["*runs/booking.jsonl does not exist; `pytest --weaklink-record` records it*"]
    )
    _record(run, 'ask("Book")')
    before = (pytester.path / "runs/booking.jsonl").read_bytes()
    with running_upstream(scripted.json_answer({"choices": [{"message": {"content": "Lost"}}]})) as upstream:
        result = run('assert ask("Book") == "Booked"', "--weaklink-record", arguments=f", upstream={upstream.url!r}")
    result.assert_outcomes(failed=1)
    assert (pytester.path / "runs/booking.jsonl").read_bytes() == before
    assert json.loads(before.splitlines()[1])["trace"]["exchanges"]
    assert [path.name for path in (pytester.path / "runs").iterdir()] == ["booking.jsonl"]
