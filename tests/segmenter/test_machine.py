"""The machine: markers, doubts and prompts, each read whole and character by character."""

import gc
import weakref

import pytest

from weaklink.inspector.formats.dialects.hermes import HERMES
from weaklink.inspector.model import Role, SpanKind
from weaklink.inspector.segmentation import Segmenter
from weaklink.inspector.segmenter import events as doubt
from weaklink.inspector.segmenter.events import Flagged, ParseEvent, SpanClosed, SpanExtended
from weaklink.inspector.segmenter.machine import Machine
from weaklink.inspector.segmenter.table import HOME, MarkerSplit, State, Table, Transition


def events(text: str, size: int, prompt: str = "", role: str = "assistant") -> list[ParseEvent]:
    reader = HERMES.new_parser(prompt, Role(role))
    told: list[ParseEvent] = []
    for start in range(0, len(text), size):
        told += reader.feed(text[start : start + size])
    told += reader.close()
    return [event for event in told if not isinstance(event, SpanExtended)]


def spans(text: str, prompt: str = "", role: str = "assistant") -> list[tuple[str, str]]:
    """Kind and text of each span; read in one piece, in threes and character by character, to the same result."""
    whole = events(text, max(len(text), 1), prompt, role)
    assert events(text, 1, prompt, role) == events(text, 3, prompt, role) == whole
    return [(str(e.span.kind), e.span.range.of(text)) for e in whole if isinstance(e, SpanClosed)]


def codes(text: str) -> list[str]:
    return [event.fault.rule.code for event in events(text, 1) if isinstance(event, Flagged)]


def test_a_closer_inside_a_string_is_data_once_the_payload_completes() -> None:
    call = '<tool_call>{"a": "x </tool_call> y"}</tool_call>'
    assert spans(call + " after") == [("tool_call", call), ("text", " after")]
    assert codes(call) == ["F304"]


@pytest.mark.parametrize(
    "behind",
    ['b\n{"c": 1}', '"]', '" 1', "never closed"],
    ids=["raw control character", "JSON error", "missing comma", "end of the stream"],
)
def test_a_doubtful_closer_counts_when_the_payload_never_becomes_json(behind: str) -> None:
    first = '<tool_call>{"a": "</tool_call>'
    assert spans(first + behind) == [("tool_call", first), ("text", behind)]


def test_a_doubt_ends_after_64_ki_code_points(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubt.AMBIGUITY_LIMIT == 64 * 1024
    monkeypatch.setattr(doubt, "AMBIGUITY_LIMIT", 40)
    first = '<tool_call>{"a": "</tool_call>'
    assert spans(first + "x" * 100 + '"}</tool_call>')[0] == ("tool_call", first)
    whole = first + "x" * 20 + '"}</tool_call>'
    assert spans(whole) == [("tool_call", whole)]


def test_text_read_in_a_failed_doubt_is_not_doubted_again() -> None:
    unit = '<tool_call>[",","</tool_call>'
    assert spans(unit * 3) == [("tool_call", unit)] * 3


def test_one_bad_quote_does_not_swallow_the_next_call() -> None:
    bad, good = '<tool_call>\n{"name": "f}\n</tool_call>\n', '<tool_call>\n{"name": "g"}\n</tool_call>'
    assert [kind for kind, _ in spans(bad + good)] == ["tool_call", "text", "tool_call"]


def test_a_repeated_opener_ends_the_call_before_it() -> None:
    assert spans("<tool_call>{}<tool_call>{}</tool_call>") == [
        ("tool_call", "<tool_call>{}"),
        ("tool_call", "<tool_call>{}</tool_call>"),
    ]


def test_a_call_in_the_prompt_of_a_transcript_is_no_call() -> None:
    text = "<|im_start|>system\nExample: <tool_call>{}</tool_call><|im_end|>\n<|im_start|>assistant\nHi"
    assert [kind for kind, _ in spans(text)] == ["markup", "text", "markup", "markup", "text"]


def test_tool_lists_are_definitions_and_their_mention_is_not() -> None:
    text = 'within <tools> </tools> tags. <tools>\n{"name": "f"}\n</tools>'
    assert spans(text, role="system")[-1] == ("tool_definitions", '<tools>\n{"name": "f"}\n</tools>')
    plain = 'access to the following tools:\n\n[{"name": "]"}] Be brief.'
    assert spans(plain, role="system")[1] == ("tool_definitions", '[{"name": "]"}]')


def test_a_long_text_reads_like_a_short_one() -> None:
    filler = "word " * 2_000
    plain = f'{filler}access to the following tools:\n\n[{{"name": "f"}}] Be brief.'
    assert spans(plain, role="system")[1] == ("tool_definitions", '[{"name": "f"}]')
    assert spans(f"{filler}[tool_call]{{}}[/tool_call]")[1] == ("tool_call", "[tool_call]{}[/tool_call]")


@pytest.mark.parametrize("prompt", ["<think>\n", "x<|im_end|>\n<|im_start|>assistant\n<think>", "<think>", "[THINK]"])
def test_reasoning_that_the_prompt_opened_belongs_to_the_stream(prompt: str) -> None:
    closer = "[/THINK]" if "THINK" in prompt else "</think>"
    assert spans(f"hm{closer}Yes.", prompt) == [("reasoning", f"hm{closer}"), ("text", "Yes.")]


def test_a_prompt_says_whose_turn_it_is() -> None:
    assert spans('{"sky": "clear"}', "<|im_start|>tool\n") == [("tool_result", '{"sky": "clear"}')]
    assert spans("<tool_call>{}</tool_call>", "<|im_start|>user\n") == [("text", "<tool_call>{}</tool_call>")]


def test_llama_3_headers_and_gemma_turns_are_markup() -> None:
    text = "<|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|><start_of_turn>user\nHo<end_of_turn>\n"
    assert [kind for kind, _ in spans(text)] == ["markup", "text", "markup", "markup", "text", "markup"]


def test_a_table_checks_itself() -> None:
    way = Transition("<a>", MarkerSplit.AFTER, HOME)
    with pytest.raises(ValueError, match="needs a payload"):
        State("s", SpanKind.TEXT, (), then=way)
    with pytest.raises(ValueError, match="appears twice"):
        State("s", SpanKind.TEXT, (way, way))
    with pytest.raises(ValueError, match="is not a state"):
        Table(
            (State("s", SpanKind.TEXT, (Transition("<a>", MarkerSplit.AFTER, "nowhere"),)),), homes={}, default_home="s"
        )


def test_the_open_span_grows_with_what_is_certain() -> None:
    live = Segmenter("hermes")
    grown = []
    for piece in ("Let me", " see <to", "ol_call>", '{"name":', ' "f"}', "</tool_"):
        live.feed(piece)
        span = live.open_span
        assert span is not None
        grown.append((span.kind.value, span.range.start, span.range.end))
    assert grown == [
        ("text", 0, 6),
        ("text", 0, 11),
        ("tool_call", 11, 22),
        ("tool_call", 11, 30),
        ("tool_call", 11, 35),
        ("tool_call", 11, 35),
    ]
    live.close()
    assert live.open_span is None


def test_a_segmenter_leaves_no_circle_of_references() -> None:
    gc.disable()
    try:
        live = Segmenter("hermes")
        gone = weakref.ref(live)
        live.feed("<tool_call>{}</tool_call>")
        live.close()
        del live
        assert gone() is None
    finally:
        gc.enable()


def test_a_prompts_tail_may_name_the_state_that_it_opens() -> None:
    states = (State("home", SpanKind.TEXT, ()), State("named", SpanKind.TOOL_CALL, ()))
    table = Table(states, {}, "home", tails={">>>": "named"})
    assert Machine(table, prompt="user: hi >>>\n").state.name == "named"
    assert Machine(table, prompt="user: hi >>> there").state.name == "home"
    with pytest.raises(ValueError, match="tail"):
        Table(states, {}, "home", tails={">>>": "nowhere"})
