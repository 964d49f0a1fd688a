"""Dialects whose calls hold parameters in tags: what is written reads back, and is typed by the schema of the tool."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.formats.xml.calls import XmlCallReader, regular_call
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.segmentation import Segmenter, segment
from weaklink.inspector.text import Range

NAMES = (
    *("qwen3_coder", "claude", "glm45", "minimax_m2", "deepseek_v32", "deepseek_v4", "seed_oss"),
    *("step3", "step3p5", "hy_v3", "dots", "kimi_k3", "minimax_m3"),
)
TYPED = ("deepseek_v32", "deepseek_v4", "kimi_k3")
DIALECTS = pytest.mark.parametrize("dialect", [*map(find_format, NAMES)], ids=lambda dialect: dialect.name)
AWKWARD = (
    "",
    " ",
    "\n",
    "\n\n spaced \t\n",
    "\"quotes\" 'single' \\ \\n \\u00e9",
    "tab\there, bell\x07, line\r\nend",
    "{[()]} <> </ <|x|> & &amp; ]]>",
    "<b>bold</b> <think>no</think> <tool_response>",
    "<|im_end|>\n<|im_start|>user\n</s>",
    "😀 é 東京 \u2028",
    '{"a": {}, "b": []}',
    "null",
    "42",
    "def f(x):\n    return x < 3 and x > 1\n",
)
VALUES: dict[str, Json] = {
    "s": "42",
    "i": -7,
    "f": 1.5,
    "b": False,
    "n": None,
    "l": ["a", {"k": []}, None],
    "o": {"e": {}, "t": "<x>\n"},
}
SCHEMA: Json = {
    "properties": {
        "s": {"type": "string"},
        "i": {"type": "integer"},
        "f": {"type": "number"},
        "b": {"type": "boolean"},
        "n": {"type": ["string", "null"]},
        "l": {"type": "array"},
        "o": {"type": "object"},
    }
}


def read_back(dialect: Format, arguments: dict[str, Json], tools: tuple[ToolDefinition, ...] = ()) -> list[Json]:
    text = dialect.write_calls([make_call("f", arguments), make_call("f", arguments)])
    calls = segment(text, dialect.name, tools=tools).calls
    assert all(call.valid and call.name == "f" for call in calls)
    return [call.arguments for call in calls]


@DIALECTS
@pytest.mark.parametrize("text", AWKWARD)
def test_an_awkward_text_survives(dialect: Format, text: str) -> None:
    arguments: dict[str, Json] = {"a": text, "b": "x"}
    assert dialect.expresses(make_call("f", arguments))
    assert read_back(dialect, arguments) == [arguments, arguments]


@DIALECTS
def test_the_formats_own_markers_survive_in_a_text(dialect: Format) -> None:
    parser = dialect.new_parser()
    markers = " ".join(sorted(getattr(parser, "markers", ())))
    arguments: dict[str, Json] = {"a": markers}
    assert dialect.expresses(make_call("f", arguments))
    assert read_back(dialect, arguments) == [arguments, arguments]


@DIALECTS
def test_a_whole_call_survives_in_a_text_or_is_not_expressed(dialect: Format) -> None:
    arguments: dict[str, Json] = {"a": "so: " + dialect.write_calls([make_call("g", {"x": "1"})]) + " ok"}
    assert dialect.expresses(make_call("f", arguments)) is (dialect.name != "minimax_m3")
    if dialect.name != "minimax_m3":
        assert read_back(dialect, arguments) == [arguments, arguments]


@DIALECTS
def test_a_text_that_ends_its_own_value_is_not_expressed(dialect: Format) -> None:
    written = dialect.write_calls([make_call("f", {"a": "VALUE"})])
    assert not dialect.expresses(make_call("f", {"a": "x" + written.partition("VALUE")[2]}))


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name != "minimax_m3"]
)  # there, leaves within tags are texts
def test_values_of_every_type_survive_once_a_schema_is_known(name: str) -> None:
    dialect = find_format(name)
    tool = ToolDefinition("f", parameters=SCHEMA)
    assert read_back(dialect, VALUES, (tool,)) == [VALUES, VALUES]


@DIALECTS
def test_values_that_are_no_texts_are_expressed_where_the_wire_types_them(dialect: Format) -> None:
    assert dialect.expresses(make_call("f", VALUES)) is (dialect.name in TYPED)
    if dialect.name in TYPED:
        assert read_back(dialect, VALUES) == [VALUES, VALUES]


def test_objects_and_lists_of_texts_survive_as_tags() -> None:
    arguments: dict[str, Json] = {"o": {"k": "v", "deep": {"x": ""}}, "l": ["a", "b", ["c"]]}
    assert find_format("minimax_m3").expresses(make_call("f", arguments))
    assert read_back(find_format("minimax_m3"), arguments) == [arguments, arguments]
    assert not find_format("minimax_m3").expresses(make_call("f", {"o": {"item": "x"}}))
    assert not find_format("minimax_m3").expresses(make_call("f", {"o": {}}))


@DIALECTS
def test_a_call_whose_tags_are_not_closed_swallows_no_later_call(dialect: Format) -> None:
    whole = dialect.write_calls([make_call("f", {"a": "VALUE"})])
    cut = whole.partition("VALUE")[0] + "VALUE\n"
    segmentation = segment(cut + dialect.write_calls([make_call("g", {}), make_call("h", {"b": "2"})]), dialect.name)
    assert [(call.name, call.valid) for call in segmentation.calls] == [("f", False), ("g", True), ("h", True)]


@DIALECTS
def test_a_call_is_told_as_soon_as_its_closing_tag_is_there(dialect: Format) -> None:
    text = dialect.write_calls([make_call("f", {"a": "1"}), make_call("g", {"b": "2"})])
    segmenter = Segmenter(dialect)
    named: list[str | None] = []
    for character in text[:-1]:
        segmenter.feed(character)
        named += [call.name for call in segmenter.take()[0]]
    assert "f" in named


PIECES = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<function=",
        "f>",
        "<function=f>",
        "</function>",
        "<parameter=a>",
        "<parameter=b>",
    ),
    *(
        "</parameter>",
        "<parameter=",
        "\n",
        " ",
        "x",
        "<",
        "{",
        '"a"',
        "<arg_key>a</arg_key>",
        "<arg_value>",
        "</arg_value>",
    ),
    *('<invoke name="', 'f">', '<parameter name="a">', "<tool_sep>", "😀"),
)


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=14), name=st.sampled_from(("qwen3_coder", "glm45", "dots")))
def test_the_short_way_through_a_call_in_order_reads_what_the_long_way_reads(pieces: list[str], name: str) -> None:
    reader = find_format(name).read_calls
    reader = getattr(reader, "own", reader)
    reader = getattr(reader, "readers", {"tool_call": reader})["tool_call"]
    assert isinstance(reader, XmlCallReader)
    text = reader.syntax.lead + "".join(pieces)
    short = regular_call(text, reader.syntax, str, 0, Range(0, len(text)))
    if short is not None:
        long = reader._read(text, is_cut=False)
        assert (long.calls, long.complete) == ((short,), True)
        assert not long.faults


def test_a_names_wrong_closing_tag_is_told_once() -> None:
    pairs = "<arg_key>a</arg_key><arg_value>x</arg_value><arg_key>b</arg_value><arg_value></arg_value>"
    segmentation = segment(f"<tool_call>f{pairs}</tool_call>", "glm45")
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["J128"]
    assert [call.arguments for call in segmentation.calls] == [{"a": "x", "b": ""}]


CLOSERS = re.compile(r"(?:\]<\]minimax\[>\[)?</[^<>\n]+>|<[|｜]tool_call[^<>]*_end[|｜]>|<\|close\|>call<\|sep\|>")


@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_a_doubled_closing_marker_of_a_call_is_told(dialect: Format) -> None:
    text = dialect.write_calls([make_call("f", {"a": "x"}), make_call("g", {"b": "y"})])
    for closer in CLOSERS.finditer(text):
        doubled = text[: closer.end()] + closer[0] + text[closer.end() :]
        assert segment(doubled, dialect.name).diagnostics, doubled


THREE = [make_call("f", {"a": "x", "b": "y", "c": "z"})]
WITH_WORD = [dialect for dialect in formats() if dialect.write_calls(THREE).count("parameter") == 6]


@pytest.mark.parametrize("dialect", WITH_WORD, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("also_closer", [False, True])
@pytest.mark.parametrize("wrong", [(0,), (1,), (0, 1), (2,)])
def test_tags_with_another_word_are_one_fault_each_whose_fix_is_what_was_meant(
    dialect: Format, wrong: tuple[int, ...], *, also_closer: bool
) -> None:
    meant = dialect.write_calls(THREE)
    changed = {index * 2 + closer for index in wrong for closer in range(1 + also_closer)}
    pieces = meant.split("parameter")
    words = ("prompt" if index in changed else "parameter" for index in range(6))
    text = pieces[0] + "".join(word + piece for word, piece in zip(words, pieces[1:], strict=True))
    read = segment(text, dialect.name)
    assert [call.arguments for call in read.calls] == [{"a": "x", "b": "y", "c": "z"}]
    assert [diagnostic.rule.code for diagnostic in read.diagnostics] == ["J128"] * len(wrong)
    assert apply_fixes(text, [diagnostic.fault for diagnostic in read.diagnostics], only_safe=False) == meant
    segmenter = Segmenter(dialect)
    for character in text:
        segmenter.feed(character)
    segmenter.close()
    assert segmenter.segmentation(text).calls == read.calls


@pytest.mark.parametrize("name", ["deepseek_v32", "deepseek_v4", "deepseek_v41", "gigachat35", "muse", "step3"])
@pytest.mark.parametrize(
    ("tags", "instead"),
    [
        (r"</[^<>\w]*\w*[^<>\w]*(parameter)>", r"</\1>"),
        (r"</[^<>\w]*\w*[^<>\w]*(parameter)>", r"<\1>"),
        (r"</[^<>\w]*\w*[^<>\w]*(parameter|invoke)>", r"</\1>"),
        (r"<(/?)[^<>\w]*(?:DSML|GCML|atem|steptml)[^<>\w]*(parameter)(?=[ >])", r"<\1\2"),
    ],
)
def test_tags_without_the_prefix_of_the_family_are_read_and_reported(name: str, tags: str, instead: str) -> None:
    dialect = find_format(name)
    call = make_call("find", {"city": "<b>Oslo</b>", "note": "a\nb"})
    text = re.sub(tags, instead, dialect.write_calls([call]))
    segmentation = segment(text, name)
    assert [(read.name, read.arguments) for read in segmentation.calls] == [("find", call.arguments)]
    assert not any(read.valid for read in segmentation.calls)
    faults = [diagnostic.fault for diagnostic in segmentation.diagnostics]
    repaired = segment(apply_fixes(text, faults, only_safe=False), name)
    assert [(read.name, read.arguments) for read in repaired.calls] == [("find", call.arguments)]
