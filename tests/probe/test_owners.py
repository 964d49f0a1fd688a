"""The model's own text, by each method that a server may support; and silence where there is none."""

import json
from typing import Any

import pytest

from tests.probe.model_server import Body, Fault, ModelServer, Parsed, Paths, call_text
from tests.probe.test_planted_faults import probed
from weaklink.inspector.probe.judging import Owner
from weaklink.inspector.probe.ownership import RawMethod
from weaklink.inspector.probe.results import ProbeMode
from weaklink.inspector.probe.suite import ProbeRequest

_ONE = ("one-call-1",)
_CALL = call_text("get_weather", {"city": "Oslo"})


def _lost(value: Parsed, body: Body) -> Parsed:
    """The server loses all calls."""
    return Parsed("", [], "stop")


def _prompt(body: Body, _: ModelServer) -> Any:
    return {"prompt": json.dumps(body)}


def _tokens(body: Body, _: ModelServer) -> Any:
    return {"tokens": [1, 2, 3], "count": 3}


def _completion(body: Body, server: ModelServer) -> Any:
    assert body["skip_special_tokens"] is False
    return {"choices": [{"index": 0, "text": server.written(server.requests[0]), "finish_reason": "stop"}]}


def _unparsed(value: Any, body: Body) -> Any:
    """A server that does not parse an answer to `tool_choice: none`, as vLLM and SGLang."""
    if body.get("tool_choice") == "none":
        value["choices"][0]["message"]["content"] = (
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
        )
    return value


def _verbose(value: Any, body: Body) -> Any:
    return {**value, "__verbose": {"content": _CALL}}


_COMPLETES = {"/v1/completions": _completion}
METHODS = {
    RawMethod.LOGPROBS: Fault(parsed=_lost),
    RawMethod.TEMPLATE: Fault(parsed=_lost, logprobs=False, paths={"/apply-template": _prompt, **_COMPLETES}),
    RawMethod.TOKENIZE: Fault(parsed=_lost, logprobs=False, paths={"/tokenize": _tokens, **_COMPLETES}),
    RawMethod.UNPARSED: Fault(parsed=_lost, logprobs=False, whole=_unparsed),
    RawMethod.VERBOSE: Fault(parsed=_lost, logprobs=False, whole=_verbose),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_method_names_the_server_that_lost_a_call(method: RawMethod) -> None:
    whole = [answer for answer in probed(METHODS[method], _ONE) if answer.record.mode is ProbeMode.WHOLE]
    (finding,) = whole[0].record.findings
    assert (finding.kind, finding.owner) == ("call-missing", Owner.SERVER)
    assert f"`{method}`" in finding.evidence
    assert '`get_weather` with `{"city": "Oslo"}`' in finding.evidence


def test_without_the_models_text_nobody_is_named() -> None:
    answers = probed(Fault(parsed=_lost, logprobs=False), _ONE)
    for answer in answers:
        (finding,) = answer.record.findings
        assert (finding.kind, finding.owner) == ("call-missing", Owner.UNKNOWN)
        assert "no access to the model's own text" in finding.evidence


def test_a_fault_that_does_not_come_again_has_no_owner() -> None:
    """A server that fails only without `logprobs`."""

    def parsed(value: Parsed, body: Body) -> Parsed:
        return value if body.get("logprobs") else _lost(value, body)

    for answer in probed(Fault(parsed=parsed), _ONE):
        (finding,) = answer.record.findings
        assert finding.owner is Owner.UNKNOWN
        assert "did not fail in this way" in finding.evidence


def test_a_refused_method_is_not_tried_again() -> None:
    def status(body: Body) -> int:
        return 400 if "logprobs" in body or body.get("tool_choice") == "none" else 200

    answers = probed(Fault(parsed=_lost, status=status), ("one-call-1", "one-call-2", "one-call-3"))
    assert {finding.owner for answer in answers for finding in answer.record.findings} == {Owner.UNKNOWN}


def test_a_named_parser_tells_what_it_is_known_to_do_with_the_text() -> None:
    """A call that the server lost is not what vLLM's parser does with that text, streamed or not."""
    whole, streamed = probed(Fault(parsed=_lost), _ONE, "vllm:hermes")
    (finding,) = whole.record.findings
    assert (finding.owner, finding.as_predicted) == (Owner.SERVER, False)
    assert "The parser of vLLM 0.33.0 (`hermes`) returns 1 call here" in finding.evidence
    assert "This server did something else" in finding.evidence
    assert [found_finding.as_predicted for found_finding in streamed.record.findings] == [False]
    for answer in probed(Fault(parsed=_lost), _ONE):
        assert [found_finding.as_predicted for found_finding in answer.record.findings] == [None]


def test_a_call_that_the_named_parser_loses_too_is_as_predicted() -> None:
    """A call in single quotes: vLLM's parser returns none; what it streams varies, so nothing is said of streams."""

    def text(right: str, request: ProbeRequest) -> str:
        return right.replace('"', "'")

    whole, streamed = probed(Fault(text=text, parsed=_lost), _ONE, "vllm:hermes")
    (finding,) = whole.record.findings
    assert (finding.owner, finding.as_predicted) == (Owner.MODEL, True)
    assert "returns no call here" in finding.evidence
    assert "This server did the same" in finding.evidence
    assert [found_finding.as_predicted for found_finding in streamed.record.findings] == [None]


def test_without_tokens_in_a_stream_the_whole_answer_shows_the_owner() -> None:
    """As llama.cpp, which refuses `logprobs` in a stream with tools."""

    def status(body: Body) -> int:
        return 400 if body.get("logprobs") and body.get("stream") else 200

    for answer in probed(Fault(parsed=_lost, status=status), _ONE):
        (finding,) = answer.record.findings
        assert (finding.kind, finding.owner) == ("call-missing", Owner.SERVER)
        assert "`logprobs`" in finding.evidence


def test_a_text_that_another_answer_has_too_is_the_models() -> None:
    def text(right: str, request: ProbeRequest) -> str:
        return "I do not know."

    def completion(body: Body, server: ModelServer) -> Any:
        return {"choices": [{"index": 0, "text": "I do not know.", "finish_reason": "stop"}]}

    paths: Paths = {"/apply-template": _prompt, "/v1/completions": completion}
    for answer in probed(Fault(text=text, logprobs=False, paths=paths), ("no-call-5",)):
        (finding,) = answer.record.findings
        assert (finding.kind, finding.owner) == ("wrong-text", Owner.MODEL)


def test_what_repeats_is_one_finding() -> None:
    def text(right: str, request: ProbeRequest) -> str:
        return f"<tool_call>{right}" * 50

    for answer in probed(Fault(text=text, parsed=lambda value, body: Parsed("<tool_call>" * 50, [], "stop")), _ONE):
        findings = answer.record.findings
        assert len({(finding.kind, finding.message) for finding in findings}) == len(findings) < 6


def test_a_context_that_is_too_short_is_no_refused_parameter() -> None:
    fault = Fault(status=lambda body: 400, refusal="request (12119 tokens) exceeds the available context size")
    for answer in probed(fault, _ONE):
        (finding,) = answer.record.findings
        assert finding.kind == "context-exceeded"
        assert "--max-model-len" in finding.evidence
