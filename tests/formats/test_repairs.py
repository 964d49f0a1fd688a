"""Fixes of damaged calls, suggestions included: applied together, they give back the calls that the model meant."""

from collections.abc import Iterator
from random import Random

import pytest

from tests.case_files import cases_of
from tests.mutations import CASES, markers
from tests.servers.texts import TOOLS
from weaklink.inspector.dataset.json_faults import broken_json
from weaklink.inspector.diagnostics import Fault, edited, without_clashes
from weaklink.inspector.facade import make_call, write_calls
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.ui.cli.files import tool_definitions

_SETS: tuple[tuple[tuple[str, dict[str, Json]], ...], ...] = (
    (("get_weather", {"city": "Oslo", "days": 3}),),
    (("add_note", {"text": "buy milk, eggs", "tags": ["x", "y"], "pin": True}),),
    (("get_weather", {"city": "New York"}), ("get_time", {})),
)
_MOST_TEXTS = 36  # of a format, in the gate
_OFFERED = tool_definitions(TOOLS)


def _read(text: str, name: str) -> Segmentation:
    return segment(text, name, tools=_OFFERED)


def _meaning(segmentation: Segmentation) -> list[tuple[str | None, str]]:
    return [(call.name, write_json(call.arguments)) for call in segmentation.calls]


def _damaged(dialect: Format, body: str, random: Random) -> Iterator[str]:
    """The text with one marker or sign deleted, doubled or garbled, or one payload broken as models break it."""
    for marker in markers(dialect.name):
        for start in (position for position in range(len(body)) if body.startswith(marker, position)):
            end, inside = start + len(marker), start + random.randrange(len(marker))
            yield from (
                body[:start] + body[end:],
                body[:inside] + body[inside + 1 :],
                body[:start] + marker + body[start:],
            )
    yield from (body[:index] + body[index + 1 :] for index, sign in enumerate(body) if sign in "\"'{}[]():,=<>/|")
    for call in segment(body, dialect.name).calls:
        for _ in range(6 if call.range.of(body).startswith("{") else 0):
            try:
                broken = broken_json(call.range.of(body), random)
            except ValueError:
                break
            if broken is not None:
                yield body[: call.range.start] + broken.text + body[call.range.end :]


def _pairs(dialect: Format, random: Random) -> Iterator[tuple[str, str]]:
    for calls in _SETS:
        made = [make_call(name, arguments) for name, arguments in calls]
        if all(map(dialect.expresses, made)):
            body = dialect.write_calls(made)
            if _meaning(_read(body, dialect.name)) == [(name, write_json(arguments)) for name, arguments in calls]:
                yield from ((body, text) for text in _damaged(dialect, body, random) if text != body)


@pytest.mark.parametrize("name", [dialect.name for dialect in formats()])
def test_fixes_give_back_the_calls_that_were_meant(name: str) -> None:
    random = Random(name)
    pairs = list(_pairs(find_format(name), random))
    for original, damaged in random.sample(pairs, min(len(pairs), _MOST_TEXTS)):
        fixable = [
            diagnostic.fault for diagnostic in _read(damaged, name).diagnostics if diagnostic.fault.fix is not None
        ]
        for faults in (fixable, [fault for fault in fixable if fault.fix is not None and fault.fix.safe]):
            if faults:
                repaired = _applied(damaged, faults)
                assert _meaning(_read(repaired, name)) == _meaning(_read(original, name)), (damaged, repaired)


def _applied(text: str, faults: list[Fault]) -> str:
    chosen = without_clashes(faults)
    return edited(text, [edit for fault in chosen if fault.fix is not None for edit in fault.fix.edits])


@pytest.mark.parametrize("name", [dialect.name for dialect in formats()])
def test_no_safe_fix_of_a_case_leaves_a_call_that_cannot_be_read(name: str) -> None:
    """In the texts of the cases, safe fixes keep every valid call, and make those that they edit valid."""
    for path in sorted((CASES / name).glob("*.yaml")):
        for case in cases_of(path):
            if case.get("prompt"):
                continue
            tools = tool_definitions(list(case.get("tools", ())))
            segmentation = segment(case["text"], name, tools=tools)
            safe = [
                diagnostic.fault
                for diagnostic in segmentation.diagnostics
                if diagnostic.fault.fix is not None and diagnostic.fault.fix.safe
            ]
            if safe:
                after = segment(_applied(case["text"], safe), name, tools=tools)
                assert sum(call.valid for call in after.calls) >= sum(call.valid for call in segmentation.calls), case[
                    "id"
                ]
                assert len(after.diagnostics) < len(segmentation.diagnostics), case["id"]


REPAIRS = [
    (
        "glm45",
        "<tool_call>f<arg_key>city</arg_value><arg_value>Oslo</arg_value></tool_call>",
        "<tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
    ),
    (
        "glm45",
        (
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>city</arg_value>\n"
            "<arg_value>Oslo</arg_value>\n</tool_call>"
        ),
        (
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>city</arg_key>\n"
            "<arg_value>Oslo</arg_value>\n</tool_call>"
        ),
    ),
    (
        "glm45",
        "<tool_call>find_policy<arg_key>query</arg_key>parental leave</arg_value></tool_call>",
        "<tool_call>find_policy<arg_key>query</arg_key><arg_value>parental leave</arg_value></tool_call>",
    ),
    (
        "glm45",
        "<tool_call>f\ncity</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
        "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    ),
    (
        "glm45",
        "<tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value></arg_key></tool_call>",
        "<tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
    ),
    (
        "glm45",
        "<tool_call>f<arg_key>city</arg_key></arg_key><arg_value>Oslo</arg_value></tool_call>",
        "<tool_call>f<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
    ),
    (
        "gemma4",
        '<|tool_call>call:f{city:New York, NY<|"|>,days:3}<tool_call|>',
        '<|tool_call>call:f{city:<|"|>New York, NY<|"|>,days:3}<tool_call|>',
    ),
    (
        "gemma4",
        "<|tool_call>call:f{city='Oslo',days=3}<tool_call|>",
        '<|tool_call>call:f{city:<|"|>Oslo<|"|>,days:3}<tool_call|>',
    ),
    (
        "claude",
        (
            '<function_calls>\n<invoke name="f">\n<parameter name="a">x</a>\n<parameter name="b">y</parameter>\n'
            "</invoke>\n</function_calls>"
        ),
        (
            '<function_calls>\n<invoke name="f">\n<parameter name="a">x</parameter>\n'
            '<parameter name="b">y</parameter>\n</invoke>\n</function_calls>'
        ),
    ),
    (
        "claude",
        (
            '<function_calls>\n<invoke name="f">\n<prompt>A flat icon</prompt>\n<size>small</size>\n</invoke>\n'
            "</function_calls>"
        ),
        (
            '<function_calls>\n<invoke name="f">\n<parameter name="prompt">A flat icon</parameter>\n'
            '<parameter name="size">small</parameter>\n</invoke>\n</function_calls>'
        ),
    ),
    (
        "kimi_k2",
        (
            "<think>I look <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
            "<|tool_calls_section_end|>"
        ),
        (
            "<think>I look </think>\n<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
            "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>"
        ),
    ),
    (
        "deepseek_v4",
        '<think>I look <｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        (
            '<think>I look </think>\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n</｜DSML｜invoke>\n'
            "</｜DSML｜tool_calls>"
        ),
    ),
    (
        "kimi_k2",
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_wether:0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>"
        ),
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>"
        ),
    ),
]


@pytest.mark.parametrize(("name", "damaged", "meant"), REPAIRS)
def test_all_fixes_together_give_the_call_that_was_meant(name: str, damaged: str, meant: str) -> None:
    tools = _OFFERED if "get_wether" in damaged else ()
    faults = [diagnostic.fault for diagnostic in segment(damaged, name, tools=tools).diagnostics]
    assert _applied(damaged, faults) == meant
    assert all(call.valid for call in segment(meant, name).calls)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemma4", '<|tool_call>call:f{city:<|"|>Oslo,days:3}<tool_call|>'),
        ("kimi_k2", "<|tool_call_begin|>functions.:0<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"city" "Oslo", "days": 3}}\n</tool_call>'),
        ("json_schema", '{"name": "f", "parameters": {}}, {"name": "g", "parameters": {}}]'),
    ],
)
def test_what_could_mean_several_calls_is_not_repaired_safely(name: str, text: str) -> None:
    fixes = [diagnostic.fault.fix for diagnostic in segment(text, name).diagnostics if diagnostic.fault.fix is not None]
    assert not any(fix.safe for fix in fixes)


def test_the_marker_of_a_result_at_the_end_is_where_gemma_stops() -> None:
    segmentation = segment("<|tool_call>call:f{a:1}<tool_call|><|tool_response>", "gemma4")
    assert [call.valid for call in segmentation.calls] == [True]
    assert segmentation.diagnostics == ()


def test_a_call_without_a_name_in_kimis_id_is_not_a_call_of_functions() -> None:
    (call,) = segment(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        "kimi_k2",
    ).calls
    assert call.name is None


def test_two_calls_with_the_same_damage_keep_both_fixes() -> None:
    """What is wrong with one call does not speak against the fix of another."""
    call = make_call("get_weather", {"city": "Oslo", "days": 2})
    tried, lost = 0, []
    for format in formats():
        text = write_calls([call], format.name)
        random = Random(format.name)
        for _ in range(30):
            index, count = random.randrange(len(text)), random.choice((0, 2))
            damaged = text[:index] + text[index] * count + text[index + 1 :]
            faults = [diagnostic.fault for diagnostic in segment(damaged, format.name).diagnostics]
            if len(faults) != 1 or faults[0].fix is None or not faults[0].fix.safe:
                continue
            tried += 1
            both = segment(f"{damaged}\n{damaged}", format.name).diagnostics
            lost += [
                damaged for diagnostic in both if diagnostic.rule is faults[0].rule and diagnostic.fault.fix is None
            ]
    assert tried > 40
    assert lost == []
