"""An object beside a call's name under a key such as `args`: it is the arguments, and its repair is a new key."""

import pytest

from weaklink.inspector.segmentation import segment

_OWN = {"hermes": ("<tool_call>\n%s\n</tool_call>", "arguments"), "llama3": ("<|python_tag|>%s", "parameters")}


@pytest.mark.parametrize("format", _OWN)
@pytest.mark.parametrize(
    "key", ["args", "argumnts", "ARGS", "kwargs", "params", "input", "tool_input", "function_args"]
)
def test_the_repaired_text_is_the_call_that_was_meant(format: str, key: str) -> None:
    frame, own = _OWN[format]
    text = frame % f'{{"name": "f", "{key}": {{"city": "Oslo", "days": [1, 2]}}}}'
    segmentation = segment(text, format)
    (call,) = segmentation.calls
    assert (call.name, call.arguments, call.valid) == ("f", {"city": "Oslo", "days": [1, 2]}, False)
    fault = next(diagnostic.fault for diagnostic in segmentation.diagnostics if diagnostic.fault.rule.code == "J116")
    assert fault.fix is not None
    (edit,) = fault.fix.edits
    repaired = segment(text[: edit.range.start] + edit.text + text[edit.range.end :], format)
    assert repaired.diagnostics == ()
    assert [(call.name, call.arguments, call.valid) for call in repaired.calls] == [
        ("f", {"city": "Oslo", "days": [1, 2]}, True)
    ]
    assert f'"{own}"' in edit.text


def test_what_may_be_one_argument_or_all_of_them_has_no_repair() -> None:
    text = _OWN["hermes"][0] % '{"name": "search", "filter": {"city": "Oslo"}}'
    (fault,) = [diagnostic.fault for diagnostic in segment(text, "hermes").diagnostics]
    assert fault.fix is None
    assert "rename it to `arguments` if it holds them" in (fault.hint or "")
