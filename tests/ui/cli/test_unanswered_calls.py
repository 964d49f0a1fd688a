"""A recorded session that ends on a call which nobody answered is broken; while it runs, the call is pending."""

import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, running_upstream
from tests.ui.conftest import run_text
from weaklink.inspector import TraceLogger, inspect_trace
from weaklink.inspector.chain.steps import Status, StepOutcome
from weaklink.inspector.model import BodyState, Trace
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store

_AGENT = """
import json, openai, sys
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]
settings = json.loads(sys.argv[1])
client = openai.OpenAI(api_key="none", max_retries=0)
messages = [{"role": "user", "content": "How warm is it in Oslo?"}]
client.chat.completions.create(model="NousResearch/Hermes-4-70B", messages=messages, tools=tools, **settings)
"""
_OTHER_SYNTAX = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
_CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
_ENDINGS = {
    "another syntax": (scripted.chat_answer(_OTHER_SYNTAX), "F309"),
    "no closing tag": (scripted.chat_answer(f"<tool_call>\n{_CALL}"), "F301"),
    "whole, in the content": (scripted.chat_answer(f"<tool_call>\n{_CALL}\n</tool_call>"), "T404"),
    "structured": (scripted.chat_answer(None, tool="get_weather", arguments='{"city": "Oslo"}'), "T404"),
}
_DEADLINE_S = 20.0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", _ENDINGS)
def test_a_run_that_ends_on_an_unanswered_call_is_broken(tmp_path: Path, name: str) -> None:
    answer, code = _ENDINGS[name]
    with running_upstream(answer) as upstream:
        words = ("--upstream", upstream.url, "--", sys.executable, "-c", _AGENT, "{}")
        done = run_text(tmp_path, "run", "--check", "--db", "t.db", *words)
    assert done.returncode == 1, done.stderr
    assert f"✖ broken   1  How warm is it in Oslo?  #1 {code} " in done.stderr
    with open_store(tmp_path / "t.db") as store:
        (summary,) = store.traces()
        trace, inspection = store.inspected(summary.id)
    assert inspection.chain.broken is not None
    assert inspection.chain.broken.outcome in (StepOutcome.UNANSWERED, StepOutcome.MALFORMED)
    assert inspection.chain == inspect_trace(trace).chain


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "settings",
    ['{"tool_choice": {"type": "function", "function": {"name": "get_weather"}}}', '{"tool_choice": "required"}'],
)
def test_a_call_that_the_request_forced_needs_no_result(tmp_path: Path, settings: str) -> None:
    answer: Answer = _ENDINGS["structured"][0]
    with running_upstream(answer) as upstream:
        words = ("--upstream", upstream.url, "--", sys.executable, "-c", _AGENT, settings)
        done = run_text(tmp_path, "run", "--check", "--db", "t.db", *words)
    assert done.returncode == 0, done.stderr


def test_a_call_is_pending_while_its_session_runs_and_unanswered_once_it_is_idle(tmp_path: Path) -> None:
    sink = StoreSink(tmp_path / "t.db", idle_after_s=1.0)
    with open_store(tmp_path / "t.db") as store:
        log = TraceLogger(sink, format="hermes")
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.feed(f"<tool_call>\n{_CALL}\n</tool_call>")
        sink.flush()
        assert store.traces()[0].status is Status.OK
        assert store.inspected(1)[1].chain.steps[0].outcome is StepOutcome.PENDING
        store.maintenance.reinspect(inspect_trace)
        assert store.traces()[0].status is Status.OK
        deadline_s = time.monotonic() + _DEADLINE_S
        while store.traces()[0].status is Status.OK and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert store.traces()[0].status is Status.BROKEN
        assert not store.traces()[0].running
        log.tool('{"celsius": 3}', name="get_weather")
        with log.assistant() as turn:
            turn.feed("3 degrees.")
        sink.flush()
        assert store.traces()[0].status is Status.OK
        log.close()
        sink.close()
        assert store.traces()[0].status is Status.OK


def test_a_lone_output_a_cut_answer_and_an_import_are_not_judged_so(tmp_path: Path) -> None:
    sink = StoreSink(tmp_path / "t.db")
    with TraceLogger(sink, format="hermes") as log:
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.feed(f"<tool_call>\n{_CALL}\n</tool_call>")
    sink.close()
    with open_store(tmp_path / "t.db") as store:
        recorded = store.trace(1)
    assert inspect_trace(recorded).chain.status is Status.BROKEN
    answer = recorded.turns[1]
    assert answer.generation is not None
    cut = replace(answer, generation=replace(answer.generation, body=BodyState.TRUNCATED, finish=None))
    for trace in (
        replace(recorded, external_ids=()),
        replace(recorded, turns=recorded.turns[1:]),
        replace(recorded, is_open=True),
    ):
        assert inspect_trace(trace).chain.status is Status.OK
    aborted: Trace = replace(recorded, turns=(recorded.turns[0], cut))
    assert inspect_trace(aborted).chain.status is Status.ABORTED
