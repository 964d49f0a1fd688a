"""A call that is said to be valid is strict JSON, whatever happened to the text around it."""

import json
from functools import cache

import pytest

from tests.mutations import mutated_texts
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.segmentation import segment

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]
TEXTS = 2_000
CODE_TOOLS = ("code_interpreter", "python")
PROBE = make_call("get_time", {"zone": "UTC"})


NOT_STRICT = object()


def loaded(text: str) -> object:
    """What `json.loads` makes of a text, or `NOT_STRICT`."""

    def refuse(word: str) -> Json:
        raise ValueError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return NOT_STRICT


@cache
def writes_objects(name: str) -> bool:
    """Whether the own text of a call that the format writes is a JSON object."""
    return isinstance(loaded(own_text_of_probe(name)[0]), dict)


@cache
def writes_json_arguments(name: str) -> bool:
    """Whether the format writes the name elsewhere, and the arguments as a JSON object."""
    return loaded(own_text_of_probe(name)[1]) == PROBE.arguments


@cache
def own_text_of_probe(name: str) -> tuple[str, str]:
    text = find_format(name).write_calls([PROBE])
    (call,) = segment(text, name).calls
    return call.range.of(text), call.raw_arguments


@cache
def formats_of_objects() -> list[str]:
    return [dialect.name for dialect in formats() if writes_objects(dialect.name)]


@cache
def formats_of_named_objects() -> list[str]:
    names = [dialect.name for dialect in formats() if not writes_objects(dialect.name)]
    return [name for name in names if writes_json_arguments(name)]


def is_strict(call: ToolCall, text: str, name: str) -> bool:
    """Whether `json.loads` reads the call's own text, or what the format has of JSON: the arguments behind a header.

    What has another syntax within these formats is left to them: code, free text, and calls in Python's syntax.
    """
    own = call.range.of(text)
    if call.decoded is None and own.startswith("{") and call.name not in CODE_TOOLS and not is_header(call):
        return isinstance(loaded(own), dict)
    if (
        name not in formats_of_named_objects()
        or isinstance(call.arguments, str)
        or (not call.raw_arguments and call.arguments == {})
    ):
        return True
    return loaded(call.raw_arguments) == call.arguments


def is_header(call: ToolCall) -> bool:
    """Whether the call's text begins with the tool's name, however that is spelled."""
    return call.name_range is not None and call.name_range.start == call.range.start


def test_most_formats_write_json() -> None:
    objects, named = formats_of_objects(), formats_of_named_objects()
    assert {"apertus", "hermes", "mistral", "llama3", "xlam"} <= {*objects, *named}
    assert len(objects) > 18
    assert len(named) > 5


@pytest.mark.parametrize("seed", SEEDS)
def test_valid_means_that_json_loads_reads_it(seed: int) -> None:
    valid = 0
    for text in mutated_texts(seed, TEXTS, [*formats_of_objects(), *formats_of_named_objects()]):
        for call in segment(text.text, text.format, prompt=text.prompt).calls:
            valid += call.valid
            assert not call.valid or is_strict(call, text.text, text.format), text
    assert valid > 250


def test_each_of_several_calls_is_judged_by_its_own_text() -> None:
    for name in formats_of_objects():
        text = find_format(name).write_calls([PROBE, PROBE, PROBE])
        for quote in (index for index, character in enumerate(text) if character == '"'):
            broken = text[:quote] + text[quote:].replace('"', "'")
            for call in segment(broken, name).calls:
                assert not call.valid or is_strict(call, broken, name), (name, broken)
