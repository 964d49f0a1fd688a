"""The model's own text, by each method that a server may support; and silence where there is none."""

import json
from typing import Any

import pytest

from tests.probe.model_server import Body, Fault, ModelServer, Parsed, call_text
from tests.probe.test_planted_faults import probed
from weaklink.inspector.probe.judging import Owner
from weaklink.inspector.probe.ownership import RawMethod
from weaklink.inspector.probe.results import ProbeMode

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
    whole = [one for one in probed(METHODS[method], _ONE) if one.record.mode is ProbeMode.WHOLE]
    (finding,) = whole[0].record.findings
    assert (finding.kind, finding.owner) == ("call-missing", Owner.SERVER)
    assert f"`{method}`" in finding.evidence
    assert '`get_weather` with `{"city": "Oslo"}`' in finding.evidence


def test_without_the_models_text_nobody_is_named() -> None:
    found = probed(Fault(parsed=_lost, logprobs=False), _ONE)
    for answer in found:
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

    found = probed(Fault(parsed=_lost, status=status), ("one-call-1", "one-call-2", "one-call-3"))
    assert {one.owner for answer in found for one in answer.record.findings} == {Owner.UNKNOWN}
