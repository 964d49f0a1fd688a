"""The portable trace file gives back every trace, whatever its texts hold, and says where a file is broken."""

import contextlib
import io
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.examples import in_the_gate
from tests.strategies import json_values, texts, traces
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.model import (
    CallHeader,
    Chunks,
    ExternalId,
    FinishReason,
    Generation,
    Instant,
    Json,
    Outcome,
    Part,
    Provenance,
    RecordedRun,
    ResultHeader,
    Role,
    SentBefore,
    SentMessage,
    SentPart,
    SentRequest,
    ToolDefinition,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.text import Range
from weaklink.inspector.trace_file import VERSION, read_trace_file, write_trace_file
from weaklink.inspector.trace_file.lines import FLOAT_FIELDS, original_json, portable_json
from weaklink.inspector.trace_file.reading import STEPS

EXAMPLE = Trace(
    turns=(
        Turn(Role.USER, (Part("text", "Weather?\0"),), "human", flags=frozenset({TurnFlag.INJECTED})),
        Turn(
            Role.ASSISTANT,
            (Part("call:0", '{"a":"\ud83d"}', Chunks((3, 9), (0, 2), (0.25, None), ((1, 2), None), None)),),
            calls=(CallHeader("call:0", "f", "c1"),),
            generation=Generation(
                api="chat.completions",
                tools=(ToolDefinition("f", "", {"type": "object"}, "", Range(0, 0)),),
                started=Instant(1.5),
                usage=Usage(10, 2),
                finish=FinishReason.TOOL_CALLS,
                request=SentRequest(messages=(1,)),
            ),
        ),
        Turn(
            Role.TOOL,
            (Part("text", "5"),),
            result=ResultHeader("c1"),
            run=RecordedRun("span", "f", "c1", "{}", "50", failed=False, ended=Instant(2.5)),
        ),
        Turn(
            Role.ASSISTANT,
            (Part("text", "Five."),),
            generation=Generation(
                request=SentRequest(
                    2,
                    1,
                    (
                        SentMessage(
                            Role.ASSISTANT,
                            (SentPart("call:0", " ", 5, 3),),
                            2,
                            "assistant",
                            (CallHeader("call:0", "f", "c1"),),
                        ),
                        3,
                        SentMessage(Role.TOOL, (SentPart("text", "6"),), result=ResultHeader("c2")),
                        SentBefore(2, 0),
                    ),
                )
            ),
        ),
    ),
    name="weather",
    external_ids=(ExternalId("x-session-id", "s1"),),
    outcome=Outcome(True, None, math.inf),
    provenance=Provenance("har", "a.har"),
)

CASES = Path(__file__).parent / "cases" / "trace_file"
# The file format, word for word: if these lines have to change, see the head of inspector/trace_file/lines.py.
EXAMPLE_LINES = (CASES / "version_3.jsonl").read_text(encoding="ascii").splitlines()


FLOAT = msgspec.inspect.FloatType()


def leaves(kind: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    """The types in a field's type that contain no others."""
    match kind:
        case msgspec.inspect.UnionType(types) | msgspec.inspect.TupleType(types):
            for type_ in types:
                yield from leaves(type_)
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.FrozenSetType(item_type=item):
            yield from leaves(item)
        case _:
            yield kind


def structs_in(kind: msgspec.inspect.Type) -> list[msgspec.inspect.StructType]:
    """A Struct and all that its fields can contain."""
    struct_types: dict[type, msgspec.inspect.StructType] = {}
    stack = [kind]
    while stack:
        described = stack.pop()
        if isinstance(described, msgspec.inspect.StructType) and described.cls not in struct_types:
            struct_types[described.cls] = described
            stack += [leaf for field in described.fields for leaf in leaves(field.type)]
    return list(struct_types.values())


def written(*some: Trace) -> str:
    stream = io.StringIO()
    write_trace_file(stream, some)
    return stream.getvalue()


def read(path: Path, text: str) -> list[Trace]:
    path.write_text(text, encoding="utf-8")
    return list(read_trace_file(path))


@pytest.fixture(scope="module")
def some_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces") / "some.jsonl"


def test_the_format_is_what_it_was() -> None:
    assert written(EXAMPLE).splitlines() == EXAMPLE_LINES
    assert list(read_trace_file(CASES / "version_3.jsonl")) == [EXAMPLE]


@pytest.mark.invariants
@in_the_gate(20, most=200)
@given(some=st.lists(traces(), max_size=2))
def test_every_trace_survives(some_path: Path, some: list[Trace]) -> None:
    write_trace_file(some_path, some)
    assert some_path.read_bytes().isascii()
    assert list(read_trace_file(some_path)) == some


@pytest.mark.parametrize(
    "text", ["\ud83d\ude00", "\ud83d\ufdd0\ude00", "\ud83d\ufdd0\ufdd0\ude00", "😀\ud83d\ude00", "\ufdd0"]
)
def test_halves_that_two_chunks_brought_stay_two(some_path: Path, text: str) -> None:
    trace = Trace((Turn(Role.USER, (Part("text", text),)),), name=text)
    write_trace_file(some_path, [trace])
    assert list(read_trace_file(some_path)) == [trace]


@pytest.mark.invariants
@in_the_gate(20, most=200)
@given(value=json_values() | st.dictionaries(st.just("weaklink_number"), json_values(), min_size=1))
def test_every_number_of_a_schema_survives_in_plain_json(value: Json) -> None:
    carried = json.loads(json.dumps(portable_json(value), allow_nan=False))
    assert original_json(carried) == value


def test_numbers_that_json_has_no_word_for_come_back(some_path: Path) -> None:
    schema: Json = {"maximum": Decimal("1e5000"), "minimum": -math.inf}
    chunks = Chunks((1,), (0,), (math.nan,), None, ((-math.inf, -0.0),))
    tool = ToolDefinition("f", parameters=schema)
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", "a", chunks),), generation=Generation(tools=(tool,))),))
    (back,) = read(some_path, written(trace))
    got = back.turns[0]
    assert got.generation is not None
    assert got.generation.tools == (tool,)
    loaded = got.parts[0].chunks
    assert loaded is not None
    assert loaded.offsets_s is not None
    assert math.isnan(loaded.offsets_s[0] or 0.0)
    assert loaded.logprobs == ((-math.inf, -0.0),)


def test_words_that_look_like_numbers_stay_words(some_path: Path) -> None:
    schema: Json = {"reward": "NaN", "at_s": ["Infinity"], "logprobs": {"default": "-Infinity"}, "minimum": math.inf}
    tool = ToolDefinition("NaN", "NaN", schema, raw="Infinity")
    turn = Turn(Role.ASSISTANT, (Part("NaN", "NaN"),), generation=Generation(tools=(tool,), started=Instant(-math.inf)))
    trace = Trace((turn,), "NaN", outcome=Outcome(exit_status="NaN", reward=math.inf))
    assert read(some_path, written(trace)) == [trace]


def test_every_field_of_a_trace_that_contains_floats_is_known() -> None:
    kinds = structs_in(msgspec.inspect.type_info(Trace))
    fields = {field.name for kind in kinds for field in kind.fields if FLOAT in leaves(field.type)}
    assert fields == FLOAT_FIELDS


def test_no_file_makes_a_trace_open(some_path: Path) -> None:
    assert read(some_path, written(structs.replace(EXAMPLE, is_open=True))) == [EXAMPLE]
    assert read(some_path, written(EXAMPLE).replace('{"turns":4', '{"is_open":true,"turns":4')) == [EXAMPLE]


def test_a_file_of_version_1_is_read() -> None:
    (trace,) = read_trace_file(CASES / "version_1.jsonl")
    assert trace.name == "old"
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT]
    assert trace.turns[1].parts[0].chunks == Chunks((1, 2), (0, 1), (0.25, None))


def test_a_trace_of_version_2_has_no_requests() -> None:
    (trace,) = read_trace_file(CASES / "version_2.jsonl")
    assert trace.name == "weather"
    assert [turn.generation.request for turn in trace.turns if turn.generation] == [None]
    assert [turn.run for turn in trace.turns] == [None, None]


def test_every_older_version_has_its_step() -> None:
    assert set(STEPS) == set(range(1, VERSION))


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["{}"], "line 1: this is not a trace file"),
        ([], "line 1: this is not a trace file"),
        (["PK\x03\x04"], "line 1: this is not a trace file"),
        (['{"weaklink_trace_file": true}'], "line 1: this is not a trace file"),
        (['{"weaklink_trace_file": 4}'], "line 1: the file has version 4, this weaklink reads versions up to 3"),
        ([*EXAMPLE_LINES[:2], '{"turn": 1}'], "line 3: Expected `object`"),
        ([*EXAMPLE_LINES[:2], "{}x\n"], "line 3: the line is not JSON"),
        ([*EXAMPLE_LINES[:2], "[" * 100_000 + "\n"], "line 3: the line is not JSON"),
        ([*EXAMPLE_LINES[:2], '{"turn":{"role":"king","parts":[]}}'], "line 3: Invalid enum value 'king'"),
        ([*EXAMPLE_LINES[:2], EXAMPLE_LINES[1]], "line 3: expected 4 more turns of the trace"),
        (EXAMPLE_LINES[:3], "line 4: expected 3 more turns of the trace"),
        ([EXAMPLE_LINES[0], EXAMPLE_LINES[2]], "line 2: expected the start of a trace"),
        ([*EXAMPLE_LINES[:3], EXAMPLE_LINES[3].replace("[3,9]", "[9,3]")], "line 4: the ends of the chunks"),
        ([*EXAMPLE_LINES[:3], EXAMPLE_LINES[3].replace("[0,2]", "[0]")], "line 4: 2 chunks, but a column of 1"),
        (['{"weaklink_trace_file": 1}', '{"turn": []}'], "line 2: the line is not valid in version 1"),
        (['{"weaklink_trace_file": 2}', '{"trace": {"turns": -1}}'], "line 2: Expected `int` >= 0"),
        (["\udcff"], "line 1: this is not a trace file"),
    ],
)
def test_a_broken_file_is_named_with_its_line(some_path: Path, lines: list[str], says: str) -> None:
    some_path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(UnreadableFileError) as caught:
        list(read_trace_file(some_path))
    assert str(caught.value).startswith(f"{some_path}, {says}")


def test_what_stood_before_a_cut_comes_back_first(some_path: Path) -> None:
    text = written(EXAMPLE, EXAMPLE)
    some_path.write_text(text[:-20], encoding="ascii")
    reading: Iterator[Trace] = read_trace_file(some_path)
    assert next(reading) == EXAMPLE
    with pytest.raises(UnreadableFileError, match="line 11: the line is truncated"):
        next(reading)


def test_empty_lines_and_carriage_returns_do_no_harm(some_path: Path) -> None:
    text = "\ufeff" + written(EXAMPLE).replace("\n", "\r\n\r\n")
    assert read(some_path, text) == [EXAMPLE]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"none\.jsonl: No such file"):
        list(read_trace_file(tmp_path / "none.jsonl"))


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def failing() -> Iterator[Trace]:
        yield EXAMPLE
        raise RuntimeError("the source fell over")

    path = tmp_path / "kept.jsonl"
    path.write_text("before")
    with pytest.raises(RuntimeError, match="fell over"):
        write_trace_file(path, failing())
    assert [file.name for file in tmp_path.iterdir()] == ["kept.jsonl"]
    assert path.read_text() == "before"


def test_what_is_no_plain_file_is_written_and_not_replaced() -> None:
    write_trace_file("/dev/null", [EXAMPLE])
    assert Path("/dev/null").is_char_device()


@in_the_gate(20, most=200)
@given(text=texts())
def test_a_reader_of_anything_raises_nothing_else(some_path: Path, text: str) -> None:
    some_path.write_bytes(b'{"weaklink_trace_file": 1}\n' + text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(UnreadableFileError):
        list(read_trace_file(some_path))
