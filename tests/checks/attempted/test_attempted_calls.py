"""Calls that a format does not read: found in every shape and format, never in prose, in linear time."""

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tests.checks.attempted.shapes import SHAPES, TOOLS, in_other_formats, in_prose, made_up_call, python, tool
from tests.examples import one_in
from tests.mutations import markers
from tests.work import functions_run
from weaklink.inspector.chain.steps import Status, StepOutcome
from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, ToolCall, Trace, Turn
from weaklink.inspector.segmentation import Segmenter, segment
from weaklink.inspector.text import Range

NAMES = [dialect.name for dialect in formats() if dialect.name not in ("openai", "claude", "gemini")]
ROOT = Path(__file__).parents[3]
COMMON = (
    tool("search", "query", query="string", limit="integer"),
    tool("Read", "file_path", file_path="string"),
    tool("read", "path", path="string"),
    tool("Bash", "command", command="string"),
    tool("list", path="string"),
    tool("open", "path", path="string", mode="string"),
    tool("run", "command", command="string"),
    tool("find", "name", name="string"),
    tool("get_forecast", "city", city="string"),
    tool("format", "value", value="string"),
    tool("db.query", "sql", sql="string"),
)
HOSTILE = (
    "\ud800",
    "\udc80",
    "\0",
    "\u202e",
    "\ufeff",
    "\n",
    '"',
    "'",
    "{",
    "}",
    "<",
    ">",
    "=",
    ":",
    "\\",
    "`",
    "é",
    "",
)
TALK = (
    "I used {name} to look at the file, then ran it again.",
    "The `{name}` tool takes its arguments from you; `{name}()` alone does nothing.",
    "Call `{name}(path)` or {name}(query, limit) as you like.",
    '| tool | does |\n| --- | --- |\n| `{name}` | looks |\n| `{name}(query="x")` | looks for x |',
    '```python\ndef {name}(query):\n    return query\n\n\nprint({name}(query="x"))\n```',
    '```python\nfor line in lines:\n    if re.{name}("x", line):\n        results.append({name}(line))\n```',
    '```js\nconst found = {name}({{query: "x"}});\n```',
    "The signature is `{name}(query: str, limit: int = 5) -> list[str]`.",
    '> {name}(query="x")\n\nThat is what you wrote.',
    '>>> {name}(query="x")\n[]',
    '```json\n{{"name": "{name}", "description": "Looks", "parameters": {{"properties": {{}}}}}}\n```',
    '{{"name": "{name}", "content": "4 results", "status": "ok"}}',
    'self.{name}(query="x") calls obj.{name}(path="y").',
    "I have this tool:\n\nTool: {name}\nParameters:\n- query: the words to look for\n- path: where to look",
    "tool: {name}\nargs:\n  query: string\n  path: string",
    'I called {name} with {{"query": "x"}} and found nothing.',
    'You can call {name} with {{"query": "x"}} yourself.',
    'The {name} input is {{"path": "x"}}, which is wrong.',
    'Result of {name}: {{"path": "x"}}',
    '```js\nexport const {name} = {{ query: "x" }};\n```',
    'In the settings: "{name}": {{"query": "x"}}, and no other.',
    "{name}:\n  query: x\n  path: y",
    'Use `<{name} query="x"/>` in the template.',
    "Run `{name} query=x` in the shell, or set {name} path=y there.",
    "```sh\nexport PATH\ngrep -r {name} --query=x path=y src\n```",
    "The settings are:\n\n{name} = on\nquery = x",
    'The tool is {name} and its arguments are {{"query": "x"}}.',
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_told_in_every_format_with_the_call_that_it_means(shape: str) -> None:
    seed = random.Random(shape)
    for name in NAMES:
        tool_name, arguments = made_up_call(seed)
        text = in_prose(seed, SHAPES[shape](tool_name, arguments))
        segmentation = segment(text, name, tools=TOOLS)
        attempts = [
            diagnostic.fault.call for diagnostic in segmentation.diagnostics if diagnostic.fault.call is not None
        ]
        assert attempts or segmentation.calls, (name, text)
        assert all(attempt.name == tool_name for attempt in attempts), (name, text)
        if attempts and shape != "placeholder":
            assert [attempt.arguments for attempt in attempts] == [arguments], (name, text)


@pytest.mark.campaign
@pytest.mark.parametrize("name", NAMES)
def test_a_call_in_another_formats_syntax_is_told(name: str) -> None:
    """The gate reads the calls of one format in six as each format, those of others in each."""
    seed = random.Random(name)
    for written in one_in(6, in_other_formats("send_email", {"to": "a@b.c", "subject": "Hi"}), seed=name):
        segmentation = segment(f"Let me look.\n{written}{seed.choice(('', ' '))}", name, tools=TOOLS)
        attempts = [diagnostic for diagnostic in segmentation.diagnostics if diagnostic.fault.call is not None]
        assert attempts or segmentation.calls or segmentation.diagnostics, (name, written)


@pytest.mark.campaign
@pytest.mark.parametrize("name", NAMES)
def test_a_call_in_another_formats_syntax_has_the_types_of_the_tools_schema(name: str) -> None:
    """The gate reads the calls of one format in six as each format, those of others in each."""
    call = ToolCall("get_weather", {"city": "Oslo", "days": 2}, "", valid=True, range=Range(0, 0))
    for written in one_in(6, dict.fromkeys(dialect.write_calls([call]) for dialect in formats()), seed=name):
        attempts = [
            diagnostic
            for diagnostic in segment(written, name, tools=TOOLS).diagnostics
            if diagnostic.rule.code == "F309"
        ]
        read = [attempt.fault.call.arguments for attempt in attempts if attempt.fault.call is not None]
        assert all(arguments == call.arguments for arguments in read), written
        fixed = segment(apply_fixes(written, (attempt.fault for attempt in attempts)), name, tools=TOOLS)
        assert not any(diagnostic.rule.code.startswith("S") for diagnostic in fixed.diagnostics), written


_MARKUP = re.compile(
    r"<\|[^<>|]+\|>|<｜[^<>｜]+｜>|<(?:start|end)_function_call>|<escape>|<\|\"\|>|<\|tool_call>|<tool_call\|>"
)


@pytest.mark.parametrize("written_as", ["deepseek_v3", "functiongemma", "gemma4", "harmony", "kimi_k2"])
def test_a_call_whose_special_tokens_a_server_removed_is_reported_in_every_format(written_as: str) -> None:
    call = ToolCall("get_weather", {"city": "Oslo"}, "", valid=True, range=Range(0, 0))
    left = _MARKUP.sub("", find_format(written_as).write_calls([call]))
    for name in NAMES:
        for before in ("", "Let me look.\n", "I'll use the tool: ", "analysisThe user asks.assistant", "Let me look."):
            (diagnostic,) = segment(before + left, name, tools=TOOLS).diagnostics
            assert diagnostic.fault.call is not None
            assert (diagnostic.fault.call.name, diagnostic.fault.call.arguments) == ("get_weather", {"city": "Oslo"})
            assert "without its special tokens" in diagnostic.fault.message
            assert "skip_special_tokens" in str(diagnostic.fault.hint)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_fix_writes_what_the_format_reads(name: str) -> None:
    seed = random.Random(name)
    for shape, write in SHAPES.items():
        tool_name, arguments = made_up_call(seed)
        text = write(tool_name, arguments)
        text = text if find_format(name).calls_only else in_prose(seed, text)
        attempts = [
            diagnostic
            for diagnostic in segment(text, name, tools=TOOLS).diagnostics
            if diagnostic.fault.call is not None
        ]
        if find_format(name).calls_only and all(attempt.fault.fix is None for attempt in attempts):
            continue  # the shape has words of its own beside the call
        wanted = [
            (attempt.fault.call.name, attempt.fault.call.arguments)
            for attempt in attempts
            if attempt.fault.call is not None
        ]
        fixed = apply_fixes(text, (attempt.fault for attempt in attempts), only_safe=False)
        read = [(call.name, call.arguments) for call in segment(fixed, name, tools=TOOLS).calls]
        assert all(pair in read for pair in wanted), (shape, text, fixed)
        if shape in ("positional", "placeholder", "beside the name"):
            fixes = [attempt.fault.fix for attempt in attempts if attempt.rule.code == "F317"]
            assert not any(fix is not None and fix.safe for fix in fixes), (shape, text)


@pytest.mark.parametrize("name", [dialect.name for dialect in formats() if dialect.calls_only])
def test_beside_text_no_fix_is_offered_where_servers_read_a_reply_with_text_as_no_call(name: str) -> None:
    for text in ('I look.\nget_weather: {"city": "Oslo"}', 'get_weather: {"city": "Oslo"}\n\nOne moment.'):
        diagnostics = segment(text, name, tools=TOOLS).diagnostics
        assert [diagnostic.rule.code for diagnostic in diagnostics if diagnostic.fault.call is not None] == ["F317"]
        assert [diagnostic for diagnostic in diagnostics if diagnostic.fault.fix is not None] == []


def test_one_place_has_one_diagnostic_and_places_do_not_overlap() -> None:
    seed = random.Random(3)
    for name in NAMES:
        for write in SHAPES.values():
            text = in_prose(seed, write(*made_up_call(seed)))
            diagnostics = segment(text, name, tools=TOOLS).diagnostics
            places = sorted(
                diagnostic.range
                for diagnostic in diagnostics
                if diagnostic.rule.code in ("F305", "F309", "F314", "F317")
            )
            assert all(range_.end <= other.start for range_, other in pairwise(places)), (name, text)


def test_prose_that_calls_nothing_gives_no_alarm() -> None:
    seed = random.Random(4)
    for number in range(2_000):
        words = (seed.choice(TALK).format(name=seed.choice(COMMON).name) for _ in range(seed.randrange(1, 5)))
        text = "\n\n".join(words)
        diagnostics = segment(text, NAMES[number % len(NAMES)], tools=COMMON).diagnostics
        assert not [diagnostic for diagnostic in diagnostics if diagnostic.rule.code in ("F309", "F317")], text


def test_the_projects_own_code_quoted_in_an_answer_gives_no_alarm() -> None:
    seed = random.Random(5)
    for path in sorted((ROOT / "inspector").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").split("\n")
        first = seed.randrange(len(lines))
        quoted = "\n".join(lines[first : first + seed.randrange(3, 40)])
        text = f"I changed `search` and the code that calls Read:\n\n```python\n{quoted}\n```\n"
        diagnostics = segment(text, "hermes", tools=COMMON).diagnostics
        assert not [diagnostic for diagnostic in diagnostics if diagnostic.rule.code == "F317"], text


def test_a_damaged_attempt_is_read_without_an_error() -> None:
    seed = random.Random(7)
    for shape, write in SHAPES.items():
        for _ in range(20):
            text = in_prose(seed, write(*made_up_call(seed)))
            for _ in range(seed.randrange(1, 4)):
                position = seed.randrange(len(text) + 1)
                text = text[:position] + seed.choice(HOSTILE) + text[position + seed.randrange(2) :]
            segmentation = segment(text, seed.choice(NAMES), tools=TOOLS)
            assert all(
                0 <= diagnostic.range.start <= diagnostic.range.end <= len(text)
                for diagnostic in segmentation.diagnostics
            ), (shape, text)


@pytest.mark.parametrize("size", [1, 3])
def test_pieces_change_nothing(size: int) -> None:
    seed = random.Random(6)
    for shape, write in SHAPES.items():
        text = in_prose(seed, write(*made_up_call(seed)))
        name = seed.choice(NAMES)
        segmenter = Segmenter(name, tools=TOOLS)
        for start in range(0, len(text), size):
            segmenter.feed(text[start : start + size])
        segmenter.close()
        assert segmenter.segmentation(text) == segment(text, name, tools=TOOLS), (shape, name, text)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "unit",
    [
        "search(",
        "search(query='x') ",
        "search(query='x",
        '{"name": "search", ',
        '["search", ',
        "[[[[",
        '{"',
        "```\nsearch(query='a')\n",
        "<search><query>a</query>",
        "search query=",
        "search query=search\n",
        "<the.<the.<the.<the.<the.<the.<the.<the.<the.<the.<the.<the.!search\n{'query': 1}\n",
        "search\nargs:\n  query: 1\n",
        'search <parameter name="query">1</parameter>',
        "search(query='a'),\n",
        '{"name":"search","arguments":{"query":"a"',
        "call: [search(query=1)] ",
        "math.math.gcd(",
        "def search(query):\n search(query=1)\n",
        "search(query=1)" + " " * 50,
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    segment(unit * 400, "pythonic", tools=TOOLS)  # what is made once, by whichever text comes first, belongs to neither
    assert _calls_made(unit * 400) < 3 * _calls_made(unit * 200)


def _calls_made(text: str) -> int:
    return functions_run(lambda: segment(text, "pythonic", tools=TOOLS))


def _inspected(*replies: str) -> Inspection:
    """A trace in which the model gives these replies, each to the user."""
    turns = []
    for reply in replies:
        turns.append(Turn(Role.USER, (Part("text", "What does `search(query='x')` find?"),)))
        turns.append(Turn(Role.ASSISTANT, (Part("text", reply),), generation=Generation(tools=TOOLS)))
    return inspect_trace(Trace(tuple(turns)), format="hermes")


def test_an_attempted_call_is_a_malformed_step_that_breaks_the_chain() -> None:
    chain = _inspected("I will look.\n```python\nget_weather(city='Oslo')\n```").chain
    assert [(step.call.name, step.call.arguments, step.outcome) for step in chain.steps] == [
        ("get_weather", {"city": "Oslo"}, StepOutcome.MALFORMED)
    ]
    assert chain.status is Status.BROKEN
    assert chain.broken is not None
    assert (chain.broken.tool, chain.broken.code) == ("get_weather", "F317")


def test_the_same_call_made_properly_later_recovers_it_and_is_no_second_fault() -> None:
    proper = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    inspection = _inspected(f"I call get_weather(city='Oslo') now.\n{proper}")
    assert [step.call.valid for step in inspection.chain.steps] == [True]
    assert not [diagnostic for diagnostic in inspection.diagnostics if diagnostic.fault.call is not None]


def test_words_of_the_user_that_an_answer_quotes_are_no_step() -> None:
    inspection = _inspected("Well, search(query='x') finds whatever is named x.")
    assert not inspection.chain.steps


def test_a_call_in_reasoning_is_a_draft_and_no_step() -> None:
    inspection = _inspected("<think>I should call get_weather(city='Oslo').</think>It is cold.")
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["F305"]
    assert not inspection.chain.steps


@pytest.mark.parametrize(("name", "tool_name"), [("llama3", "code_interpreter"), ("functionary", "python")])
def test_code_that_calls_an_offered_tool_is_a_call_of_that_tool(name: str, tool_name: str) -> None:
    seed = random.Random(name)
    for shape in ("{0}", "[{0}]", "print({0})", "found = {0}\nprint(found)", "import json\n{0}"):
        for _ in range(20):
            called, arguments = made_up_call(seed)
            text = f"<|python_tag|>{shape.format(python(called, arguments))}"
            segmentation = segment(text, name, tools=TOOLS)
            assert [(call.name, call.arguments, call.valid) for call in segmentation.calls] == [
                (called, arguments, False)
            ], text
            assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["F317"], text
            fixed = apply_fixes(text, (diagnostic.fault for diagnostic in segmentation.diagnostics), only_safe=False)
            if name == "llama3":
                assert (called, arguments) in [
                    (call.name, call.arguments) for call in segment(fixed, name, tools=TOOLS).calls
                ]
    for code in ("print(1 + 1)", "df.search(query='x')", "def search(query):\n    return query\n\nsearch(query='x')"):
        segmentation = segment(f"<|python_tag|>{code}", name, tools=TOOLS)
        assert [(call.name, call.valid) for call in segmentation.calls] == [(tool_name, True)]
        assert not segmentation.diagnostics


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_a_sentence_quotes_from_the_prompt_is_no_attempt(name: str) -> None:
    asked = 'Why does search(query=\'x\') fail? And {"name": "search", "args": {"query": "y"}}?'
    quoted = ("Well, search(query='x') is what you wrote.", 'You sent {"name": "search", "args": {"query": "y"}} then.')
    for text in quoted:
        assert not _attempts(text, name, asked)
        assert _attempts(text, name, "Why does it fail?")
    assert _attempts("```\nsearch(query='x')\n```", name, asked) == ["search"]
    assert _attempts("I will call search(query='z') now.", name, asked) == ["search"]


def _attempts(text: str, name: str, prompt: str) -> list[str]:
    """The tools of the calls in `text` that were tried, or made."""
    segmentation = segment(text, name, prompt=prompt, tools=TOOLS)
    tried = [diagnostic.fault.call.name for diagnostic in segmentation.diagnostics if diagnostic.fault.call is not None]
    return tried + [call.name or "" for call in segmentation.calls]


_WITHOUT_ARGUMENTS = ("command_r_action", "solar_open2")
"""Formats in which a damaged opener hides the call: what follows is a fence of code, or tokens between words."""


def _damaged(opener: str) -> Iterator[str]:
    """Spellings of a marker as models get it nearly right."""
    yield opener.replace("_", "_ ", 1)
    yield opener.replace("call", "calls", 1).replace("CALL", "CALLS", 1).replace("callss", "call")
    yield opener.replace("CALLSS", "CALL")
    yield opener.replace("｜", "|").replace("▁", "_")
    lost = len(opener) - 2
    yield opener[:lost] + opener[lost + 1 :]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_behind_a_nearly_right_marker_is_reported_with_its_arguments(name: str) -> None:
    own = find_format(name)
    call = ToolCall("get_weather", {"city": "Oslo", "days": 2}, "", valid=True, range=Range(0, 0))
    if not own.expresses(call):
        call = msgspec.structs.replace(call, id="functions.get_weather:0")
    written = own.write_calls([call])
    opener = next((opener for opener in markers_of(own).call_openers if opener in written), "")
    for damaged in {*_damaged(opener)} - {"", *markers_of(own).all}:
        text = "Let me look.\n" + written.replace(opener, damaged, 1)
        segmentation = segment(text, name, tools=TOOLS)
        meant = [diagnostic.fault.call for diagnostic in segmentation.diagnostics if diagnostic.fault.call is not None]
        read = [(call.name, call.arguments) for call in meant] + [
            (call.name, call.arguments) for call in segmentation.calls
        ]
        assert ("get_weather", call.arguments) in read or name in _WITHOUT_ARGUMENTS, (text, segmentation.diagnostics)
        assert segmentation.diagnostics, text


def test_a_marker_of_reasoning_anywhere_in_a_foreign_call_is_read() -> None:
    tried = 0
    for writer in formats():
        call = make_call("f", {"x": "1"})
        text = writer.write_calls([call]) if writer.expresses(call) else ""
        openers = [marker for marker in markers(writer.name) if "think" in marker.lower() or "reason" in marker.lower()]
        for opener in openers if text else ():
            for position in sorted({text.find(sign) + 1 for sign in ">[{\n"}):
                segmentation = segment(text[:position] + opener + text[position:], "openai")
                assert all(diagnostic.range.end <= len(segmentation.text) for diagnostic in segmentation.diagnostics)
                tried += 1
    assert tried > 100


@pytest.mark.parametrize(
    "text",
    [
        '~<tool_call><mm:think>~<invoke name="f">~<x>1~</x>~</invoke>',
        '<function_calls><thinking>\n<invoke name="f">\n<parameter name="x">1</parameter>\n</invoke>\n',
    ],
)
def test_a_foreign_call_in_open_reasoning_is_found(text: str) -> None:
    (diagnostic,) = segment(text.replace("~", "]<]minimax[>["), "openai").diagnostics
    assert diagnostic.fault.call is not None
    assert (diagnostic.rule.code, diagnostic.fault.call.name, diagnostic.fault.call.arguments) == (
        "F309",
        "f",
        {"x": "1"},
    )
