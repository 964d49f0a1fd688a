"""The common faults: every format has a case of each, and the answer to it says what is wrong or reads it right."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CaseFields, cases_of
from tests.formats.test_cases import answer
from weaklink.inspector.formats.registry import formats

CASES = Path(__file__).parents[1] / "cases" / "formats"
Answer = dict[str, Any]

_MARKER = re.compile(r"</|[<|>][^ ]+[|>]|>>>|[\]}]{2}|```|\nObservation:")


def _codes(result: Answer) -> set[str]:
    return {diagnostic["code"] for diagnostic in result["diagnostics"]}


def _valid(result: Answer) -> list[Answer]:
    """The calls whose arguments are an object that needed no repair."""
    return [call for call in result["tool_calls"] if call["valid"] and isinstance(call["arguments"], dict)]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _is_one_valid_call(result: Answer) -> bool:
    return len(result["tool_calls"]) == len(_valid(result)) == 1


def _has_open_reasoning(result: Answer) -> bool:
    return any(span["kind"] == "reasoning" and not span["closed"] for span in result["spans"])


def _marker_in_string(result: Answer) -> bool:
    """The call is whole, the marker is in an argument, and at most a warning names it."""
    strings = [text for call in result["tool_calls"] for text in _strings(call["arguments"])]
    has_marker = any(_MARKER.search(text) for text in strings)
    return _is_one_valid_call(result) and has_marker and _codes(result) <= {"F304"}


def _draft_in_reasoning(result: Answer) -> bool:
    return "F305" in _codes(result) and _is_one_valid_call(result) and not _has_open_reasoning(result)


def _unclosed_reasoning(result: Answer) -> bool:
    return "F301" in _codes(result) and _has_open_reasoning(result)


def _unclosed_call(result: Answer) -> bool:
    return bool(_codes(result) & {"F301", "F316"}) and _is_one_valid_call(result)


def _several_objects(result: Answer) -> bool:
    return "J110" in _codes(result) or (len(_valid(result)) == len(result["tool_calls"]) == 2)


def _array(result: Answer) -> bool:
    calls = result["tool_calls"]
    is_read = bool(calls) and all(call["valid"] and not isinstance(call["arguments"], list) for call in calls)
    return bool(_codes(result) & {"J110", "J116"}) or is_read


def _arguments_as_string(result: Answer) -> bool:
    return "J112" in _codes(result) and all(isinstance(call["arguments"], dict) for call in result["tool_calls"])


def _wrong_key(result: Answer) -> bool:
    return "J113" in _codes(result) and all(isinstance(call["arguments"], dict) for call in result["tool_calls"])


def _fence(result: Answer) -> bool:
    return "J114" in _codes(result) and all(isinstance(call["arguments"], dict) for call in result["tool_calls"])


def _near_tag(result: Answer) -> bool:
    return bool(_codes(result) & {"F314", "F313"})


def _cut_opener(result: Answer) -> bool:
    return bool(_codes(result) & {"F314", "F313"}) and not result["tool_calls"]


def _quoted_markup(result: Answer) -> bool:
    """Quoted markup is text, with at most a note, or it is the call that a server makes of it, and that is reported."""
    return bool(result["diagnostics"]) if result["tool_calls"] else _codes(result) <= {"F320"}


def _invented_result(result: Answer) -> bool:
    return "F312" in _codes(result) and any(span["kind"] == "tool_result" for span in result["spans"])


OUTCOMES: Mapping[str, Callable[[Answer], bool]] = {
    "closing marker in a string": _marker_in_string,
    "call drafted in reasoning": _draft_in_reasoning,
    "reasoning that never closes": _unclosed_reasoning,
    "missing closing tag with complete payload": _unclosed_call,
    "two objects in one tag": _several_objects,
    "an array in one tag": _array,
    "arguments as a JSON string": _arguments_as_string,
    "the wrong arguments key": _wrong_key,
    "a fence inside the tag": _fence,
    "near-tag": _near_tag,
    "opener cut at the end of the stream": _cut_opener,
    "markup quoted in code": _quoted_markup,
    "invented result": _invented_result,
}
"""What the answer to each common fault must be, in every format that can have the fault."""

_QUOTED = re.compile(r"`[^`]*[<\[{|:✿][^`]*`|```", re.DOTALL)


def _elsewhere(name: str) -> dict[str, dict[str, Any]]:
    path = CASES / name / "elsewhere.json"
    others: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return others


def _cases(name: str) -> dict[str, list[CaseFields]]:
    """The cases of a format by id; files may have the same id."""
    cases_by_id: dict[str, list[CaseFields]] = {}
    for path in sorted((CASES / name).glob("*.yaml")):
        for case in cases_of(path):
            cases_by_id.setdefault(case["id"], []).append(case)
    return cases_by_id


def _pairs() -> Iterator[tuple[str, str]]:
    return ((known.name, fault) for known in formats() for fault in OUTCOMES)


@pytest.mark.parametrize(("name", "fault"), list(_pairs()))
def test_a_common_fault_has_its_outcome_in_every_format(name: str, fault: str) -> None:
    """`elsewhere.json` in the format's folder names the fault's case (`told_by`), says why the format cannot have the
    fault (`never`), or which diagnostics the case has instead (`codes`) and why (`because`).
    """
    entry, cases = _elsewhere(name).get(fault, {}), _cases(name)
    if "never" in entry:
        assert len(entry["never"]) > 20
        assert fault not in cases, "a format that has the case needs no reason"
        return
    shown_by = cases.get(entry.get("told_by", fault))
    assert shown_by, "add a case, or say in elsewhere.json which case shows it (told_by) or why it cannot come (never)"
    for case in shown_by:
        result = answer(name, case)
        if "codes" in entry:
            assert len(entry["because"]) > 20
            assert [diagnostic["code"] for diagnostic in result["diagnostics"]] == entry["codes"]
            assert not OUTCOMES[fault](result), "the case has the usual outcome: the exception is out of date"
        else:
            assert OUTCOMES[fault](result), (case["text"], _codes(result), result["tool_calls"])
        if fault == "markup quoted in code":
            assert _QUOTED.search(case["text"]), "the case quotes no markup"


_ATTEMPTS = (
    "a call in a code fence", "calls in a code fence, indented", "an inline fence", "a second list",
    "an index behind the list", "a call on its own line", "a call in a string", "escaped underscores",
    "a dropped namespace", "another case", "JSON in a fence", "JSON with Python's quotes", "the name as a key",
    "a pair", "a list with arguments", "positional arguments", "a dictionary for arguments", "a placeholder",
    "code to be run, and an invented result", "tags named like the tool", "a ReAct call", "a repeated namespace",
    "a label before the list", "arguments under another key", "an object behind an XML declaration",
    "an object behind a header token", "a wrong opener", "a closing marker for the opener",
    "a call assigned to a variable",
    "labels before a name and an object", "a name and an object in words", "tags around a name and an object",
    "a name in an attribute", "a name and tags of arguments", "a tag with attributes", "YAML",
    "Kimi K2 without special tokens", "Harmony without special tokens", "DeepSeek V3 without special tokens",
    "FunctionGemma without special tokens",
)  # fmt: skip
_NO_ATTEMPTS = ("the name in prose", "code that defines the name", "a tool's parameters described")
_STRUCTURED = "openai"
"""The format that has no text of its own: attempts are in a message's content, which other tests read."""


@pytest.mark.parametrize("name", [known.name for known in formats() if known.name != _STRUCTURED])
def test_each_shape_of_an_attempted_call_has_a_case_in_every_format(name: str) -> None:
    """Each is reported as a call of the tool, or read as one; silently only where the shape is the format's own."""
    cases = {case["id"]: case for case in cases_of(CASES / name / "attempted.yaml")}
    for shape in (*_ATTEMPTS, *_NO_ATTEMPTS):
        result = answer(name, cases[shape])
        is_reported = any(diagnostic.get("call") for diagnostic in result["diagnostics"])
        assert (is_reported or bool(result["tool_calls"])) == (shape in _ATTEMPTS), shape
        is_silent = bool(result["tool_calls"]) and not result["diagnostics"]
        assert not is_silent or (name, shape) == ("react", "a ReAct call"), shape


@pytest.mark.parametrize("name", [known.name for known in formats()])
def test_elsewhere_names_common_faults_only(name: str) -> None:
    elsewhere = _elsewhere(name)
    assert set(elsewhere) <= set(OUTCOMES)
    assert all(
        set(entry) in ({"told_by"}, {"never"}, {"codes", "because"}, {"told_by", "codes", "because"})
        for entry in elsewhere.values()
    )
