"""Why a session broke, was aborted or went in circles is named wherever the session is listed."""

import json
import sys
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.conftest import run_text
from weaklink.inspector import inspect_trace
from weaklink.inspector.chain.endings import abort_words
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    ExternalId,
    FinishReason,
    Generation,
    GenerationError,
    Outcome,
    Role,
    Trace,
    Turn,
)
from weaklink.inspector.model.trace import RECORDING_ID

_AGENT = f"""{CHAT_CLIENT}
schema = {{"type": "object", "properties": {{"city": {{"type": "string"}}}}}}
tools = [{{"type": "function", "function": {{"name": "get_weather", "parameters": schema}}}}]
messages = [{{"role": "user", "content": "How warm is it in Oslo?"}}]
try:
    while True:
        answer = create(model="m", messages=messages, tools=tools)
        messages.append(answer)
        if not answer.get("tool_calls"):
            break
        for call in answer["tool_calls"]:
            messages.append({{"role": "tool", "tool_call_id": call["id"], "content": "Oslo is a city."}})
except OSError:
    pass
"""
_WORDS = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'


def _everywhere(folder: Path) -> dict[str, str]:
    """What each command writes about the session; `run` has recorded it."""
    shown = {
        name: run_text(folder, *words, "--db", "t.db")
        for name, words in {
            "list": ("list",),
            "json": ("list", "--json"),
            "show": ("show", "latest"),
            "show json": ("show", "latest", "--json"),
        }.items()
    }
    return {name: done.stdout for name, done in shown.items()}


def test_an_abort_names_its_reason_everywhere(tmp_path: Path) -> None:
    refused = scripted.error(400, "Bad Request", _WORDS)
    with running_upstream(refused) as upstream:
        words = ("--upstream", upstream.url, "--", sys.executable, "-c", _AGENT)
        done = run_text(tmp_path, "run", "--check", "--db", "t.db", *words)
    reason = f"C505 400 {_WORDS}"
    assert done.returncode == 1
    assert "… aborted   1  How warm is it in Oslo?  C505 400" in done.stderr
    assert f"1 aborted: {reason}\n" in done.stderr
    shown = _everywhere(tmp_path)
    assert shown["list"].rstrip("\n").endswith(f"\t{reason}")
    assert json.loads(shown["json"])["abort_message"] == reason
    assert json.loads(shown["show json"])["abort_message"] == reason
    head = " ".join(shown["show"].partition("map ")[0].split())
    assert f"status … aborted by upstream · 1 error reason {reason}" in head


def test_a_loop_and_other_warnings_show_in_lists(tmp_path: Path) -> None:
    def answer(request: Received) -> Answer:
        if request.body.count(b'"role":"tool"') == 3:
            return scripted.chat_answer("It is in Norway.")
        return scripted.chat_answer(None, tool="get_weather", arguments='{"city": "Oslo"}')

    with running_upstream(answer) as upstream:
        words = ("--upstream", upstream.url, "--", sys.executable, "-c", _AGENT)
        done = run_text(tmp_path, "run", "--db", "t.db", *words)
    assert "✔ ok     1  How warm is it in Oslo?  ▲ T408 repeated-call" in done.stderr
    shown = _everywhere(tmp_path)
    assert "\t▲ T408 repeated-call" in shown["list"]
    assert "T408" in json.loads(shown["json"])["codes"]


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (Generation(error=GenerationError(ErrorPhase.CONNECT, "no\nroute")), "C505 no route"),
        (Generation(error=GenerationError(ErrorPhase.HTTP, "x" * 300, 429)), f"C505 429 {'x' * 190}…"),
        (Generation(error=GenerationError(ErrorPhase.HTTP, "no answer", 200)), "C512 200 no answer"),
        (Generation(error=GenerationError(ErrorPhase.TRANSPORT, "reset")), "C504 reset"),
        (Generation(error=GenerationError(ErrorPhase.IN_STREAM, "worker died")), "C508 worker died"),
        (Generation(body=BodyState.TRUNCATED), "C504 the answer ended without an end sign"),
        (Generation(finish=FinishReason.LENGTH), "C503 the output limit was reached"),
        (Generation(finish=FinishReason.FILTER), "a content filter stopped the output"),
        (Generation(finish=FinishReason.STOP), ""),
        (Outcome(exit_status="LimitsExceeded"), "exit status LimitsExceeded"),
    ],
)
def test_the_words_of_an_abort(trace: Generation | Outcome, words: str) -> None:
    generation = trace if isinstance(trace, Generation) else Generation(finish=FinishReason.STOP)
    outcome = trace if isinstance(trace, Outcome) else None
    whole = Trace((Turn(Role.USER, ()), Turn(Role.ASSISTANT, (), generation=generation)), outcome=outcome)
    assert abort_words(whole) == words
    assert bool(words) == (inspect_trace(whole).chain.abort_reason is not None)


def test_the_words_of_an_abort_are_those_that_run_wrote() -> None:
    turns = (Turn(Role.USER, ()), Turn(Role.ASSISTANT, (), generation=Generation(finish=FinishReason.STOP)))
    stopped = Outcome(completed=False, exit_status="interrupted by SIGINT")
    recorded = (ExternalId(RECORDING_ID, "r1"),)
    assert abort_words(Trace(turns, outcome=stopped, external_ids=recorded)) == "interrupted by SIGINT"


def test_an_abort_has_the_code_of_its_diagnostic() -> None:
    """Whatever failed: lists and the trace itself name the same rule."""
    for phase in ErrorPhase:
        for status in (None, 200, 302, 500):
            generation = Generation(error=GenerationError(phase, "it failed", status), finish=FinishReason.ERROR)
            whole = Trace((Turn(Role.USER, ()), Turn(Role.ASSISTANT, (), generation=generation)))
            (diagnostics,) = inspect_trace(whole).diagnostics
            assert abort_words(whole).split()[0] == diagnostics.rule.code


def test_words_with_backticks_are_quoted_by_other_marks() -> None:
    generation = Generation(error=GenerationError(ErrorPhase.TRANSPORT, "The upstream `http://x` did not answer."))
    whole = Trace((Turn(Role.USER, ()), Turn(Role.ASSISTANT, (), generation=generation)))
    (diagnostics,) = inspect_trace(whole).diagnostics
    assert diagnostics.fault.message == "The connection broke: “The upstream `http://x` did not answer”."


def test_a_loop_is_named_behind_the_break_of_a_list(tmp_path: Path) -> None:
    turns: list[dict[str, object]] = [{"role": "user", "content": "Find x."}]
    for number in range(5):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": '{"a": "x"}'}}
        turns += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "Error: no such record: x"},
        ]
    turns.append({"role": "assistant", "content": "The record x is updated."})
    (tmp_path / "loop.jsonl").write_text(json.dumps({"messages": turns}), encoding="utf-8")
    run_text(tmp_path, "import", "loop.jsonl", "--db", "t.db")
    listed = run_text(tmp_path, "list", "--db", "t.db").stdout
    assert "#1 T406 error-result f · T408 repeated-call" in listed
